#pragma once

#include <algorithm>
#include <chrono>

#include <sluice/engine/event_time.h>
#include <sluice/io/clock.h>

namespace sluice::internal {

/// Of an operator that wants no call though nothing comes.
inline constexpr io::Monotonic kNoDeadline = io::Monotonic::max();

/// Processing time: the wall clock as it was when it was opened, and from there with the clock that nobody sets. A system clock that is
/// set back an hour holds no timer up, one that is set ahead fires none too early; the next attempt begins with the new time.
///
/// Shard: any; a value. Units: whole milliseconds since 1970, rounded down.
class ProcessingClock {
 public:
  /// `at_least`: where it had come to before a restart, if it is not to go back with a system clock that was set.
  void open(io::Clock& clock, EventTime at_least = kNoEventTime) {
    opened_ = clock.now();
    wall_ = clock.wall();
    const bool known = at_least < std::chrono::floor<EventDuration>(io::WallTime::max());
    if (known && at_least > std::chrono::floor<EventDuration>(wall_)) wall_ = at_least;
  }
  [[nodiscard]] EventTime at(io::Monotonic now) const { return std::chrono::floor<EventDuration>(wall_ + (now - opened_)); }
  /// When at() will be `time`; far times are cut to ten years.
  [[nodiscard]] io::Monotonic when(EventTime time) const {
    constexpr EventDuration kFar = std::chrono::hours(24 * 3650);
    const EventTime start = std::chrono::floor<EventDuration>(wall_);
    if (time <= start) return opened_;
    if (time > start + kFar) return opened_ + kFar;
    return opened_ + std::chrono::duration_cast<io::Monotonic::duration>(time - wall_);
  }

 private:
  io::Monotonic opened_;
  io::WallTime wall_;
};

}  // namespace sluice::internal
