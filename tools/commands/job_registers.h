#pragma once

#include <sluice/kafka/registers.h>

#include "commands/cluster.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// What a job has written down in its private group: read from the broker alone, whoever runs or
/// does not.
namespace sluice::tools {

struct JobRegisters {
  kafka::RegisterPlace place;
  std::vector<kafka::OffsetAndMetadata>
      committed;             ///< the whole group: decision, owner, then any others
  kafka::Registers decoded;  ///< meaningful where `damage` is ok
  Status damage;             ///< kCorrupt, with place and remedy
  std::optional<std::int64_t>
      decided_ms;  ///< when the decision was committed, where the log still says so

  [[nodiscard]] bool absent() const noexcept {
    return committed[0].offset < 0 && committed[1].offset < 0;
  }
};

/// Reads what is committed now; offsets that an open transaction is about to commit are not waited
/// for.
Result<JobRegisters> read_registers(const Handle& consumer, const kafka::RegisterPlace& place,
                                    std::chrono::milliseconds timeout);

/// One record of __consumer_offsets, as far as we care; public for the tests.
struct OffsetCommitRecord {
  std::string group, topic;
  std::int32_t partition = 0;
  std::int64_t offset = -1;
  std::int64_t commit_ms = -1;
};
/// False: the record is something else.
bool parse_offset_commit(std::string_view key, std::string_view value, OffsetCommitRecord& record);
/// The partition of __consumer_offsets that keeps the group's commits.
std::int32_t offsets_partition_of(const std::string& group, std::int32_t partitions);

}  // namespace sluice::tools
