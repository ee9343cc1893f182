#pragma once

#include <memory>

#include <sluice/io/base/status.h>
#include <sluice/io/executor.h>

namespace sluice::io {

/// Owns the coroutines that are spawned into it: nothing runs detached, nothing outlives its scope.
///
/// Shard      of its executor, all calls; asserted.
/// Errors     the first child that ends with a failure other than kCancelled stops its siblings, and join() returns
///            that failure. An exception that escapes a child becomes kInvalid with its text; std::bad_alloc
///            becomes kRecover.
/// Ownership  the destructor requires that join() has returned (asserted), or that nothing was ever spawned.
///
///     Scope scope(executor);
///     scope.spawn(serve(inbox));
///     …
///     scope.stop();                               // children see kCancelled at their next wait
///     const Status ended = co_await scope.join();  // when the last child is gone
class Scope {
 public:
  explicit Scope(Executor executor);
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope();

  void spawn(asio::awaitable<Status> child);
  /// Asks every child to stop: total cancellation. Idempotent.
  void stop() noexcept;
  [[nodiscard]] bool stopping() const noexcept;
  /// Waits for all children, those spawned meanwhile too. A cancellation of the joiner is passed to the children;
  /// it still waits for them.
  [[nodiscard]] asio::awaitable<Status> join();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

/// Runs `work` to its end whatever the caller's cancellation state; the reason stands at each call.
template <class T>
[[nodiscard]] asio::awaitable<T> shield(asio::awaitable<T> work);

}  // namespace sluice::io

#include <sluice/io/internal/shield.h>  // IWYU pragma: export
