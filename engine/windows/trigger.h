#pragma once

#include <cstdint>

#include <sluice/engine/event_time.h>
#include <sluice/io/base/status.h>

/// When a window says something: what WindowedStream::trigger() takes. Its end is always one such time.
namespace sluice {

/// Once, when the watermark (of windows of processing time: the clock) reaches its end. What all windows do unless told otherwise.
struct AtEnd {
  static constexpr bool kCounts = false, kEarly = false, kClock = false;
  [[nodiscard]] Status check() const { return {}; }
};

/// Also after every n records of a key: what has come so far. At its end once more, if something came since. `purging()`: what was
/// said is forgotten, so that each result is of n records and the last of the rest.
struct EveryRecords {
  static constexpr bool kCounts = true, kEarly = false, kClock = false;
  std::uint64_t records = 1;
  bool purge = false;
  [[nodiscard]] EveryRecords purging() const { return {records, true}; }
  [[nodiscard]] Status check() const {
    if (records > 0) return {};
    return Status(Code::kInvalid, "a trigger every 0 records: 1 at least");
  }
};

/// Also whenever the watermark has passed a multiple of `period`: what has come so far, for all keys of the open windows.
struct Early {
  static constexpr bool kCounts = false, kEarly = true, kClock = false;
  EventDuration period{1'000};
  [[nodiscard]] Status check() const {
    if (period > EventDuration::zero()) return {};
    return Status(Code::kInvalid, "early results every", period.count(), "ms: 1 ms at least");
  }
};

/// Also whenever the job's clock has passed a multiple of `period` and something came since: of the open windows what is new.
struct EarlyByClock {
  static constexpr bool kCounts = false, kEarly = false, kClock = true;
  EventDuration period{1'000};
  [[nodiscard]] Status check() const { return Early{period}.check(); }
};

[[nodiscard]] constexpr AtEnd at_end() noexcept { return {}; }
[[nodiscard]] constexpr EveryRecords every(std::uint64_t records) noexcept { return {records, false}; }
[[nodiscard]] constexpr Early early(EventDuration period) noexcept { return {period}; }
/// `processing_time(early(5s))`
[[nodiscard]] constexpr EarlyByClock processing_time(Early trigger) noexcept { return {trigger.period}; }

}  // namespace sluice
