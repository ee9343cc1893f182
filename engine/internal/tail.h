#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <sluice/engine/element.h>
#include <sluice/engine/internal/deadline.h>
#include <sluice/engine/snapshot.h>
#include <sluice/io/base/result.h>
#include <sluice/io/executor.h>

namespace sluice::internal {

/// The rest of a stage behind one point, on one shard: operators, then sinks or lanes to other stages. Elements are pushed
/// through it by the stage's one coroutine, so nothing in it ever meets itself half done.
class TailBase {
 public:
  virtual ~TailBase() = default;
  /// Back to front, so that nothing is pushed into what is not open.
  [[nodiscard]] virtual asio::awaitable<Status> open() = 0;
  /// A barrier adds what it finds to `acknowledged`, back-pressure suspends.
  [[nodiscard]] virtual asio::awaitable<Status> control(Control control, CheckpointData& acknowledged) = 0;
  /// The shard's doorbell rang: sinks look whether they may release what they hold.
  [[nodiscard]] virtual asio::awaitable<Status> wake() = 0;
  /// When an operator of it wants to be called though nothing comes. Asked between batches; whatever has tails behind it passes
  /// this and tick() on.
  [[nodiscard]] virtual io::Monotonic deadline() { return kNoDeadline; }
  /// `now` has come to a deadline.
  [[nodiscard]] virtual asio::awaitable<Status> tick(io::Monotonic) { co_return Status(); }
  virtual void notify(Epoch epoch, bool complete) = 0;
  [[nodiscard]] virtual asio::awaitable<Status> close() = 0;
};

template <class T>
class Tail : public TailBase {
 public:
  [[nodiscard]] virtual asio::awaitable<Status> push(Batch<T> batch) = 0;
};

/// A stream with several readers: each gets every element. Records are copied, their memory is shared.
template <class T>
class TeeTail final : public Tail<T> {
 public:
  explicit TeeTail(std::vector<std::unique_ptr<Tail<T>>> branches) : branches_(std::move(branches)) {}
  asio::awaitable<Status> open() override {
    for (auto& branch : branches_) {
      Status opened = co_await branch->open();
      if (!opened.ok()) co_return opened;
    }
    co_return Status();
  }
  asio::awaitable<Status> push(Batch<T> batch) override {
    for (std::size_t i = 0; i + 1 < branches_.size(); ++i) {
      Batch<T> copy = batch;
      Status pushed = co_await branches_[i]->push(std::move(copy));
      if (!pushed.ok()) co_return pushed;
    }
    if (branches_.empty()) co_return Status();  // Nobody reads this stream.
    Status pushed = co_await branches_.back()->push(std::move(batch));
    co_return pushed;
  }
  asio::awaitable<Status> control(Control control, CheckpointData& acknowledged) override {
    for (auto& branch : branches_) {
      Status passed = co_await branch->control(control, acknowledged);
      if (!passed.ok()) co_return passed;
    }
    co_return Status();
  }
  asio::awaitable<Status> wake() override {
    for (auto& branch : branches_) {
      Status woken = co_await branch->wake();
      if (!woken.ok()) co_return woken;
    }
    co_return Status();
  }
  io::Monotonic deadline() override {
    io::Monotonic first = kNoDeadline;
    for (auto& branch : branches_) first = std::min(first, branch->deadline());
    return first;
  }
  asio::awaitable<Status> tick(io::Monotonic now) override {
    for (auto& branch : branches_) {
      Status ticked = co_await branch->tick(now);
      if (!ticked.ok()) co_return ticked;
    }
    co_return Status();
  }
  void notify(Epoch epoch, bool complete) override {
    for (auto& branch : branches_) branch->notify(epoch, complete);
  }
  asio::awaitable<Status> close() override {
    Status first;
    for (auto& branch : branches_) {
      Status closed = co_await branch->close();
      if (first.ok()) first = std::move(closed);
    }
    co_return first;
  }

 private:
  std::vector<std::unique_ptr<Tail<T>>> branches_;
};

}  // namespace sluice::internal
