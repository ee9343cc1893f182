#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sluice/io/base/metrics.h>

namespace sluice {

/// Records that a job has left out, and why: the counters of engine and connectors that say so, with a reason for people.
struct DroppedRecords {
  std::string counter;  ///< as metrics name it
  std::string reason;
  std::uint64_t records = 0;
};

/// Of all operators and shards since the job started; those that are not 0. What went to a stream or topic of its own (late(),
/// rejected(), send_to) is counted too where its counter says so.
///
/// Shard: any. Errors: none. Ownership: values.
[[nodiscard]] std::vector<DroppedRecords> dropped_records(const Metrics& metrics);

}  // namespace sluice
