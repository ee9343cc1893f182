#pragma once

#include <cstdint>
#include <variant>

#include <sluice/engine/batch.h>
#include <sluice/engine/event_time.h>
#include <sluice/io/base/id.h>

namespace sluice {

/// What stands between batches in a stream, never inside one.
struct Control {
  enum class Kind : std::uint8_t {
    kWatermark,  ///< no record with an earlier event time will follow
    kBarrier,    ///< the end of `epoch`
    kIdle,       ///< nothing for a while: do not wait for this input's watermark
    kEnd,        ///< end of input; a watermark EventTime::max() comes before it
    kActive,     ///< no longer idle
  };
  Kind kind = Kind::kEnd;
  Epoch epoch{0};
  EventTime time = kNoEventTime;
};

template <class T>
using Element = std::variant<Batch<T>, Control>;

}  // namespace sluice
