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

/// Several tails behind one point. Batches go where push() says, everything else to all of them, in their order.
template <class In, class Out>
class FanTail : public Tail<In> {
 public:
  explicit FanTail(std::vector<std::unique_ptr<Tail<Out>>> tails) : tails_(std::move(tails)) {}
  asio::awaitable<Status> open() final {
    for (auto& tail : tails_) {
      Status opened = co_await tail->open();
      if (!opened.ok()) co_return opened;
    }
    co_return Status();
  }
  asio::awaitable<Status> control(Control control, CheckpointData& acknowledged) final {
    for (auto& tail : tails_) {
      Status passed = co_await tail->control(control, acknowledged);
      if (!passed.ok()) co_return passed;
    }
    co_return Status();
  }
  asio::awaitable<Status> wake() final {
    for (auto& tail : tails_) {
      Status woken = co_await tail->wake();
      if (!woken.ok()) co_return woken;
    }
    co_return Status();
  }
  io::Monotonic deadline() final {
    io::Monotonic first = kNoDeadline;
    for (auto& tail : tails_) first = std::min(first, tail->deadline());
    return first;
  }
  asio::awaitable<Status> tick(io::Monotonic now) final {
    for (auto& tail : tails_) {
      Status ticked = co_await tail->tick(now);
      if (!ticked.ok()) co_return ticked;
    }
    co_return Status();
  }
  void notify(Epoch epoch, bool complete) final {
    for (auto& tail : tails_) tail->notify(epoch, complete);
  }
  asio::awaitable<Status> close() final {
    Status first;
    for (auto& tail : tails_) {
      Status closed = co_await tail->close();
      if (first.ok()) first = std::move(closed);
    }
    co_return first;
  }

 protected:
  const std::vector<std::unique_ptr<Tail<Out>>> tails_;
};

/// A stream with several readers: each gets every element. Records are copied, their memory is shared.
template <class T>
class TeeTail final : public FanTail<T, T> {
 public:
  using FanTail<T, T>::FanTail;
  asio::awaitable<Status> push(Batch<T> batch) override {
    const auto& branches = this->tails_;
    for (std::size_t i = 0; i + 1 < branches.size(); ++i) {
      Batch<T> copy = batch;
      Status pushed = co_await branches[i]->push(std::move(copy));
      if (!pushed.ok()) co_return pushed;
    }
    if (branches.empty()) co_return Status();  // Nobody reads this stream.
    Status pushed = co_await branches.back()->push(std::move(batch));
    co_return pushed;
  }
};

}  // namespace sluice::internal
