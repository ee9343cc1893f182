#pragma once

#include <boost/describe/class.hpp>

#include <sluice/engine/event_time.h>

namespace sluice {

/// A stretch of event time, half-open: a record at `end` belongs to the next one.
struct Window {
  EventTime start{}, end{};
  auto operator<=>(const Window&) const = default;
};
BOOST_DESCRIBE_STRUCT(Window, (), (start, end))

/// What a window says of a key. Its event time is the last millisecond of the window (end - 1 ms), so that windows behind it hold it
/// in the same stretch of time, and a replay of old data is counted as old.
template <class Key, class R>
struct Windowed {
  Key key{};
  Window window{};
  R value{};
  bool operator==(const Windowed&) const = default;
  BOOST_DESCRIBE_CLASS(Windowed, (), (key, window, value), (), ())
};

}  // namespace sluice
