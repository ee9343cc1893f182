// Statistics of bids by day (UTC).
#include "nexmark/queries/bids.h"
#include "nexmark/queries/queries.h"
#include "nexmark/queries/time.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <boost/describe/class.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <fmt/chrono.h>

#include <sluice/engine/windows/windowed_stream.h>

namespace sluice::nexmark {
namespace {

using namespace std::chrono_literals;

constexpr EventDuration kDay = 24h;

/// Rank 0 is all prices.
constexpr std::size_t kRanks = 4;
constexpr std::size_t rank_of(std::int64_t price) noexcept { return price < 10'000 ? 1 : price < 1'000'000 ? 2 : 3; }
using OfRanks = std::array<std::int64_t, kRanks>;

/// The day of a window as 2015-07-15, with the batch that `arena` is of. One day follows the other, so it is written once for many.
class DayText {
 public:
  std::string_view operator()(const Window& window, Arena& arena) {
    if (window.start != start_ || text_.empty()) {
      start_ = window.start;
      text_ = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::chrono::system_clock::to_time_t(start_)));
    }
    return arena.copy(text_);
  }

 private:
  EventTime start_{};
  std::string text_;
};

// ---- q15, q16 ----

/// How many different ids there are, of all prices and of each rank.
struct Distinct {
  boost::unordered_flat_map<std::int64_t, std::uint8_t> ranks;  // A bit for each rank in which an id was seen.
  /// Whether it was not seen in that rank before.
  bool add(std::int64_t id, std::size_t rank) {
    std::uint8_t& bits = ranks[id];
    return (std::exchange(bits, static_cast<std::uint8_t>(bits | 1u << rank)) >> rank & 1) == 0;
  }
  [[nodiscard]] OfRanks counts() const {
    OfRanks counts{static_cast<std::int64_t>(ranks.size())};
    for (const auto& [id, bits] : ranks) {
      for (std::size_t rank = 1; rank < kRanks; ++rank) counts[rank] += bits >> rank & 1;
    }
    return counts;
  }
};
BOOST_DESCRIBE_STRUCT(Distinct, (), (ranks))

struct DayOfBids {
  OfRanks bids{};
  Distinct bidders, auctions;
  std::int64_t last_ms = 0;
};
BOOST_DESCRIBE_STRUCT(DayOfBids, (), (bids, bidders, auctions, last_ms))

/// The engine's count_distinct() cannot leave records out, so four of them would keep each id up to twice.
struct CountBids {
  using Accumulator = DayOfBids;
  struct Counts {
    OfRanks bids, bidders, auctions;
    std::int64_t last_ms;
  };
  template <class T>
  std::size_t add(Accumulator& day, const T& bid) const {
    const std::size_t before = kept(day);
    const std::size_t rank = rank_of(bid.price);
    if constexpr (requires { bid.bids; }) {
      for (std::size_t at = 0; at < kRanks; ++at) day.bids[at] += bid.bids[at];
    } else {
      ++day.bids[0];
      ++day.bids[rank];
    }
    day.bidders.add(bid.bidder, rank);
    day.auctions.add(bid.auction, rank);
    day.last_ms = std::max(day.last_ms, bid.time_ms);
    return kept(day) - before;
  }
  [[nodiscard]] std::size_t kept(const Accumulator& day) const noexcept { return day.bidders.ranks.size() + day.auctions.ranks.size(); }
  [[nodiscard]] Counts result(const Accumulator& day) const {
    return {day.bids, day.bidders.counts(), day.auctions.counts(), day.last_ms};
  }
};

struct DayRow {
  std::string_view day;
  CountBids::Counts of;
  [[nodiscard]] auto fields() const { return std::tuple_cat(std::tie(day), of.bids, of.bidders, of.auctions); }
};

struct BidOfDay {
  std::int64_t auction, bidder, price, time_ms;
};
/// With the number of bids of each rank that it stands for: itself, and those behind the one that was sent before it.
struct BidsOfDay : BidOfDay {
  OfRanks bids;
};

/// One shard counts all bids of a day. So each shard sends it only those that are the first of a bidder or of an auction in their rank,
/// as far as that shard has seen, and the last of a batch. What it remembers decides nothing: it needs no place in a checkpoint, for
/// behind a restart it sends more.
class FirstOnes final : public Operator<BidOfDay, BidsOfDay> {
 public:
  Status process(const Batch<BidOfDay>& batch, Collector<BidsOfDay>& out) override {
    const BidOfDay* last = nullptr;
    for (const BidOfDay& bid : batch) {
      if (const std::int64_t day = bid.time_ms / kDay.count(); day != day_) [[unlikely]] {
        if (last != nullptr) send(*last, out);
        day_ = day;
        bidders_.ranks.clear();
        auctions_.ranks.clear();
      }
      const std::size_t rank = rank_of(bid.price);
      ++unsent_[0];
      ++unsent_[rank];
      last = &bid;
      const bool first_of_bidder = bidders_.add(bid.bidder, rank), first_of_auction = auctions_.add(bid.auction, rank);
      if (first_of_bidder || first_of_auction) send(bid, out);
    }
    if (last != nullptr) send(*last, out);
    return {};
  }

