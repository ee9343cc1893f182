#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace sluice::io {

/// Lets a foreign thread act at the very moment at which a coroutine begins to wait, a little earlier or later each time,
/// so that the windows in which a wake-up could be lost are hit.
class Race {
 public:
  /// On the waiting side, right before the wait.
  void begin(std::uint64_t round) { round_.store(round); }
  /// On the acting side: returns when the round has begun, or somewhat later.
  void meet(std::uint64_t round) const {
    for (int spins = 0; round_.load() < round; ++spins) {
      if (spins % 4'096 == 4'095) std::this_thread::yield();
    }
    // A prime, so that every delay meets every phase of whatever has a period.
    for (std::uint64_t delay = (round * 37) % 251; delay > 0; --delay) round_.load();
  }

 private:
  std::atomic<std::uint64_t> round_{0};
};

}  // namespace sluice::io
