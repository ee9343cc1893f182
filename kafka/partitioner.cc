#include <sluice/kafka/partitioner.h>

#include <zlib.h>

#include <cstring>

namespace sluice::kafka {

std::uint32_t murmur2(std::string_view key) noexcept {
  // Austin Appleby's murmur2 with Java's seed; every constant is part of the contract with other
  // producers.
  constexpr std::uint32_t kSeed = 0x9747b28c, kMultiplier = 0x5bd1e995;
  constexpr int kShift = 24;
  std::uint32_t hash = kSeed ^ static_cast<std::uint32_t>(key.size());
  const char* at = key.data();
  std::size_t left = key.size();
  for (; left >= 4; at += 4, left -= 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, at, 4);  // Little-endian, as Java assembles it.
    word *= kMultiplier;
    word ^= word >> kShift;
    word *= kMultiplier;
    hash = hash * kMultiplier ^ word;
  }
  const auto byte = [at](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(at[i]));
  };
  if (left == 3) hash ^= byte(2) << 16;
  if (left >= 2) hash ^= byte(1) << 8;
  if (left >= 1) hash = (hash ^ byte(0)) * kMultiplier;
  hash ^= hash >> 13;
  hash *= kMultiplier;
  return hash ^ hash >> 15;
}

std::int32_t java_partition(std::string_view key, std::int32_t partitions) noexcept {
  return static_cast<std::int32_t>(murmur2(key) & 0x7fffffff) % partitions;
}

std::int32_t librdkafka_partition(std::string_view key, std::int32_t partitions) noexcept {
  const uLong hash =
      crc32_z(crc32_z(0, nullptr, 0), reinterpret_cast<const Bytef*>(key.data()), key.size());
  return static_cast<std::int32_t>(hash % static_cast<uLong>(partitions));
}

}  // namespace sluice::kafka
