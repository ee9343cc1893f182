// Queries on bids and the auctions that they are on. Either may come first.
#include "nexmark/queries/bids.h"
#include "nexmark/queries/queries.h"
#include "nexmark/queries/time.h"

#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <boost/describe/class.hpp>

#include <sluice/engine/keyed_process.h>
#include <sluice/engine/windows/windowed_stream.h>

namespace sluice::nexmark {
namespace {

/// An auction with all of its texts, as it crosses to another shard and is kept there.
struct WholeAuction {
  std::int64_t id = 0, initial_bid = 0, reserve = 0, time_ms = 0, expires_ms = 0, seller = 0, category = 0;
  Text item, description, extra;
};
BOOST_DESCRIBE_STRUCT(WholeAuction, (), (id, initial_bid, reserve, time_ms, expires_ms, seller, category, item, description, extra))

WholeAuction whole(const Auction& auction) {
  return {auction.id,         auction.initial_bid, auction.reserve,     auction.time_ms,       auction.expires_ms,
          auction.seller,     auction.category,    {auction.item_name}, {auction.description}, {auction.extra}};
}
auto fields_of(const WholeAuction& a) {
  return std::tie(a.item.view, a.description.view, a.initial_bid, a.reserve, a.time_ms, a.expires_ms, a.seller, a.category, a.extra.view);
}

// ---- q4, q9 ----

/// `Lot` and `Offer`: what a query has to know of an auction and of a bid.
template <class Lot, class Offer>
struct OnAuction {
  std::int64_t auction;
  std::variant<Offer, Lot> what;
};
template <class Lot, class Offer>
struct Won {
  std::int64_t auction;
  Lot lot;
  Offer bid;
};
/// What is kept of an auction. Without a lot: nobody has opened it yet.
template <class Lot, class Offer>
struct OpenAuction {
  std::optional<Lot> lot;
  std::optional<Offer> best;
  std::vector<Offer> waiting;
  BOOST_DESCRIBE_CLASS(OpenAuction, (), (lot, best, waiting), (), ())
};

/// Of an auction's bids from its time to its expiry the highest; of several as high the one that came first.
///
/// State      an auction until the watermark is behind its expiry; a bid that came before its auction until the watermark is behind the
///            bid, for an auction that comes later is a later one.
/// Late       such a bid or auction is as one of an auction that nobody opened: forgotten with the next watermark.
template <class Lot, class Offer>
class WinningBids : public KeyedProcessFunction<std::int64_t, OnAuction<Lot, Offer>, Won<Lot, Offer>> {
 public:
  using typename KeyedProcessFunction<std::int64_t, OnAuction<Lot, Offer>, Won<Lot, Offer>>::Ctx;

  void declare(StateSet& states) { states.add("auctions", auctions_); }
  void process(const OnAuction<Lot, Offer>& record, Ctx& ctx, Collector<Won<Lot, Offer>>&) {
    Open& open = ctx.of(auctions_).value();
    if (const Offer* offer = std::get_if<Offer>(&record.what)) {
      if (open.lot) {
        consider(open, *offer);
        return;
      }
      if (open.waiting.empty()) ctx.timers().set_event_time(behind(offer->time_ms));
      open.waiting.push_back(*offer);
    } else {
      open.lot = std::get<Lot>(record.what);
      ctx.timers().set_event_time(behind(open.lot->expires_ms));
      for (const Offer& waited : std::exchange(open.waiting, {})) consider(open, waited);
    }
  }
  void on_timer(EventTime time, Ctx& ctx, Collector<Won<Lot, Offer>>& out) {
    const Open* const open = ctx.of(auctions_).find();
    if (open == nullptr) return;
    if (!open->lot) {
      forget(ctx.of(auctions_).value(), ctx);
    } else if (time == behind(open->lot->expires_ms)) {  // Else that of a bid whose auction has come since.
      if (open->best) out.emit({ctx.key(), *open->lot, *open->best});
      ctx.of(auctions_).erase();
    }
  }

