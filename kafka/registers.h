#pragma once

#include <sluice/engine/decider.h>
#include <sluice/kafka/client.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The registers of the commit protocol: offset commits in a job's private group whose metadata
/// says what they mean. The layout, field by field, is in registers.md; `sluice explain-commit`
/// reads them with these functions and nothing else.
namespace sluice::kafka {

/// Where a job's registers are.
struct RegisterPlace {
  std::string topic;  ///< sluice-<job>-decisions
  std::string group;  ///< sluice-<job>, or an option
  static constexpr std::int32_t kDecisionPartition = 0;
  static constexpr std::int32_t kOwnerPartition = 1;
  static constexpr std::int32_t kPartitions = 2;
  [[nodiscard]] TopicPartition decision() const { return {topic, kDecisionPartition}; }
  [[nodiscard]] TopicPartition owner() const { return {topic, kOwnerPartition}; }
};
/// kInvalid where the name of the job cannot be part of a topic's.
[[nodiscard]] Result<RegisterPlace> register_place(const std::string& job_name,
                                                   const std::string& group = {});

/// The decision register; its offset is the epoch.
struct DecisionRegister {
  std::string job_id;
  Epoch epoch{0};
  Uuid writer;
  std::string digest;
  std::optional<std::uint32_t>
      positions;  ///< how many positions the decision carries; none: a checkpoint does
  bool reset =
      false;  ///< written by --reset-decision, not by a job's first claim; epoch 0 either way
};

/// The owner register; its offset is the epoch that was known to be decided when it was written. A
/// decision below it has been lost.
struct OwnerRegister {
  std::string job_id;
  Uuid claim;
  Epoch known{0};
};

/// One position of a decision that carries them: the offset of an input partition in the private
/// group.
struct PositionRegister {
  Epoch epoch{0};
  Uuid writer;
  std::string source;
};

struct Registers {
  std::optional<DecisionRegister> decision;
  std::optional<OwnerRegister> owner;
  Decision decided;  ///< the same as the engine wants it; epoch 0 where nothing is, with a writer
                     ///< where that is written down
};

[[nodiscard]] OffsetAndMetadata encode(const RegisterPlace& place,
                                       const DecisionRegister& decision);
[[nodiscard]] OffsetAndMetadata encode(const RegisterPlace& place, const OwnerRegister& owner);
[[nodiscard]] OffsetAndMetadata encode(const SplitPosition& position, const PositionRegister& reg);

/// A job id as the registers carry it: as it is where it is short and plain, otherwise a digest.
[[nodiscard]] std::string register_job_id(std::string_view job_id);
/// Whether a source's id can be carried.
[[nodiscard]] bool can_carry(const SplitPosition& position);
/// xxh3-128 over the positions in their order, 32 hex digits.
[[nodiscard]] std::string digest_of(std::vector<SplitPosition> positions);

/// Makes sense of one answer of Admin::committed: the decision, the owner, then any input
/// partitions. kCorrupt, with place and remedy, where a register is not what the job wrote, where
/// they contradict each other, or belong to another job. `job_id` empty: any job (for tools).
[[nodiscard]] Result<Registers> decode(const RegisterPlace& place, std::string_view job_id,
                                       const std::vector<OffsetAndMetadata>& committed);

/// The owner alone; none where nothing is committed.
[[nodiscard]] Result<std::optional<OwnerRegister>> decode_owner(const RegisterPlace& place,
                                                                std::string_view job_id,
                                                                const OffsetAndMetadata& commit);

}  // namespace sluice::kafka
