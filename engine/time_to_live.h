#pragma once

#include <cstdint>

#include <sluice/engine/event_time.h>

namespace sluice {

/// How long an entry of keyed state lives without being used. In a process function it goes by event time: a record or timer finds an entry
/// unless that was used a time-to-live before the record's own time, or before the watermark; the watermark sweeps. So it does not matter
/// where polls and batches begin, and a replay expires what the first run did. An operator of its own hands a time to advance(), be it the
/// watermark or a clock. An expired entry is never seen again, and at the latest one time-to-live later it is swept from memory.
struct TimeToLive {
  enum class Refresh : std::uint8_t { kWrite, kRead };
  EventDuration after{0};             ///< 0: for ever
  Refresh refresh = Refresh::kWrite;  ///< kRead: looking at an entry counts as using it, and as a change
};

}  // namespace sluice
