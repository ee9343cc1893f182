// Queries whose rows hang on one event alone: a fused loop from the source to the sink.
#include "nexmark/queries/bids.h"
#include "nexmark/queries/queries.h"
#include "nexmark/rows.h"

namespace sluice::nexmark {
namespace {

void q0(const Stream<Event>& events, const std::shared_ptr<Answer>& answer) {
  bids_to_rows<BidRow>(events, answer, [](const Bid& bid, auto& emit) {
    emit(BidRow{bid.auction, bid.bidder, bid.price, bid.time_ms, bid.extra});
  });
}
void q1(const Stream<Event>& events, const std::shared_ptr<Answer>& answer) {
  bids_to_rows<BidRow>(events, answer, [](const Bid& bid, auto& emit) {
    emit(BidRow{bid.auction, bid.bidder, bid.price * 908, bid.time_ms, bid.extra});
  });
}
void q2(const Stream<Event>& events, const std::shared_ptr<Answer>& answer) {
  bids_to_rows<PriceRow>(events, answer, [](const Bid& bid, auto& emit) {
    if (bid.auction % 123 == 0) emit(PriceRow{bid.auction, bid.price});
  });
}

}  // namespace

std::vector<Query> pass_queries() { return {{"q0", q0}, {"q1", q1}, {"q2", q2}}; }

}  // namespace sluice::nexmark
