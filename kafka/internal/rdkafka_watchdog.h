#pragma once

#include <sluice/io/clock.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace sluice::kafka::internal {

/// Ends the process when a blocking call of the client library does not come back: exit status 1,
/// for a supervisor to restart. librdkafka 2.0.2 ignores the timeout of send_offsets while the
/// group's coordinator is gone.
///
/// Shard      any.
/// Ownership  one for the process; its thread starts with the first guard.
///
///     const Watchdog::Guard guard = Watchdog::of_process().watch(deadline, "send offsets of group
///     orders");
class Watchdog {
 public:
  static constexpr std::chrono::seconds kGrace{
      10};  ///< behind the deadline, for a machine that is merely slow

  class Guard {
   public:
    Guard(Guard&& other) noexcept : dog_(std::exchange(other.dog_, nullptr)), id_(other.id_) {}
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    ~Guard();

   private:
    friend class Watchdog;
    Guard(Watchdog* dog, std::uint64_t id) : dog_(dog), id_(id) {}
    Watchdog* dog_;
    std::uint64_t id_;
  };

  static Watchdog& of_process();
  /// Until the guard is gone; `what` completes "gave up waiting to …".
  [[nodiscard]] Guard watch(io::Monotonic deadline, std::string what);
  Watchdog() = default;
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog();

 private:
  struct Call {
    io::Monotonic end;
    std::string what;
  };
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, Call> calls_;
  std::uint64_t last_id_ = 0;
  io::Monotonic waits_until_ = io::Monotonic::max();
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace sluice::kafka::internal
