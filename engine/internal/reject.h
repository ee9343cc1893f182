#pragma once

#include <sluice/engine/batch.h>
#include <sluice/engine/record.h>

#include <string_view>

namespace sluice::internal {

/// Where a rejected record came from, as far as is known.
struct Origin {
  std::string_view topic = {};
  std::int32_t partition = -1;  ///< below 0: not known
  Offset offset{-1};            ///< below 0: not known
  EventTime time = kNoEventTime;
};

/// `original` with headers behind its own that say why and where: sluice.error,
/// sluice.source.topic, .partition, .offset, .timestamp (milliseconds since the epoch, -1 for
/// none). Key and value are not copied; headers and their texts are in `arena`.
[[nodiscard]] Record rejected_record(const Record& original, std::string_view error,
                                     const Origin& origin, Arena& arena);

}  // namespace sluice::internal
