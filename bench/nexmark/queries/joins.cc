// Queries on two streams: persons and auctions.
#include "nexmark/queries/queries.h"
#include "nexmark/queries/text.h"
#include "nexmark/queries/time.h"
#include "nexmark/rows.h"

#include <chrono>
#include <cstdint>
#include <variant>

#include <boost/describe/class.hpp>

#include <sluice/engine/joins/joined_streams.h>
#include <sluice/engine/stream.h>
#include <sluice/engine/windows/windowed_stream.h>

namespace sluice::nexmark {
namespace {

using namespace std::chrono_literals;

// ---- q3 ----

struct Seller {
  std::int64_t id = 0;
  Text name, city, state;
  [[nodiscard]] bool here() const { return state.view == "OR" || state.view == "ID" || state.view == "CA"; }
};
BOOST_DESCRIBE_STRUCT(Seller, (), (id, name, city, state))
struct Offered {
  std::int64_t id = 0, seller = 0;
};
BOOST_DESCRIBE_STRUCT(Offered, (), (id, seller))

// Sellers from elsewhere are kept too: else their auctions would wait for them for ever.
void q3(const Stream<Event>& events, const std::shared_ptr<Answer>& answer) {
  const auto kinds = events.split<Offered, Seller>("kinds", [](const Event& event, Arena&, auto& auctions, auto& sellers) {
    if (const Auction* auction = std::get_if<Auction>(&event)) {
      if (auction->category == kFirstCategory) auctions(Offered{auction->id, auction->seller});
    } else if (const Person* person = std::get_if<Person>(&event)) {
      sellers(Seller{person->id, {person->name}, {person->city}, {person->state}});
    }
  });
  kinds.key_by(&Offered::seller)
      .lookup(kinds.side().key_by(&Seller::id))
      .waiting("sellers", [](const Offered& auction, const Seller& seller) {
        return std::pair(seller.here(), LocalItemRow{seller.name.view, seller.city.view, seller.state.view, auction.id});
      })
      .filter([](const auto& row) { return row.first; })
      .map([](const auto& row) { return row.second; })
      .to(std::make_shared<AnswerSink<LocalItemRow>>(answer), "rows");
}

// ---- q8 ----

struct Newcomer {
  std::int64_t id = 0, time_ms = 0;
  Text name;
};
BOOST_DESCRIBE_STRUCT(Newcomer, (), (id, time_ms, name))

void q8(const Stream<Event>& events, const std::shared_ptr<Answer>& answer) {
  const auto kinds = events.watermarks(time_of<Event>())
                         .split<Newcomer, std::int64_t>("kinds", [](const Event& event, Arena&, auto& persons, auto& sellers) {
                           if (const Auction* auction = std::get_if<Auction>(&event)) {
                             sellers(auction->seller);
                           } else if (const Person* person = std::get_if<Person>(&event)) {
                             persons(Newcomer{person->id, person->time_ms, {person->name}});
                           }
                         });
  kinds.key_by(&Newcomer::id)
      .join(kinds.side().key_by([](std::int64_t seller) { return seller; }))
      .window(tumbling(10s))
      .semi("newcomers",
            [](const Newcomer& person) {
              return NewSellerRow{(person.time_ms / 10'000 + 1) * 10'000, person.id, person.name.view};
            })
      .to(std::make_shared<AnswerSink<NewSellerRow>>(answer), "rows");
}

}  // namespace

std::vector<Query> join_queries() { return {{"q3", q3}, {"q8", q8}}; }

}  // namespace sluice::nexmark
