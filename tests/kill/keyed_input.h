#pragma once

#include <cstdint>
#include <map>

namespace sluice::testing {

/// The input of the keyed count: known to the job and to who judges it, and to nobody else.
struct KeyedInput {
  int splits = 4;
  std::int64_t records = 1'000'000;  ///< of each split, from 1
  std::uint64_t keys = 50'000;

  /// Keys of all splits, in no order: the stream is shuffled between shards.
  [[nodiscard]] std::uint64_t key(int split, std::int64_t number) const noexcept {
    std::uint64_t mixed = static_cast<std::uint64_t>(number) * 0x9e3779b97f4a7c15ull;
    mixed += static_cast<std::uint64_t>(split) * 0xc4ceb9fe1a85ec53ull;
    mixed = (mixed ^ (mixed >> 31)) * 0xff51afd7ed558ccdull;
    return (mixed >> 33) % keys;
  }
  /// By one thread: how often each key comes.
  [[nodiscard]] std::map<std::uint64_t, std::uint64_t> totals() const {
    std::map<std::uint64_t, std::uint64_t> totals;
    for (int split = 0; split < splits; ++split) {
      for (std::int64_t number = 1; number <= records; ++number) ++totals[key(split, number)];
    }
    return totals;
  }
};

/// A count is told when it is a multiple of this, and at the end.
inline constexpr std::uint64_t kToldEvery = 16;

}  // namespace sluice::testing
