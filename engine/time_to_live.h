#pragma once

#include <cstdint>

#include <sluice/engine/event_time.h>

namespace sluice {

/// How long an entry of keyed state lives without being used. Measured in the time that the operator hands to advance(), be it
/// watermarks or a clock: no call of a clock a record, and a replay expires what the first run did. An expired entry is never
/// seen again, at the latest one time-to-live later it is swept from memory.
struct TimeToLive {
  enum class Refresh : std::uint8_t { kWrite, kRead };
  EventDuration after{0};             ///< 0: for ever
  Refresh refresh = Refresh::kWrite;  ///< kRead: looking at an entry counts as using it, and as a change
};

}  // namespace sluice
