#pragma once

#include <chrono>

namespace sluice {

/// When something happened, by the clock of whoever recorded it; milliseconds since the Unix epoch.
using EventTime = std::chrono::sys_time<std::chrono::milliseconds>;
using EventDuration = std::chrono::milliseconds;

/// "This record has no event time", never confused with the year 1969 (Kafka's -1).
inline constexpr EventTime kNoEventTime = EventTime::min();

}  // namespace sluice
