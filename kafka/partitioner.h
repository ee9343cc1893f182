#pragma once

#include <sluice/kafka/sink_record.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

namespace sluice::kafka {

/// Which partition of the target a record goes to. Made by the functions below; a sink's writer on
/// each shard runs it.
struct Partitioner {
  enum class Kind : std::uint8_t { kKeep, kFixed, kMurmur2, kCrc32, kRoundRobin, kOwn };
  using Function = std::function<std::int32_t(const SinkRecord&, std::int32_t partitions)>;
  Kind kind = Kind::kKeep;
  Function own = {};
};

/// The source's partition, modulo the partitions of the target: order per source partition is kept.
/// Behind an exchange, where batches have no source partition, like hash_murmur2().
[[nodiscard]] inline Partitioner keep() { return {Partitioner::Kind::kKeep, {}}; }
/// One partition a shard.
[[nodiscard]] inline Partitioner fixed() { return {Partitioner::Kind::kFixed, {}}; }
/// As Java's producers: murmur2 of the key; records without a key go to one partition a batch, in
/// turn.
[[nodiscard]] inline Partitioner hash_murmur2() { return {Partitioner::Kind::kMurmur2, {}}; }
/// As librdkafka's consistent_random: CRC32 of the key; records without a key, or with an empty
/// one, in turn a batch.
[[nodiscard]] inline Partitioner hash_librdkafka() { return {Partitioner::Kind::kCrc32, {}}; }
[[nodiscard]] inline Partitioner round_robin() { return {Partitioner::Kind::kRoundRobin, {}}; }
/// Own: called for each record, must return 0 to partitions - 1.
[[nodiscard]] inline Partitioner partition_by(Partitioner::Function own) {
  return {Partitioner::Kind::kOwn, std::move(own)};
}

/// Java's Utils.murmur2, then toPositive(…) % partitions.
[[nodiscard]] std::uint32_t murmur2(std::string_view key) noexcept;
[[nodiscard]] std::int32_t java_partition(std::string_view key, std::int32_t partitions) noexcept;
/// CRC32 (as in zlib) modulo partitions.
[[nodiscard]] std::int32_t librdkafka_partition(std::string_view key,
                                                std::int32_t partitions) noexcept;

}  // namespace sluice::kafka