 private:
  void send(const BidOfDay& bid, Collector<BidsOfDay>& out) {
    if (unsent_[0] > 0) out.emit({bid, std::exchange(unsent_, {})}, event_time_of(bid.time_ms));
  }
  std::int64_t day_ = 0;
  Distinct bidders_, auctions_;
  OfRanks unsent_{};  // Nothing between two batches.
};

void q15(const Stream<Event>& events, const std::shared_ptr<Answer>& answer) {
  of_bids<BidOfDay>(events, [](const Bid& bid, auto& emit) { emit(BidOfDay{bid.auction, bid.bidder, bid.price, bid.time_ms}); })
      .watermarks(time_of<BidOfDay>())
      .process<BidsOfDay>("first-ones", [] { return std::make_unique<FirstOnes>(); })
      .key_by([](const BidsOfDay& bids) { return bids.time_ms / kDay.count(); })
      .window(tumbling(kDay))
      .aggregate(CountBids(), "days")
      .map([day = DayText()](const auto& bids, Arena& arena) mutable { return DayRow{day(bids.window, arena), bids.value}; })
      .to(std::make_shared<AnswerSink<DayRow>>(answer), "rows");
}

struct BidOfChannel {
  std::int64_t auction, bidder, price, time_ms;
  Text channel;
};
struct ChannelDayRow {
  std::string_view channel, day, minute;
  CountBids::Counts of;
  [[nodiscard]] auto fields() const { return std::tuple_cat(std::tie(channel, day, minute), of.bids, of.bidders, of.auctions); }
};

void q16(const Stream<Event>& events, const std::shared_ptr<Answer>& answer) {
  of_bids<BidOfChannel>(events,
                        [](const Bid& bid, auto& emit) {
                          emit(BidOfChannel{bid.auction, bid.bidder, bid.price, bid.time_ms, {bid.channel}});
                        })
      .watermarks(time_of<BidOfChannel>())
      .key_by(&BidOfChannel::channel)
      .window(tumbling(kDay))
      .aggregate(CountBids(), "channels")
      .map([day = DayText()](const auto& bids, Arena& arena) mutable {
        std::array<char, 5> minute;
        fmt::format_to(minute.data(), "{:%H:%M}", fmt::gmtime(bids.value.last_ms / 1'000));
        return ChannelDayRow{bids.key.view, day(bids.window, arena), arena.copy({minute.data(), minute.size()}), bids.value};
      })
      .to(std::make_shared<AnswerSink<ChannelDayRow>>(answer), "rows");
}

// ---- q17 ----

struct PricedBid {
  std::int64_t auction, price, time_ms;
};
struct AuctionDayRow {
  std::int64_t auction;
  std::string_view day;
  OfRanks bids;
  std::int64_t lowest, highest, average, sum;
  [[nodiscard]] auto fields() const { return std::tuple_cat(std::tie(auction, day), bids, std::tie(lowest, highest, average, sum)); }
};

auto bids_of_rank(std::size_t rank) {
  return sum([rank](const PricedBid& bid) { return static_cast<std::int64_t>(rank_of(bid.price) == rank); });
}

void q17(const Stream<Event>& events, const std::shared_ptr<Answer>& answer) {
  of_bids<PricedBid>(events, [](const Bid& bid, auto& emit) { emit(PricedBid{bid.auction, bid.price, bid.time_ms}); })
      .watermarks(time_of<PricedBid>())
      .key_by(&PricedBid::auction)
      .window(tumbling(kDay))
      .aggregate(together(count(), bids_of_rank(1), bids_of_rank(2), bids_of_rank(3), min(&PricedBid::price), max(&PricedBid::price),
                          sum(&PricedBid::price)),
                 "auctions")
      .map([day = DayText()](const auto& bids, Arena& arena) mutable {
        const auto& [count, low, middle, high, lowest, highest, sum] = bids.value;
        const auto all = static_cast<std::int64_t>(count);
        return AuctionDayRow{bids.key, day(bids.window, arena), {all, low, middle, high}, lowest, highest, sum / all, sum};
      })
      .to(std::make_shared<AnswerSink<AuctionDayRow>>(answer), "rows");
}

}  // namespace

std::vector<Query> day_queries() { return {{"q15", q15}, {"q16", q16}, {"q17", q17}}; }

}  // namespace sluice::nexmark
