#pragma once

#include <cstdint>
#include <string>

#include <sluice/engine/time_to_live.h>

namespace sluice {

/// Bounds of an interval or window join. At 80 % of either there is a warning, for the first with the side that fills up; beyond any the
/// job stops with kExhausted and the bound's name.
struct JoinOptions {
  std::uint64_t buffered_rows_max = 10'000'000;   ///< rows kept on one shard, both sides
  std::uint64_t results_at_once_max = 5'000'000;  ///< rows that one batch or one watermark makes on one shard
  /// What keys and rows are of, where their types do not tell: part of the state's type, so that of others is not taken over.
  std::string contents{};
};

/// Bounds of a lookup join.
struct LookupOptions {
  std::uint64_t table_rows_max = 50'000'000;    ///< keys kept on one shard
  std::uint64_t waiting_rows_max = 10'000'000;  ///< rows on one shard that wait for theirs to come
  TimeToLive time_to_live{};                    ///< of a table's row; by default it is kept for ever. Not with waiting()
  std::string contents{};                       ///< as in JoinOptions
};

namespace internal {
[[nodiscard]] inline std::string kind_of(std::string state, const std::string& contents) {
  return contents.empty() ? state : state + " of " + contents;
}
}  // namespace internal

}  // namespace sluice
