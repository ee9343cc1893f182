#pragma once

#include <cstdint>

#include <sluice/engine/key_hash.h>
#include <sluice/io/base/assert.h>
#include <sluice/io/base/id.h>

namespace sluice {

/// The unit in which keyed state is owned, moved and rescaled: a key has one for ever, a key group has one shard at a time.
using KeyGroup = Id<struct KeyGroupTag, std::uint16_t>;

/// How keys fall into key groups, and key groups onto shards. The same for the exchange and for all keyed state of a job, and fixed
/// for the job's life: `count` and `seed` are written into every snapshot, and a restore with others is refused.
///
/// Shard      any; a value.
/// Units      count: 1 to 32,768. More than shards, or some shards have nothing to do.
/// Errors     none.
/// Ownership  none.
class KeyGroups {
 public:
  static constexpr std::uint16_t kDefaultCount = 128, kMaxCount = 32'768;

  constexpr KeyGroups() noexcept = default;
  /// Who can choose keys and knows the seed can put all of them into one group: give a job of its own one then.
  explicit constexpr KeyGroups(std::uint16_t count, std::uint64_t seed = kDefaultSeed) : count_(count), seed_(seed) {
    SLUICE_ASSERT(count >= 1 && count <= kMaxCount);
  }

  /// Independent of the place in a table, or the keys of a group would crowd together there: bench/state_bench.cc. One constant and
  /// two more products away from it.
  template <class Key>
  [[nodiscard]] KeyGroup of(const Key& key) const {
    std::uint64_t hash = KeyHash<Key>::hash(key, seed_);
    hash = (hash ^ (hash >> 32)) * 0xff51afd7ed558ccdull;
    hash = (hash ^ (hash >> 29)) * 0xc4ceb9fe1a85ec53ull;
    return KeyGroup(static_cast<std::uint16_t>((hash >> 32) * count_ >> 32));
  }
  template <class Key, class Window>
  [[nodiscard]] KeyGroup of(const WindowKey<Key, Window>& key) const {
    return of(key.key);
  }

  [[nodiscard]] constexpr std::uint16_t count() const noexcept { return count_; }
  [[nodiscard]] constexpr std::uint64_t seed() const noexcept { return seed_; }
  /// Neighbouring groups go to one shard; numbers of groups differ by one at most.
  [[nodiscard]] constexpr ShardId owner(KeyGroup group, std::uint16_t shards) const noexcept {
    return ShardId(static_cast<std::uint16_t>(std::uint32_t{group.value()} * shards / count_));
  }
  constexpr bool operator==(const KeyGroups&) const noexcept = default;

 private:
  static constexpr std::uint64_t kDefaultSeed = 0x736c756963652031ull;
  std::uint16_t count_ = kDefaultCount;
  std::uint64_t seed_ = kDefaultSeed;
};

}  // namespace sluice
