#pragma once

#include "nexmark/events.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::nexmark {

/// What a query of kQueries answers, from all events at once, by the definition in bench/README.md
/// and with no thought for speed. It judges the loops, so it shares nothing with them but the
/// events.
[[nodiscard]] std::vector<std::string> reference(std::string_view query,
                                                 const std::vector<Event>& events);

/// The same for the queries that have no hand-written loop: q4, q9, q12 to q17 and q19 to q22.
[[nodiscard]] std::vector<std::string> reference_without_loop(std::string_view query,
                                                              const std::vector<Event>& events);

/// One of an edge that a test draws by hand.
[[nodiscard]] inline Bid bid(std::int64_t auction, std::int64_t bidder, std::int64_t price, std::int64_t time_ms) {
  return {.auction = auction,
          .bidder = bidder,
          .price = price,
          .channel = "c",
          .url = "u",
          .time_ms = time_ms,
          .extra = "x"};
}

}  // namespace sluice::nexmark
