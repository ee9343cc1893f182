#pragma once

#include <memory>
#include <string>
#include <vector>

#include <sluice/engine/batch.h>
#include <sluice/engine/context.h>
#include <sluice/engine/snapshot.h>
#include <sluice/io/base/result.h>

namespace sluice {

/// Writes what reaches its shard. One instance a shard.
///
/// Shard      its own, all calls.
/// Suspends   write() waits under back-pressure.
/// Errors     kCancelled, kRecover (restart from the last decided checkpoint), kInvalid and kExhausted (stop).
template <class T>
class SinkWriter {
 public:
  virtual ~SinkWriter() = default;
  [[nodiscard]] virtual asio::awaitable<Status> open(const Context&) { co_return Status(); }
  /// Hands `batch` over. Records that can never be written (too large) go to `rejected` with headers that say why, where the
  /// sink's policy is to send them on; otherwise they fail with kExhausted.
  [[nodiscard]] virtual asio::awaitable<Status> write(Batch<T> batch, std::vector<Batch<Record>>& rejected) = 0;
  /// Barrier `epoch`: everything before it is handed over (step 2), or prepared so that it can be finished after a crash, and
  /// described in `prepared`. What is written next belongs to the epoch after it.
  [[nodiscard]] virtual asio::awaitable<Status> prepare(Epoch, std::string& /*prepared*/) { co_return Status(); }
  [[nodiscard]] virtual asio::awaitable<Status> close() { co_return Status(); }
};

/// One object a job, on the control thread; makes the writers, and takes part in commits.
template <class T>
class Sink {
 public:
  virtual ~Sink() = default;
  [[nodiscard]] virtual std::string describe() const = 0;
  /// Everything that can be known before anything is fenced or written; offers its decider to the attempt where it has one.
  [[nodiscard]] virtual asio::awaitable<Status> check(Attempt&, const std::string& id) = 0;
  /// After the claim: the writers may be made.
  [[nodiscard]] virtual asio::awaitable<Status> start(Attempt&) { co_return Status(); }
  [[nodiscard]] virtual std::unique_ptr<SinkWriter<T>> writer(Attempt&, ShardId) = 0;
  /// Output behind a barrier must not be handed over before the epoch before it is decided: the runtime holds it.
  [[nodiscard]] virtual bool holds() const noexcept { return false; }
  /// Step 4 for sinks whose commit is not the decision: all that was handed over is acknowledged.
  [[nodiscard]] virtual asio::awaitable<Status> delivered(Attempt&) { co_return Status(); }
  /// After the decision of `epoch`: finish what was prepared (renames). Idempotent; retried until it succeeds.
  [[nodiscard]] virtual asio::awaitable<Status> commit(Epoch, std::vector<PreparedOutput>) { co_return Status(); }
  /// After a restore of `decided`: finish what it prepared.
  [[nodiscard]] virtual asio::awaitable<Status> recover(Epoch decided, std::vector<PreparedOutput> prepared) {
    return commit(decided, std::move(prepared));
  }
  /// End of an attempt, after all writers are closed and gone.
  [[nodiscard]] virtual asio::awaitable<Status> close(Attempt&) { co_return Status(); }
};

}  // namespace sluice
