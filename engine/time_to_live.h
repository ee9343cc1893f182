#pragma once

#include <cstdint>

#include <sluice/engine/event_time.h>

namespace sluice {

/// How long an entry of keyed state lives without being used. In a process function it is the watermark that moves its time; an operator
/// of its own, or one whose stream has no watermarks, hands a time to advance(). No call of a clock a record, and a replay expires what
/// the first run did. An expired entry is never seen again, at the latest one time-to-live later it is swept from memory.
struct TimeToLive {
  enum class Refresh : std::uint8_t { kWrite, kRead };
  EventDuration after{0};             ///< 0: for ever
  Refresh refresh = Refresh::kWrite;  ///< kRead: looking at an entry counts as using it, and as a change
};

}  // namespace sluice
