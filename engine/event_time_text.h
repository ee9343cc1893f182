#pragma once

#include <cstdint>
#include <string_view>

#include <sluice/engine/event_time.h>
#include <sluice/io/base/result.h>

namespace sluice {

/// What a number that is a time counts, from the Unix epoch on.
enum class TimeUnit : std::uint8_t { kSeconds, kMilliseconds, kMicroseconds, kNanoseconds };

/// What a text without an offset from UTC means.
enum class NoOffset : std::uint8_t { kRefuse, kUtc };

/// Event times lie within 285,000 years of 1970: what is beyond is a wrong unit or a damaged field, and arithmetic on times
/// never overflows.
inline constexpr EventTime kEarliestEventTime{EventDuration(-8'640'000'000'000'000)};
inline constexpr EventTime kLatestEventTime{EventDuration(8'640'000'000'000'000)};

/// kNoEventTime where `value` is out of range. Rounds down, before 1970 too.
[[nodiscard]] EventTime event_time(std::int64_t value, TimeUnit unit) noexcept;

/// A time as text: ISO 8601 / RFC 3339, `2016-12-31T23:59:59.250Z`, `2016-12-31 18:59:59-05:00`; or a whole number of `unit`.
///
/// Second 60 (a leap second, or a clock that shows one) is the last millisecond of its minute, so that order is kept: after
/// everything of second 59 that is coarser than a millisecond, before the next minute. Digits behind the milliseconds are cut off.
///
/// Errors     kInvalid, with the text and what was expected. No allocation where it succeeds.
[[nodiscard]] Result<EventTime> parse_event_time(std::string_view text, TimeUnit unit = TimeUnit::kMilliseconds,
                                                 NoOffset without = NoOffset::kRefuse);

}  // namespace sluice
