#include "nexmark/tables.h"
#include <fmt/format.h>

#include "nexmark_reference.h"
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace sluice::nexmark {
namespace {

using RowTexts = std::vector<std::string>;
constexpr std::int64_t kDay_ms = 86'400'000;

template <class Kind>
std::vector<Kind> all(const std::vector<Event>& events) {
  std::vector<Kind> kind;
  for (const Event& event : events) {
    if (std::holds_alternative<Kind>(event)) kind.push_back(std::get<Kind>(event));
  }
  return kind;
}
std::map<std::int64_t, Auction> auctions_by_id(const std::vector<Event>& events) {
  std::map<std::int64_t, Auction> auctions;
  for (const Auction& a : all<Auction>(events)) auctions[a.id] = a;
  return auctions;
}

// By auction: its highest bid from its opening to its expiry, both included; of two the first.
std::map<std::int64_t, Bid> winners(const std::vector<Event>& events) {
  const std::map<std::int64_t, Auction> auctions = auctions_by_id(events);
  std::map<std::int64_t, Bid> best;
  for (const Bid& b : all<Bid>(events)) {
    const auto a = auctions.find(b.auction);
    if (a == auctions.end() || b.time_ms < a->second.time_ms || b.time_ms > a->second.expires_ms)
      continue;
    const auto [at, is_first] = best.insert({b.auction, b});
    if (!is_first && b.price > at->second.price) at->second = b;
  }
  return best;
}

RowTexts q4(const std::vector<Event>& events) {
  const std::map<std::int64_t, Auction> auctions = auctions_by_id(events);
  std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> categories;  // Auctions and sum.
  for (const auto& [id, b] : winners(events)) {
    auto& [count, sum] = categories[auctions.at(id).category];
    ++count, sum += b.price;
  }
  RowTexts rows;
  for (const auto& [category, of] : categories)
    rows.push_back(fmt::format("{}|{}|{}|{}", category, of.first, of.second, of.second / of.first));
  return rows;
}

RowTexts q9(const std::vector<Event>& events) {
  const std::map<std::int64_t, Auction> auctions = auctions_by_id(events);
  RowTexts rows;
  for (const auto& [id, b] : winners(events)) {
    const Auction& a = auctions.at(id);
    rows.push_back(fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", a.id, a.item_name,
                               a.description, a.initial_bid, a.reserve, a.time_ms, a.expires_ms,
                               a.seller, a.category, a.extra, b.bidder, b.price, b.time_ms,
                               b.extra));
  }
  return rows;
}

RowTexts q12(const std::vector<Event>& events) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> counts;
  for (const Bid& b : all<Bid>(events)) ++counts[{b.time_ms / 10'000 * 10'000 + 10'000, b.bidder}];
  RowTexts rows;
  for (const auto& [key, bids] : counts)
    rows.push_back(fmt::format("{}|{}|{}", key.first, key.second, bids));
  return rows;
}

RowTexts q13(const std::vector<Event>& events) {
  RowTexts rows;
  for (const Bid& b : all<Bid>(events)) {
    const auto key = static_cast<std::size_t>(b.auction % 10'000);
    rows.push_back(fmt::format("{}|{}|{}|{}|{}", b.auction, b.bidder, b.price, b.time_ms,
                               Tables::get().channels[key].url));
  }
  return rows;
}

RowTexts q14(const std::vector<Event>& events) {
  RowTexts rows;
  for (const Bid& b : all<Bid>(events)) {
    const std::int64_t price = b.price * 908, hour = b.time_ms % kDay_ms / 3'600'000;
    if (price <= 1'000'000'000 || price >= 50'000'000'000) continue;
    const std::string_view part = hour == 7 || hour == 19 ? "otherTime"
                                  : hour < 7 || hour > 19 ? "nightTime"
                                                          : "dayTime";
    rows.push_back(fmt::format("{}|{}|{}|{}|{}|{}|{}", b.auction, b.bidder, price, part, b.time_ms,
                               b.extra, std::count(b.extra.begin(), b.extra.end(), 'c')));
  }
  return rows;
}

int rank(std::int64_t price) { return price < 10'000 ? 1 : price < 1'000'000 ? 2 : 3; }

std::string day(std::int64_t time_ms) {
  const std::chrono::year_month_day date{
      std::chrono::sys_days{std::chrono::days{time_ms / kDay_ms}}};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

// Of all prices (0) and of each rank.
struct Counts {
  std::array<std::int64_t, 4> bids{};
  std::array<std::set<std::int64_t>, 4> bidders, auctions;
  std::int64_t last_ms = 0;
  void add(const Bid& b) {
    for (const int at : {0, rank(b.price)}) {
      ++bids[at];
      bidders[at].insert(b.bidder);
      auctions[at].insert(b.auction);
    }
    last_ms = std::max(last_ms, b.time_ms);
  }
  [[nodiscard]] std::string text() const {
    return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", bids[0], bids[1], bids[2], bids[3],
                       bidders[0].size(), bidders[1].size(), bidders[2].size(), bidders[3].size(),
                       auctions[0].size(), auctions[1].size(), auctions[2].size(),
                       auctions[3].size());
  }
};

RowTexts q15(const std::vector<Event>& events) {
  std::map<std::string, Counts> days;
  for (const Bid& b : all<Bid>(events)) days[day(b.time_ms)].add(b);
  RowTexts rows;
  for (const auto& [name, counts] : days) rows.push_back(name + "|" + counts.text());
  return rows;
}

RowTexts q16(const std::vector<Event>& events) {
  std::map<std::pair<std::string, std::string>, Counts> channels;
  for (const Bid& b : all<Bid>(events)) channels[{std::string(b.channel), day(b.time_ms)}].add(b);
  RowTexts rows;
  for (const auto& [key, counts] : channels) {
    const std::int64_t minute = counts.last_ms % kDay_ms / 60'000;
    rows.push_back(fmt::format("{}|{}|{:02}:{:02}|{}", key.first, key.second, minute / 60,
                               minute % 60, counts.text()));
  }
  return rows;
}

RowTexts q17(const std::vector<Event>& events) {
  std::map<std::pair<std::int64_t, std::string>, std::vector<std::int64_t>> prices;
  for (const Bid& b : all<Bid>(events)) prices[{b.auction, day(b.time_ms)}].push_back(b.price);
  RowTexts rows;
  for (const auto& [key, of] : prices) {
    std::array<std::int64_t, 4> bids{};
    std::int64_t sum = 0;
    for (const std::int64_t price : of) ++bids[0], ++bids[rank(price)], sum += price;
    rows.push_back(fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", key.first, key.second, bids[0],
                               bids[1], bids[2], bids[3], *std::min_element(of.begin(), of.end()),
                               *std::max_element(of.begin(), of.end()), sum / bids[0], sum));
  }
  return rows;
}

RowTexts q19(const std::vector<Event>& events) {
  std::map<std::int64_t, std::vector<Bid>> auctions;
  for (const Bid& b : all<Bid>(events)) auctions[b.auction].push_back(b);
  RowTexts rows;
  for (auto& [id, bids] : auctions) {
    std::stable_sort(bids.begin(), bids.end(),
                     [](const Bid& one, const Bid& other) { return one.price > other.price; });
    for (std::size_t at = 0; at < std::min<std::size_t>(bids.size(), 10); ++at) {
      const Bid& b = bids[at];
      rows.push_back(fmt::format("{}|{}|{}|{}|{}|{}|{}|{}", b.auction, b.bidder, b.price, b.channel,
                                 b.url, b.time_ms, b.extra, at + 1));
    }
  }
  return rows;
}

RowTexts q20(const std::vector<Event>& events) {
  const std::map<std::int64_t, Auction> auctions = auctions_by_id(events);
  RowTexts rows;
  for (const Bid& b : all<Bid>(events)) {
    const auto found = auctions.find(b.auction);
    if (found == auctions.end() || found->second.category != 10) continue;
    const Auction& a = found->second;
    rows.push_back(fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", b.auction,
                               b.bidder, b.price, b.channel, b.url, b.time_ms, b.extra, a.item_name,
                               a.description, a.initial_bid, a.reserve, a.time_ms, a.expires_ms,
                               a.seller, a.category, a.extra));
  }
  return rows;
}

RowTexts q21(const std::vector<Event>& events) {
  constexpr std::string_view kField = "&channel_id=";
  const std::map<std::string_view, std::string_view> known = {
      {"Apple", "0"}, {"Google", "1"}, {"Facebook", "2"}, {"Baidu", "3"}};
  RowTexts rows;
  for (const Bid& b : all<Bid>(events)) {
    const auto at = b.url.find(kField);
    if (known.count(b.channel) == 0 && at == std::string_view::npos) continue;
    const std::string_view id =
        known.count(b.channel) > 0 ? known.at(b.channel) : b.url.substr(at + kField.size());
    rows.push_back(fmt::format("{}|{}|{}|{}|{}", b.auction, b.bidder, b.price, b.channel, id));
  }
  return rows;
}

RowTexts q22(const std::vector<Event>& events) {
  RowTexts rows;
  for (const Bid& b : all<Bid>(events)) {
    std::vector<std::string> parts(1);
    for (const char letter : b.url) {
      if (letter == '/') {
        parts.emplace_back();
      } else {
        parts.back() += letter;
      }
    }
    rows.push_back(fmt::format("{}|{}|{}|{}|{}|{}|{}", b.auction, b.bidder, b.price, b.channel,
                               parts.at(3), parts.at(4), parts.at(5)));
  }
  return rows;
}

}  // namespace

std::vector<std::string> reference_without_loop(std::string_view query,
                                                const std::vector<Event>& events) {
  if (query == "q4") return q4(events);
  if (query == "q9") return q9(events);
  if (query == "q12") return q12(events);
  if (query == "q13") return q13(events);
  if (query == "q14") return q14(events);
  if (query == "q15") return q15(events);
  if (query == "q16") return q16(events);
  if (query == "q17") return q17(events);
  if (query == "q19") return q19(events);
  if (query == "q20") return q20(events);
  if (query == "q21") return q21(events);
  if (query == "q22") return q22(events);
  fmt::print(stderr, "there is no reference for query \"{}\"\n", query);
  std::abort();
}

}  // namespace sluice::nexmark
