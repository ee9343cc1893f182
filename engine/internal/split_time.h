#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <sluice/engine/batch.h>
#include <sluice/engine/codec.h>
#include <sluice/engine/event_time.h>
#include <sluice/engine/event_time_text.h>
#include <sluice/io/base/result.h>

namespace sluice::internal {

/// How far a split has come; in the checkpoint.
struct SplitTime {
  EventTime largest = kNoEventTime;      ///< of its records so far, those aside that the guard against jumps ignored
  EventTime watermark = EventTime::min();
};

/// What a scan of a batch goes by, and what it finds.
struct Scan {
  EventTime others;     ///< the least watermark of the other active splits of the shard
  EventTime announced;  ///< what those behind know
  SplitTime* at = nullptr;
  bool every_record = false;
  EventDuration jump_max{0};  ///< 0: no guard
  std::uint32_t jumps_confirmed = 0;  ///< so many records in a row that are beyond the jump: it is the stream that has moved
  EventTime wall = kNoEventTime;      ///< what the guard goes by where there is no earlier record
  std::uint32_t* jumps_in_a_row = nullptr;
  std::uint64_t jumps = 0;  ///< found: records that the watermark did not follow
  std::size_t last_jump = 0;
};

/// One split's strategy. Called once a batch, not once a record.
template <class T>
class SplitScan {
 public:
  virtual ~SplitScan() = default;
  /// Moves `scan.at` over the records of `batch` from `from` on, up to the first one in front of which those behind must learn
  /// of the watermark: it is behind it. The batch's size where there is none.
  [[nodiscard]] virtual std::size_t run(const Batch<T>& batch, std::size_t from, Scan& scan) = 0;
  virtual void restore(const SplitTime&) {}
};

template <class T, class Rule>
class RuleScan final : public SplitScan<T> {
 public:
  explicit RuleScan(Rule rule) : rule_(std::move(rule)) {}
  std::size_t run(const Batch<T>& batch, std::size_t from, Scan& scan) override {
    const std::vector<EventTime>& times = batch.times();
    SplitTime at = *scan.at;  // In registers.
    EventTime next = std::min(scan.others, at.watermark);
    EventTime ahead = bound(scan, at.largest);
    std::size_t i = from;
    for (; i < batch.size(); ++i) {
      const EventTime time = times[i];
      if (next > scan.announced && (time < next || scan.every_record)) [[unlikely]] break;
      if (time > ahead) [[unlikely]] {
        if (++*scan.jumps_in_a_row < scan.jumps_confirmed) {
          ++scan.jumps;
          scan.last_jump = i;
          continue;
        }
      } else if (*scan.jumps_in_a_row != 0) [[unlikely]] {
        *scan.jumps_in_a_row = 0;
      }
      if (time > at.largest) {
        at.largest = time;
        if (scan.jump_max.count() != 0) ahead = bound(scan, time);
      }
      const EventTime said = rule_(batch[i], time);
      if (said > at.watermark) {
        at.watermark = std::min(said, kLatestEventTime);
        next = std::min(scan.others, at.watermark);
      }
    }
    *scan.at = at;
    return i;
  }
  void restore(const SplitTime& at) override {
    if constexpr (requires { rule_.restore(at.largest, at.watermark); }) rule_.restore(at.largest, at.watermark);
  }

 private:
  [[nodiscard]] static EventTime bound(const Scan& scan, EventTime largest) {
    if (scan.jump_max.count() == 0) return EventTime::max();
    const EventTime from = largest == kNoEventTime ? scan.wall : largest;
    return from == kNoEventTime ? EventTime::max() : from + scan.jump_max;
  }
  Rule rule_;
};

/// Time less than the disorder that is allowed.
struct BoundedRule {
  EventDuration disorder{0};
  template <class T>
  [[nodiscard, gnu::always_inline]] EventTime operator()(const T&, EventTime time) const noexcept {
    return time - disorder;
  }
};
/// A user's function: a watermark, or an empty optional.
template <class F>
struct OwnRule {
  F f;
  template <class T>
  [[nodiscard]] EventTime operator()(const T& record, EventTime time) {
    if constexpr (std::is_same_v<std::decay_t<std::invoke_result_t<F&, const T&, EventTime>>, EventTime>) {
      return f(record, time);
    } else {
      return f(record, time).value_or(EventTime::min());
    }
  }
  void restore(EventTime largest, EventTime watermark) {
    if constexpr (requires { f.restore(largest, watermark); }) f.restore(largest, watermark);
  }
};

// ---- the time of a record ----

/// kNoEventTime for a time that is missing, unreadable or out of range.
[[nodiscard]] inline EventTime as_event_time(EventTime time) noexcept {
  return time < kEarliestEventTime || time > kLatestEventTime ? kNoEventTime : time;
}
template <class Duration>
[[nodiscard]] EventTime as_event_time(std::chrono::sys_time<Duration> time) noexcept {
  if constexpr (std::ratio_greater_v<typename Duration::period, std::milli>) {
    using std::chrono::time_point_cast;
    // In its own unit first: a coarse one overflows in milliseconds.
    if (time > time_point_cast<Duration>(kLatestEventTime) || time < time_point_cast<Duration>(kEarliestEventTime)) return kNoEventTime;
  }
  return as_event_time(EventTime(std::chrono::floor<EventDuration>(time)));
}
template <class Time>
[[nodiscard]] EventTime as_event_time(const std::optional<Time>& time) noexcept {
  return time ? as_event_time(*time) : kNoEventTime;
}
template <class Time>
[[nodiscard]] EventTime as_event_time(const Result<Time>& time) noexcept {
  return time.ok() ? as_event_time(*time) : kNoEventTime;
}

/// What a time reader says: a time, or one that may be missing.
template <class F, class T>
concept TimeReader = std::invocable<F&, const T&> && requires(std::decay_t<std::invoke_result_t<F&, const T&>> said) {
  { as_event_time(said) } -> std::same_as<EventTime>;
};

}  // namespace sluice::internal

/// The names are part of the format of checkpoints.
template <>
struct sluice::Codec<sluice::internal::SplitTime> {
  static std::string name() { return "split-time"; }
  static void write(const internal::SplitTime& value, std::string& out) {
    Codec<EventTime>::write(value.largest, out);
    Codec<EventTime>::write(value.watermark, out);
  }
  static bool read(std::string_view& in, internal::SplitTime& value) {
    return Codec<EventTime>::read(in, value.largest) && Codec<EventTime>::read(in, value.watermark);
  }
};
