#pragma once

#include <deque>
#include <optional>

#include <sluice/engine/options.h>
#include <sluice/io/base/random.h>
#include <sluice/io/clock.h>

namespace sluice::checkpoint {

/// Whether a failed attempt is followed by another one, and how long to wait before it.
/// Shard: the control thread.
class Restarts {
 public:
  Restarts(RestartOptions options, io::Clock& clock, Random& random) : options_(options), clock_(clock), random_(random) {}
  /// The wait before the next attempt, or none: give up. `decided`: the failed attempt had decided a checkpoint.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> next(bool decided);
  [[nodiscard]] std::uint32_t failures() const noexcept { return failures_; }

 private:
  const RestartOptions options_;
  io::Clock& clock_;
  Random& random_;
  std::uint32_t failures_ = 0;
  std::optional<io::Monotonic> last_;
  std::deque<io::Monotonic> recent_;
};

}  // namespace sluice::checkpoint
