#pragma once

#include <sluice/engine/split.h>
#include <sluice/kafka/partitioner.h>

#include <cstdint>

namespace sluice::kafka::internal {

/// Runs a partitioner for one writer. Shard: its writer's. pick() is inline and makes no call but
/// the hash, or the user's own.
class Picker {
 public:
  Picker(kafka::Partitioner partitioner, ShardId shard)
      : partitioner_(std::move(partitioner)), shard_(shard.value()), turn_(shard.value()) {}

  void start_batch(const Split* split) noexcept {
    split_ = split;
    of_ = 0;  // The split may differ: compute anew.
    ++turn_;  // Records without a key stay together within a batch, which makes larger requests.
  }
  /// May be out of range where the user's function says so: the caller checks.
  [[nodiscard]] std::int32_t pick(const kafka::SinkRecord& record, std::int32_t partitions) {
    using Kind = kafka::Partitioner::Kind;
    switch (partitioner_.kind) {
      case Kind::kKeep:
        if (split_ == nullptr) return by_key(record, partitions);
        return once(static_cast<std::uint32_t>(split_->partition), partitions);
      case Kind::kFixed:
        return once(shard_, partitions);
      case Kind::kMurmur2:
        return by_key(record, partitions);
      case Kind::kCrc32:
        if (record.key.size() == 0) return once(turn_, partitions);
        return kafka::librdkafka_partition(record.key.view(), partitions);
      case Kind::kRoundRobin:
        return static_cast<std::int32_t>(turn_++ % static_cast<std::uint32_t>(partitions));
      case Kind::kOwn:
        break;
    }
    return partitioner_.own(record, partitions);
  }

 private:
  [[nodiscard]] std::int32_t by_key(const kafka::SinkRecord& record,
                                    std::int32_t partitions) noexcept {
    if (record.key.null()) return once(turn_, partitions);
    return kafka::java_partition(record.key.view(), partitions);
  }
  /// One answer for the whole batch: divided once, as long as the topic's number of partitions is
  /// the same.
  [[nodiscard]] std::int32_t once(std::uint32_t number, std::int32_t partitions) noexcept {
    if (of_ != partitions) {
      of_ = partitions;
      picked_ = static_cast<std::int32_t>(number % static_cast<std::uint32_t>(partitions));
    }
    return picked_;
  }
  kafka::Partitioner partitioner_;
  const Split* split_ = nullptr;
  std::int32_t of_ = 0;
  std::int32_t picked_ = 0;
  std::uint32_t shard_;
  std::uint32_t turn_;
};

}  // namespace sluice::kafka::internal
