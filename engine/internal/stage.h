#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sluice/engine/context.h>
#include <sluice/engine/element.h>
#include <sluice/engine/internal/alarm.h>
#include <sluice/engine/internal/split_watch.h>
#include <sluice/engine/internal/tail.h>
#include <sluice/engine/snapshot.h>
#include <sluice/engine/watermark_status.h>
#include <sluice/io/event.h>

namespace sluice::internal {

/// One coroutine of the job on one shard: a source and what follows it, or an inbox and what follows that.
/// All members on its shard.
class Stage {
 public:
  Stage(std::string id, io::Executor executor, io::Clock* clock, std::shared_ptr<std::atomic<std::uint64_t>> activity)
      : id_(std::move(id)), doorbell_(executor), home_(std::move(executor)), clock_(clock), flowed_(std::move(activity)) {}
  virtual ~Stage() = default;
  [[nodiscard]] const std::string& id() const noexcept { return id_; }
  [[nodiscard]] virtual asio::awaitable<Status> open() = 0;
  [[nodiscard]] virtual asio::awaitable<Status> run() = 0;
  [[nodiscard]] virtual asio::awaitable<Status> close() = 0;

  /// Stages with a source begin a barrier when told; the others when it has reached all of their inputs.
  virtual void request_barrier(Epoch) {}
  /// No more input: drain.
  virtual void request_stop() {}
  virtual void add_split(const SplitPosition&) {}
  void request_notify(Epoch epoch, bool complete) {
    notices_.push_back({epoch, complete});
    doorbell_.set();
  }
  void ring() noexcept { doorbell_.set(); }
  /// Those that no turn of run() has come to.
  virtual void deliver_notices() = 0;

 protected:
  struct Notice {
    Epoch epoch;
    bool complete;
  };
  /// What the doorbell rang for, whatever the stage.
  [[nodiscard]] asio::awaitable<Status> serve(TailBase& tail) {
    deliver_notices(tail);
    Status attended = co_await attend(tail);
    co_return attended;
  }
  /// Released sinks, and deadlines that have come.
  [[nodiscard]] asio::awaitable<Status> attend(TailBase& tail) {
    Status woken = co_await tail.wake();
    if (!woken.ok()) co_return woken;
    const io::Monotonic due = tail.deadline();
    if (due == kNoDeadline) co_return woken;
    const io::Monotonic now = clock_->now();
    if (now < due) co_return woken;
    flowed_->fetch_add(1, std::memory_order_relaxed);  // What comes of it wants to be decided, though no source has moved.
    Status ticked = co_await tail.tick(now);
    co_return ticked;
  }
  /// Until the doorbell rings, or `until` has come.
  [[nodiscard]] asio::awaitable<Status> rest(io::Monotonic until) {
    if (until == kNoDeadline) {
      Status rung = co_await doorbell_.wait();
      co_return rung;
    }
    Status rung = co_await wait_until(home_, doorbell_, *clock_, until);
    co_return rung;
  }
  void deliver_notices(TailBase& tail) {
    while (!notices_.empty()) {
      const Notice notice = notices_.front();
      notices_.pop_front();
      tail.notify(notice.epoch, notice.complete);
      noticed(notice.epoch, notice.complete);
    }
  }
  virtual void noticed(Epoch, bool) {}

  const std::string id_;
  io::Event doorbell_;
  const io::Executor home_;
  io::Clock* const clock_;
  const std::shared_ptr<std::atomic<std::uint64_t>> flowed_;
  std::deque<Notice> notices_;
};

/// What holds output behind a barrier until the coordinator lets it go.
class Holder {
 public:
  virtual ~Holder() = default;
  virtual void request_release() = 0;
};

/// Every shard's inbox of a node, by shard. Filled before anything that feeds one is built, on one shard at a time.
using Inboxes = std::map<const void*, std::vector<void*>>;

/// Everything that is being built for one shard. The runtime passes it through the graph.
struct ShardBuild {
  Attempt* attempt = nullptr;
  Context context;                             ///< operator_id is set by each node
  const CheckpointData* restored = nullptr;    ///< states, from all shards
  const std::vector<SplitPosition>* starts = nullptr;
  std::size_t hold_bytes_max = 0;              ///< of one sink on one shard
  std::function<void(Epoch, CheckpointData)> acknowledge;  ///< to the control thread
  std::function<void()> input_ended;                       ///< to the control thread
  std::shared_ptr<std::atomic<std::uint64_t>> activity;    ///< grows when something flows
  std::vector<std::unique_ptr<Stage>> stages;
  std::vector<Holder*> holders;
  SplitWatch* splits = nullptr;                            ///< of the source whose stage is being built; none elsewhere
  std::shared_ptr<WatermarkBoard> watermarks;
  Inboxes* inboxes = nullptr;                              ///< of all shards; those that feed them come later
};

}  // namespace sluice::internal
