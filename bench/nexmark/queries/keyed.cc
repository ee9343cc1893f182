// Queries on a key and all of the stream: they answer when it has ended.
#include "nexmark/queries/bids.h"
#include "nexmark/queries/queries.h"
#include "nexmark/queries/text.h"
#include "nexmark/rows.h"

#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include <boost/describe/class.hpp>

#include <sluice/engine/stream.h>
#include <sluice/engine/windows/windowed_stream.h>

namespace sluice::nexmark {
namespace {

// ---- q18 ----

struct LastBid {
  std::int64_t price = 0, time_ms = 0;
  Text channel, url, extra;
};
BOOST_DESCRIBE_STRUCT(LastBid, (), (price, time_ms, channel, url, extra))
using BidderAndAuction = std::pair<std::int64_t, std::int64_t>;
struct KeyedBid {
  BidderAndAuction key;
  LastBid bid;
};

/// The one with the greatest time; of several the one that came last.
struct Latest {
  using Accumulator = LastBid;
  void add(Accumulator& last, const KeyedBid& row) const { add(last, row.bid); }
  void merge(Accumulator& into, const Accumulator& later) const { add(into, later); }
  [[nodiscard]] LastBidRow result(const BidderAndAuction& key, const Window&, const Accumulator& last) const {
    return {key.second, key.first, last.price, last.channel.view, last.url.view, last.time_ms, last.extra.view};
  }

 private:
  static void add(LastBid& last, const LastBid& bid) {
    if (bid.time_ms >= last.time_ms) last = bid;
  }
};

void q18(const Stream<Event>& events, const std::shared_ptr<Answer>& answer) {
  events
      .flat_map<KeyedBid>([](const Event& event, auto&& emit) {
        if (const Bid* bid = std::get_if<Bid>(&event)) {
          emit(KeyedBid{{bid->bidder, bid->auction}, {bid->price, bid->time_ms, {bid->channel}, {bid->url}, {bid->extra}}});
        }
      })
      .key_by(&KeyedBid::key)
      .window(global())
      .aggregate(Latest(), "last")
      .map([](const auto& window) { return window.value; })
      .to(std::make_shared<AnswerSink<LastBidRow>>(answer), "rows");
}

// ---- q19 ----

struct RankedBidRow {
  std::int64_t auction, bidder, price;
  std::string_view channel, url;
  std::int64_t time_ms;
  std::string_view extra;
  std::int64_t rank;
  [[nodiscard]] auto fields() const { return std::tie(auction, bidder, price, channel, url, time_ms, extra, rank); }
};

void q19(const Stream<Event>& events, const std::shared_ptr<Answer>& answer) {
  whole_bids(events)
      .key_by(&WholeBid::auction)
      .window(global())
      // Of as high ones the earlier: the bids of an auction come in no order but those of one millisecond.
      .aggregate(top_n(10, [](const WholeBid& bid) { return std::pair(bid.price, -bid.time_ms); }), "highest")
      .flat_map<RankedBidRow>([](const auto& window, auto&& emit) {
        std::int64_t rank = 0;
        for (const WholeBid& bid : window.value) {
          emit(RankedBidRow{bid.auction, bid.bidder, bid.price, bid.channel.view, bid.url.view, bid.time_ms, bid.extra.view, ++rank});
        }
      })
      .to(std::make_shared<AnswerSink<RankedBidRow>>(answer), "rows");
}

}  // namespace

std::vector<Query> keyed_queries() { return {{"q18", q18}, {"q19", q19}}; }

}  // namespace sluice::nexmark
