#pragma once

#include "nexmark/events.h"

#include <chrono>
#include <variant>

#include <sluice/engine/watermarks.h>

namespace sluice::nexmark {

inline constexpr EventDuration kDisorder = std::chrono::seconds(4);  ///< the watermark is so far behind, as in the original

[[nodiscard]] inline EventTime event_time_of(std::int64_t time_ms) noexcept { return EventTime(EventDuration(time_ms)); }
[[nodiscard]] inline std::int64_t ms_of(EventTime time) noexcept { return time.time_since_epoch().count(); }

/// For records with a member time_ms.
template <class T>
[[nodiscard]] Watermarks<T> time_of() {
  return bounded_out_of_orderness<T>(kDisorder, [](const T& record) { return event_time_of(record.time_ms); });
}
template <>
[[nodiscard]] inline Watermarks<Event> time_of<Event>() {
  return bounded_out_of_orderness<Event>(kDisorder, [](const Event& event) {
    if (const Bid* bid = std::get_if<Bid>(&event)) [[likely]] return event_time_of(bid->time_ms);
    return std::visit([](const auto& kind) { return event_time_of(kind.time_ms); }, event);
  });
}

}  // namespace sluice::nexmark
