#pragma once

#include <chrono>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <sluice/engine/windows/window.h>
#include <sluice/io/base/status.h>

/// How records fall into windows: what KeyedStream::window() takes. Windows are half-open and, unless an offset says otherwise,
/// begin at multiples of their slide since 1970 (UTC), before 1970 too.
///
///     rides.key_by(&Ride::zone).window(tumbling(1h)).aggregate(count(), "rides-per-hour")
///
/// Calendar windows, in a named time zone: calendar.h.
namespace sluice {

/// Event times that windows accept, about 17,800 years around 1970. What lies outside is most likely in another unit.
inline constexpr EventTime kWindowTimeMin{EventDuration(-(std::int64_t{1} << 49))};
inline constexpr EventTime kWindowTimeMax{EventDuration(std::int64_t{1} << 49)};

namespace internal {

/// The multiple of `step` (from `offset`) at or below `time`; before 1970 too.
[[nodiscard]] constexpr EventTime floor_to(EventTime time, EventDuration step, EventDuration offset) noexcept {
  const std::int64_t since = (time - offset).time_since_epoch().count();
  const std::int64_t rest = since % step.count();
  return time - EventDuration(rest < 0 ? rest + step.count() : rest);
}

}  // namespace internal

/// Windows of one length, one after the other.
class Tumbling {
 public:
  static constexpr bool kSliding = false, kTimed = true;
  explicit constexpr Tumbling(EventDuration size) noexcept : size_(size) {}
  /// `tumbling(24h).offset(6h)`: from six to six.
  [[nodiscard]] constexpr Tumbling offset(EventDuration offset) const noexcept {
    Tumbling moved = *this;
    moved.offset_ = offset;
    return moved;
  }
  [[nodiscard]] Status check() const;
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] constexpr Window slice(EventTime time) const noexcept {
    const EventTime start = internal::floor_to(time, size_, offset_);
    return {start, start + size_};
  }

 private:
  EventDuration size_, offset_{0};
};

/// Windows of one length that overlap: one begins every `slide`. A record is kept once, in a slice that its windows share, so what it
/// costs does not grow with size / slide.
class Sliding {
 public:
  static constexpr bool kSliding = true, kTimed = true;
  constexpr Sliding(EventDuration size, EventDuration slide) noexcept : size_(size), slide_(slide) {}
  [[nodiscard]] constexpr Sliding offset(EventDuration offset) const noexcept {
    Sliding moved = *this;
    moved.offset_ = offset;
    return moved;
  }
  [[nodiscard]] Status check() const;
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] Window slice(EventTime time) const noexcept {
    const EventTime start = internal::floor_to(time, length(), offset_);
    return {start, start + length()};
  }
  [[nodiscard]] constexpr EventDuration size() const noexcept { return size_; }
  [[nodiscard]] constexpr EventDuration slide() const noexcept { return slide_; }
  /// Of a slice: the longest that begins and ends wherever a window does.
  [[nodiscard]] constexpr EventDuration length() const noexcept {
    return EventDuration(std::gcd(size_.count(), slide_.count()));
  }
  /// The first and the last window that a slice is in; both begin before it ends.
  [[nodiscard]] Window first(const Window& slice) const noexcept {
    const EventTime start = internal::floor_to(slice.end - size_ - EventDuration(1), slide_, offset_) + slide_;
    return {start, start + size_};
  }
  [[nodiscard]] Window last(const Window& slice) const noexcept {
    const EventTime start = internal::floor_to(slice.start, slide_, offset_);
    return {start, start + size_};
  }
  /// The number of a slice, from that of 1970.
  [[nodiscard]] std::int64_t number(EventTime slice_start) const noexcept {
    return (slice_start - offset_).time_since_epoch() / length();
  }

 private:
  EventDuration size_, slide_, offset_{0};
};

/// All records of a key are one window, which ends with the input: for triggers. Records need no event time.
class Global {
 public:
  static constexpr bool kSliding = false, kTimed = false;
  [[nodiscard]] Status check() const { return {}; }
  [[nodiscard]] std::string describe() const { return "global"; }
  [[nodiscard]] Window slice(EventTime) const noexcept { return {kWindowTimeMin, kWindowTimeMax}; }
};

/// A key's records up to a pause of `gap`: a session ends one gap after its last record, and a record exactly then begins the next.
class Session {
 public:
  static constexpr bool kSliding = false, kTimed = true;
  explicit constexpr Session(EventDuration gap) noexcept : gap_(gap) {}
  [[nodiscard]] Status check() const;
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] constexpr EventDuration gap() const noexcept { return gap_; }

 private:
  EventDuration gap_;
};

/// Windows by the job's clock: a record is in those that are open when it comes, and they end when the clock says so.
template <class Windows>
class ProcessingTime final : public Windows {
 public:
  static constexpr bool kByClock = true;
  static_assert(Windows::kTimed, "global windows are of no time: give them a trigger, processing_time(early(5s))");
  explicit constexpr ProcessingTime(Windows windows) : Windows(std::move(windows)) {}
  /// Move the windows, then say what time they are of: processing_time(tumbling(24h).offset(6h)).
  void offset(EventDuration) const = delete;
  [[nodiscard]] std::string describe() const { return "processing-time " + Windows::describe(); }
};

namespace internal {

/// Whether windows are of processing time.
template <class Windows>
inline constexpr bool kOfClock = requires { requires Windows::kByClock; };

}  // namespace internal

[[nodiscard]] constexpr Tumbling tumbling(EventDuration size) noexcept { return Tumbling(size); }
[[nodiscard]] constexpr Sliding sliding(EventDuration size, EventDuration slide) noexcept { return {size, slide}; }
[[nodiscard]] constexpr Global global() noexcept { return {}; }
[[nodiscard]] constexpr Session session(EventDuration gap) noexcept { return Session(gap); }
/// `processing_time(tumbling(10s))`, and sliding, session and calendar windows.
template <class Windows>
[[nodiscard]] constexpr ProcessingTime<Windows> processing_time(Windows windows) {
  return ProcessingTime<Windows>(std::move(windows));
}

}  // namespace sluice