 private:
  using Open = OpenAuction<Lot, Offer>;
  /// A record of the watermark's own time may still come.
  static EventTime behind(std::int64_t time_ms) noexcept { return event_time_of(time_ms + 1); }
  static void consider(Open& open, const Offer& offer) {
    if (offer.time_ms < open.lot->time_ms || offer.time_ms > open.lot->expires_ms) return;
    const auto before = [](const Offer& a, const Offer& b) { return a.price != b.price ? a.price > b.price : a.time_ms < b.time_ms; };
    if (!open.best || before(offer, *open.best)) open.best = offer;
  }
  void forget(Open& open, Ctx& ctx) {
    std::erase_if(open.waiting, [&](const Offer& offer) { return behind(offer.time_ms) <= ctx.watermark(); });
    if (open.waiting.empty()) {
      ctx.of(auctions_).erase();
    } else {
      ctx.timers().set_event_time(behind(open.waiting.front().time_ms));
    }
  }
  ValueState<std::int64_t, Open> auctions_;
};

template <class LotOf, class OfferOf>
auto winning_bids(const Stream<Event>& events, LotOf lot, OfferOf offer) {
  using Lot = std::invoke_result_t<LotOf, const Auction&>;
  using Offer = std::invoke_result_t<OfferOf, const Bid&>;
  using Record = OnAuction<Lot, Offer>;
  return events.watermarks(time_of<Event>())
      .template flat_map<Record>([lot, offer](const Event& event, auto&& emit) {
        if (const Bid* bid = std::get_if<Bid>(&event)) {
          emit(Record{bid->auction, offer(*bid)});
        } else if (const Auction* auction = std::get_if<Auction>(&event)) {
          emit(Record{auction->id, lot(*auction)});
        }
      })
      .key_by(&Record::auction)
      .process("winning-bids", WinningBids<Lot, Offer>());
}

struct LotOfCategory {
  std::int64_t category = 0, time_ms = 0, expires_ms = 0;
};
BOOST_DESCRIBE_STRUCT(LotOfCategory, (), (category, time_ms, expires_ms))
struct Price {
  std::int64_t price = 0, time_ms = 0;
};
BOOST_DESCRIBE_STRUCT(Price, (), (price, time_ms))

struct CategoryRow {
  std::int64_t category, auctions, sum, average;
  [[nodiscard]] auto fields() const { return std::tie(category, auctions, sum, average); }
};

void q4(const Stream<Event>& events, const std::shared_ptr<Answer>& answer) {
  using WonPrice = Won<LotOfCategory, Price>;
  winning_bids(
      events, [](const Auction& auction) { return LotOfCategory{auction.category, auction.time_ms, auction.expires_ms}; },
      [](const Bid& bid) { return Price{bid.price, bid.time_ms}; })
      .key_by([](const WonPrice& won) { return won.lot.category; })
      .window(global())
      .aggregate(together(count(), sum([](const WonPrice& won) { return won.bid.price; })), "categories")
      .map([](const auto& category) {
        const auto auctions = static_cast<std::int64_t>(std::get<0>(category.value));
        const std::int64_t sum = std::get<1>(category.value);
        return CategoryRow{category.key, auctions, sum, sum / auctions};
      })
      .to(std::make_shared<AnswerSink<CategoryRow>>(answer), "rows");
}

struct OfferBy {
  std::int64_t bidder = 0, price = 0, time_ms = 0;
  Text extra;
};
BOOST_DESCRIBE_STRUCT(OfferBy, (), (bidder, price, time_ms, extra))

struct WonRow {
  WholeAuction auction;
  OfferBy bid;
  [[nodiscard]] auto fields() const {
    return std::tuple_cat(std::tie(auction.id), fields_of(auction), std::tie(bid.bidder, bid.price, bid.time_ms, bid.extra.view));
  }
};

void q9(const Stream<Event>& events, const std::shared_ptr<Answer>& answer) {
  winning_bids(
      events, [](const Auction& auction) { return whole(auction); },
      [](const Bid& bid) { return OfferBy{bid.bidder, bid.price, bid.time_ms, {bid.extra}}; })
      .map([](const auto& won) { return WonRow{won.lot, won.bid}; })
      .to(std::make_shared<AnswerSink<WonRow>>(answer), "rows");
}

// ---- q20 ----

struct BidOnRow {
  WholeBid bid;
  WholeAuction auction;
  [[nodiscard]] auto fields() const {
    return std::tuple_cat(std::tie(bid.auction, bid.bidder, bid.price, bid.channel.view, bid.url.view, bid.time_ms, bid.extra.view),
                          fields_of(auction));
  }
};

struct Known {
  std::optional<WholeAuction> auction;
  std::vector<WholeBid> waiting;
};
BOOST_DESCRIBE_STRUCT(Known, (), (auction, waiting))

/// Bids (left) with their auction (right), if it is of the category.
///
/// State      all auctions, for ever, those of other categories too: else their bids would wait for them. Bids whose auction has not
///            come yet.
/// Late       nothing is.
class OnesOfCategory {
 public:
  using Key = std::int64_t;
  void declare(StateSet& states) { states.add("auctions", auctions_); }
  void left(const Keyed<Key, WholeBid>& bid, EventTime, Collector<BidOnRow>& out) {
    Known& known = auctions_.in_group(bid.key, bid.group);
    if (!known.auction) {
      known.waiting.push_back(bid.value);
    } else if (known.auction->category == kFirstCategory) {
      out.emit({bid.value, *known.auction});
    }
  }
  void right(const Keyed<Key, WholeAuction>& auction, EventTime, Collector<BidOnRow>& out) {
    Known& known = auctions_.in_group(auction.key, auction.group);
    known.auction = auction.value;
    const std::vector<WholeBid> waited = std::exchange(known.waiting, {});
    if (auction.value.category != kFirstCategory) return;
    for (const WholeBid& bid : waited) out.emit({bid, auction.value});
  }

 private:
  ValueState<Key, Known> auctions_;
};

void q20(const Stream<Event>& events, const std::shared_ptr<Answer>& answer) {
  const auto kinds = events.split<WholeBid, WholeAuction>("kinds", [](const Event& event, Arena&, auto& bids, auto& auctions) {
    if (const Bid* bid = std::get_if<Bid>(&event)) {
      bids(whole(*bid));
    } else if (const Auction* auction = std::get_if<Auction>(&event)) {
      auctions(whole(*auction));
    }
  });
  kinds.key_by(&WholeBid::auction)
      .connect(kinds.side().key_by(&WholeAuction::id))
      .process<BidOnRow>("category", OnesOfCategory())
      .to(std::make_shared<AnswerSink<BidOnRow>>(answer), "rows");
}

}  // namespace

std::vector<Query> auction_queries() { return {{"q4", q4}, {"q9", q9}, {"q20", q20}}; }

}  // namespace sluice::nexmark
