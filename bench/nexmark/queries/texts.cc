// Queries whose rows hang on one event alone, and on what is in its texts or in a table beside the stream.
#include "nexmark/queries/bids.h"
#include "nexmark/queries/queries.h"
#include "nexmark/tables.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>

namespace sluice::nexmark {
namespace {

// ---- q13 ----

struct SideRow {
  std::int64_t auction, bidder, price, time_ms;
  std::string_view value;
  [[nodiscard]] auto fields() const { return std::tie(auction, bidder, price, time_ms, value); }
};

// The side table is the generator's own, which lives as long as the process.
void q13(const Stream<Event>& events, const std::shared_ptr<Answer>& answer) {
  bids_to_rows<SideRow>(events, answer, [&table = Tables::get().channels](const Bid& bid, auto& emit) {
    const auto key = static_cast<std::size_t>(bid.auction) % Tables::kChannels;
    emit(SideRow{bid.auction, bid.bidder, bid.price, bid.time_ms, table[key].url});
  });
}

// ---- q14 ----

struct PartOfDayRow {
  std::int64_t auction, bidder, price;
  std::string_view part;
  std::int64_t time_ms;
  std::string_view extra;
  std::int64_t letters;
  [[nodiscard]] auto fields() const { return std::tie(auction, bidder, price, part, time_ms, extra, letters); }
};

std::string_view part_of_day(std::int64_t time_ms) {
  const std::int64_t hour = time_ms / 3'600'000 % 24;
  if (hour >= 8 && hour < 19) return "dayTime";
  return hour == 7 || hour == 19 ? "otherTime" : "nightTime";
}
void q14(const Stream<Event>& events, const std::shared_ptr<Answer>& answer) {
  bids_to_rows<PartOfDayRow>(events, answer, [](const Bid& bid, auto& emit) {
    const std::int64_t price = bid.price * 908;
    if (price <= 1'000'000'000 || price >= 50'000'000'000) return;
    emit(PartOfDayRow{bid.auction, bid.bidder, price, part_of_day(bid.time_ms), bid.time_ms, bid.extra,
                      std::count(bid.extra.begin(), bid.extra.end(), 'c')});
  });
}

// ---- q21 ----

struct ChannelRow {
  std::int64_t auction, bidder, price;
  std::string_view channel, id;
  [[nodiscard]] auto fields() const { return std::tie(auction, bidder, price, channel, id); }
};

bool same_but_case(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b; });
}
/// Empty where it has none.
std::string_view channel_id(const Bid& bid) {
  constexpr std::array<std::string_view, 4> kNames = {"apple", "google", "facebook", "baidu"}, kIds = {"0", "1", "2", "3"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (same_but_case(bid.channel, kNames[i])) return kIds[i];
  }
  constexpr std::string_view kField = "channel_id=";
  const std::size_t at = bid.url.find(kField);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = bid.url.substr(at + kField.size());
  return rest.substr(0, rest.find('&'));
}
void q21(const Stream<Event>& events, const std::shared_ptr<Answer>& answer) {
  bids_to_rows<ChannelRow>(events, answer, [](const Bid& bid, auto& emit) {
    const std::string_view id = channel_id(bid);
    if (!id.empty()) emit(ChannelRow{bid.auction, bid.bidder, bid.price, bid.channel, id});
  });
}

// ---- q22 ----

struct FoldersRow {
  std::int64_t auction, bidder, price;
  std::string_view channel, first, second, third;
  [[nodiscard]] auto fields() const { return std::tie(auction, bidder, price, channel, first, second, third); }
};

/// What stands between slash `n` and the next one, counted from 1; "https://host/" has three.
std::string_view behind_slash(std::string_view url, int n) {
  for (; n > 0; --n) {
    const std::size_t at = url.find('/');
    if (at == std::string_view::npos) return {};
    url.remove_prefix(at + 1);
  }
  return url.substr(0, url.find('/'));
}
void q22(const Stream<Event>& events, const std::shared_ptr<Answer>& answer) {
  bids_to_rows<FoldersRow>(events, answer, [](const Bid& bid, auto& emit) {
    emit(FoldersRow{bid.auction, bid.bidder, bid.price, bid.channel, behind_slash(bid.url, 3), behind_slash(bid.url, 4),
                    behind_slash(bid.url, 5)});
  });
}

}  // namespace

std::vector<Query> text_queries() { return {{"q13", q13}, {"q14", q14}, {"q21", q21}, {"q22", q22}}; }

}  // namespace sluice::nexmark
