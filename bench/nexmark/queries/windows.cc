// Queries on windows and sessions of event time.
#include "nexmark/queries/bids.h"
#include "nexmark/queries/queries.h"
#include "nexmark/queries/time.h"
#include "nexmark/rows.h"

#include <chrono>
#include <cstdint>
#include <tuple>
#include <variant>
#include <vector>

#include <boost/describe/class.hpp>

#include <sluice/engine/windows/windowed_stream.h>

namespace sluice::nexmark {
namespace {

using namespace std::chrono_literals;

// ---- q5 ----

struct BidOn {
  std::int64_t auction, time_ms;
};
struct Hot {
  std::int64_t window_end_ms = 0, auction = 0;
  std::uint64_t bids = 0;
};
BOOST_DESCRIBE_STRUCT(Hot, (), (window_end_ms, auction, bids))

/// All that are as great as the greatest.
template <class T, auto kRank>
struct Greatest {
  using Accumulator = std::vector<T>;
  void add(Accumulator& all, const T& value) const {
    if (!all.empty() && value.*kRank < all.front().*kRank) return;
    if (!all.empty() && value.*kRank > all.front().*kRank) all.clear();
    all.push_back(value);
  }
  void merge(Accumulator& into, const Accumulator& later) const {
    for (const T& value : later) add(into, value);
  }
  [[nodiscard]] const Accumulator& result(const Accumulator& all) const noexcept { return all; }
};

/// A shard's share of a window comes between two watermarks: of it only the greatest go on to the shard that has the window.
class HottestHere final : public Operator<Windowed<std::int64_t, std::uint64_t>, Hot> {
 public:
  Status process(const Batch<Windowed<std::int64_t, std::uint64_t>>& batch, Collector<Hot>& out) override {
    for (const auto& row : batch) {
      const std::int64_t end = ms_of(row.window.end);
      if (!hottest_.empty() && hottest_.front().window_end_ms != end) flush(out);
      kGreatest.add(hottest_, {end, row.key, row.value});
    }
    return {};
  }
  Status on_watermark(EventTime, Collector<Hot>& out) override {
    flush(out);
    return {};
  }

 private:
  void flush(Collector<Hot>& out) {
    for (const Hot& hot : hottest_) out.emit(hot, event_time_of(hot.window_end_ms - 1));
    hottest_.clear();
  }
  static constexpr Greatest<Hot, &Hot::bids> kGreatest{};
  std::vector<Hot> hottest_;  // Empty at every barrier.
};

void q5(const Stream<Event>& events, const std::shared_ptr<Answer>& answer) {
  of_bids<BidOn>(events, [](const Bid& bid, auto& emit) { emit(BidOn{bid.auction, bid.time_ms}); })
      .watermarks(time_of<BidOn>())
      .key_by(&BidOn::auction)
      .window(sliding(10s, 2s))
      .aggregate(count(), "bids")
      .process<Hot>("hottest-here", [] { return std::make_unique<HottestHere>(); })
      .key_by(&Hot::window_end_ms)
      .window(tumbling(2s))
      .aggregate(Greatest<Hot, &Hot::bids>(), "hottest")
      .flat_map<HotItemRow>([](const auto& window, auto&& emit) {
        for (const Hot& hot : window.value) emit(HotItemRow{hot.window_end_ms, hot.auction, static_cast<std::int64_t>(hot.bids)});
      })
      .to(std::make_shared<AnswerSink<HotItemRow>>(answer), "rows");
}

// ---- q7 ----

struct HighBid {
  std::int64_t window_end_ms = 0, auction = 0, price = 0, bidder = 0, time_ms = 0;
  Text extra;
};
BOOST_DESCRIBE_STRUCT(HighBid, (), (window_end_ms, auction, price, bidder, time_ms, extra))

constexpr std::int64_t kWindow_ms = 10'000;

/// Lets a bid go on unless its shard has seen a higher one of the same window. It decides nothing, it saves work: what it remembers
/// needs no place in a checkpoint, for behind a restart it lets more through.
class MayBeHighest {
 public:
  template <class Emit>
  void operator()(const Event& event, Emit&& emit) {
    const Bid* const bid = std::get_if<Bid>(&event);
    if (bid == nullptr) return;
    if (bid->time_ms - start_ms_ < 0 || bid->time_ms - start_ms_ >= kWindow_ms) {
      start_ms_ = bid->time_ms / kWindow_ms * kWindow_ms;
      highest_ = 0;
    }
    if (bid->price < highest_) return;
    highest_ = bid->price;
    emit(HighBid{start_ms_ + kWindow_ms, bid->auction, bid->price, bid->bidder, bid->time_ms, {bid->extra}});
  }

 private:
  std::int64_t start_ms_ = 0, highest_ = 0;
};

void q7(const Stream<Event>& events, const std::shared_ptr<Answer>& answer) {
  events.watermarks(time_of<Event>())
      .flat_map<HighBid>(MayBeHighest())
      .key_by(&HighBid::window_end_ms)
      .window(tumbling(EventDuration(kWindow_ms)))
      .aggregate(Greatest<HighBid, &HighBid::price>(), "highest")
      .flat_map<HighestBidRow>([](const auto& window, auto&& emit) {
        for (const HighBid& bid : window.value) {
          emit(HighestBidRow{bid.window_end_ms, bid.auction, bid.price, bid.bidder, bid.time_ms, bid.extra.view});
        }
      })
      .to(std::make_shared<AnswerSink<HighestBidRow>>(answer), "rows");
}

// ---- q11, q12 ----

struct BidBy {
  std::int64_t bidder, time_ms;
};
auto bids_by_bidder(const Stream<Event>& events) {
  return of_bids<BidBy>(events, [](const Bid& bid, auto& emit) { emit(BidBy{bid.bidder, bid.time_ms}); })
      .watermarks(time_of<BidBy>())
      .key_by(&BidBy::bidder);
}

void q11(const Stream<Event>& events, const std::shared_ptr<Answer>& answer) {
  bids_by_bidder(events)
      .window(session(10s))
      .aggregate(count(), "sessions")
      .map([](const auto& session) {
        return SessionRow{session.key, static_cast<std::int64_t>(session.value), ms_of(session.window.start), ms_of(session.window.end)};
      })
      .to(std::make_shared<AnswerSink<SessionRow>>(answer), "rows");
}

struct WindowBidsRow {
  std::int64_t window_end_ms, bidder, bids;
  [[nodiscard]] auto fields() const { return std::tie(window_end_ms, bidder, bids); }
};

void q12(const Stream<Event>& events, const std::shared_ptr<Answer>& answer) {
  bids_by_bidder(events)
      .window(tumbling(10s))
      .aggregate(count(), "windows")
      .map([](const auto& window) { return WindowBidsRow{ms_of(window.window.end), window.key, static_cast<std::int64_t>(window.value)}; })
      .to(std::make_shared<AnswerSink<WindowBidsRow>>(answer), "rows");
}

}  // namespace

std::vector<Query> window_queries() { return {{"q5", q5}, {"q7", q7}, {"q11", q11}, {"q12", q12}}; }

}  // namespace sluice::nexmark
