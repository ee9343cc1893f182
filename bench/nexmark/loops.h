#pragma once

#include "nexmark/generator.h"
#include "nexmark/loops/join.h"
#include "nexmark/loops/keyed.h"
#include "nexmark/loops/pass.h"
#include "nexmark/loops/windows.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::nexmark {

// The queries by hand: what one thread needs at least, with the tables that the engine uses too.
// All of them rely on events that are in order of time, as the generator makes them, and on an end
// at which everything open is answered.

inline constexpr std::array<std::string_view, 9> kQueries = {"q0", "q1", "q2",  "q3", "q5",
                                                             "q7", "q8", "q11", "q18"};
inline constexpr std::size_t kBatchEvents =
    256;  // 30 KB: they are read while they are still in the first cache.

/// Events come from a batch that is filled by a call, so a query cannot spare itself the fields
/// that it does not look at.
template <template <class> class Query, class Rows>
void run(const Generator& generator, std::uint64_t events, Rows& rows) {
  Query<Rows> query(rows);
  std::array<Event, kBatchEvents> batch;
  for (std::uint64_t first = 0; first < events; first += kBatchEvents) {
    const std::span<Event> part(batch.data(),
                                std::min<std::uint64_t>(kBatchEvents, events - first));
    generator.fill(first, part);
    query.process(part);
  }
  query.finish();
}

/// Runs a query of kQueries, or "events" for the stream itself, over the first `events` events;
/// false when there is none of that name.
template <class Rows>
bool run(std::string_view query, const Generator& generator, std::uint64_t events, Rows& rows) {
  if (query == "q0") return run<Q0>(generator, events, rows), true;
  if (query == "q1") return run<Q1>(generator, events, rows), true;
  if (query == "q2") return run<Q2>(generator, events, rows), true;
  if (query == "q3") return run<Q3>(generator, events, rows), true;
  if (query == "q5") return run<Q5>(generator, events, rows), true;
  if (query == "q7") return run<Q7>(generator, events, rows), true;
  if (query == "q8") return run<Q8>(generator, events, rows), true;
  if (query == "q11") return run<Q11>(generator, events, rows), true;
  if (query == "q18") return run<Q18>(generator, events, rows), true;
  if (query == "events") return run<AllEvents>(generator, events, rows), true;
  return false;
}

}  // namespace sluice::nexmark
