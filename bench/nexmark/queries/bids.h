#pragma once

#include "nexmark/events.h"
#include "nexmark/queries/answer.h"
#include "nexmark/queries/text.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <variant>

#include <boost/describe/class.hpp>

#include <sluice/engine/stream.h>

namespace sluice::nexmark {

/// What `make(bid, emit)` makes of bids; other events are left out.
template <class T, class Make>
[[nodiscard]] auto of_bids(const Stream<Event>& events, Make make) {
  return events.flat_map<T>([make = std::move(make)](const Event& event, auto&& emit) {
    if (const Bid* bid = std::get_if<Bid>(&event)) make(*bid, emit);
  });
}
/// Rows that hang on one bid alone: a fused loop from the source to the sink.
template <class Row, class Make>
void bids_to_rows(const Stream<Event>& events, const std::shared_ptr<Answer>& answer, Make make) {
  of_bids<Row>(events, std::move(make)).to(std::make_shared<AnswerSink<Row>>(answer), "rows");
}

/// A bid with all of its texts, as it crosses to another shard and is kept there.
struct WholeBid {
  std::int64_t auction = 0, bidder = 0, price = 0, time_ms = 0;
  Text channel, url, extra;
};
BOOST_DESCRIBE_STRUCT(WholeBid, (), (auction, bidder, price, time_ms, channel, url, extra))

[[nodiscard]] inline WholeBid whole(const Bid& bid) {
  return {bid.auction, bid.bidder, bid.price, bid.time_ms, {bid.channel}, {bid.url}, {bid.extra}};
}
[[nodiscard]] inline auto whole_bids(const Stream<Event>& events) {
  return of_bids<WholeBid>(events, [](const Bid& bid, auto& emit) { emit(whole(bid)); });
}

}  // namespace sluice::nexmark
