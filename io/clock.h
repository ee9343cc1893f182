#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include <sluice/io/base/status.h>
#include <sluice/io/executor.h>

namespace sluice::io {

using Monotonic = std::chrono::steady_clock::time_point;
using WallTime = std::chrono::system_clock::time_point;

/// Time, passed in, so that tests turn it by hand. Intervals, deadlines and idleness are measured with now(), never
/// with wall(): a system clock that is set back an hour changes no interval.
///
/// Shard      any; sleep() resumes on the coroutine's own executor.
/// Units      std::chrono.
/// Errors     sleep: kCancelled when the coroutine is cancelled (total) before the time has come.
/// Ownership  outlives all who hold a reference.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Monotonic now() const noexcept = 0;
  [[nodiscard]] virtual WallTime wall() const noexcept = 0;
  [[nodiscard]] virtual asio::awaitable<Status> sleep_until(Monotonic when) = 0;
  [[nodiscard]] asio::awaitable<Status> sleep(std::chrono::nanoseconds duration) {
    return sleep_until(now() + std::chrono::duration_cast<Monotonic::duration>(duration));
  }
};

/// The machine's clock.
Clock& system_clock() noexcept;

/// A clock that moves when told to; sleepers wake on their own executor when advance() passes their time. Any thread.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(WallTime start = WallTime{});
  ~FakeClock() override;
  [[nodiscard]] Monotonic now() const noexcept override;
  [[nodiscard]] WallTime wall() const noexcept override;
  [[nodiscard]] asio::awaitable<Status> sleep_until(Monotonic when) override;
  void advance(std::chrono::nanoseconds by);
  /// Moves the wall clock only, like an operator who sets the system's time.
  void set_wall(WallTime to);
  [[nodiscard]] std::size_t sleepers() const;
  /// When the first sleeper wakes.
  [[nodiscard]] std::optional<Monotonic> next() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::io
