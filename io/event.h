#pragma once

#include <memory>

#include <sluice/io/base/status.h>
#include <sluice/io/executor.h>

namespace sluice::io {

/// A flag that coroutines of one shard wait for; set() may come from any thread (a doorbell), and is remembered until
/// a wait() has taken it.
///
/// Shard      wait() on its executor's; set() on any thread, never blocks, coalesces.
/// Errors     wait: kCancelled.
class Event {
 public:
  explicit Event(Executor executor);
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event();
  void set() noexcept;
  /// Returns at once when set, and clears it. Several waiters: all wake.
  [[nodiscard]] asio::awaitable<Status> wait();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace sluice::io
