#pragma once

#include <sluice/io/clock.h>
#include <sluice/io/event.h>
#include <sluice/io/scope.h>

namespace sluice::internal {

inline asio::awaitable<Status> ring_at(io::Clock& clock, io::Monotonic when, io::Event& event) {
  const Status slept = co_await clock.sleep_until(when);
  if (slept.ok()) event.set();
  co_return Status();
}

/// Returns when `event` is set or `when` has come; the caller looks which. kCancelled when asked to stop.
inline asio::awaitable<Status> wait_until(io::Executor executor, io::Event& event, io::Clock& clock, io::Monotonic when) {
  io::Scope alarm(std::move(executor));
  alarm.spawn(ring_at(clock, when, event));
  Status waited = co_await event.wait();
  alarm.stop();
  const Status joined = co_await alarm.join();
  co_return waited.ok() ? joined : waited;
}

}  // namespace sluice::internal
