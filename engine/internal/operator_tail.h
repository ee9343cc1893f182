#pragma once

#include <algorithm>
#include <exception>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <sluice/engine/internal/stage.h>
#include <sluice/engine/internal/state_saver.h>
#include <sluice/engine/internal/tail.h>
#include <sluice/engine/operator.h>

namespace sluice::internal {

/// Only user code throws above io/; here it is caught. The attempt ends, the restart strategy decides what follows.
template <class Call>
[[nodiscard]] Status guarded(const std::string& operator_id, Call&& call) {
  try {
    return call();
  } catch (const std::exception& thrown) {
    return Status(Code::kRecover, "operator", fmt::format("\"{}\"", operator_id), "threw:", thrown.what());
  } catch (...) {
    return Status(Code::kRecover, "operator", fmt::format("\"{}\"", operator_id), "threw something that is no std::exception");
  }
}

/// Hands the states of `restored` that belong to this operator to their containers; a type that differs is refused.
[[nodiscard]] Status restore_states(const StateSet& states, const CheckpointData& restored, const Context& context);

/// The second way out of an operator that has one.
template <class In>
class SideExit {
 public:
  virtual ~SideExit() = default;
  /// Around each call of the operator: where its records come from (null: between batches), and what it put aside.
  virtual void begin(const Batch<In>* batch) = 0;
  [[nodiscard]] virtual asio::awaitable<Status> push() = 0;
  [[nodiscard]] virtual TailBase& tail() noexcept = 0;
};

template <class In, class Out, class Side>
class SideExitTo final : public SideExit<In> {
 public:
  SideExitTo(SideOperator<In, Out, Side>& op, std::unique_ptr<Tail<Side>> tail) : operator_(op), tail_(std::move(tail)) {}
  void begin(const Batch<In>* batch) override { operator_.begin_side(batch); }
  asio::awaitable<Status> push() override {
    std::vector<Batch<Side>> aside = operator_.take_side();
    for (Batch<Side>& made : aside) {
      Status pushed = co_await tail_->push(std::move(made));
      if (!pushed.ok()) co_return pushed;
    }
    co_return Status();
  }
  TailBase& tail() noexcept override { return *tail_; }

 private:
  SideOperator<In, Out, Side>& operator_;
  std::unique_ptr<Tail<Side>> tail_;
};

template <class In, class Out>
class OperatorTail final : public Tail<In> {
 public:
  /// `side`: the second way out; null for an operator that has one only.
  OperatorTail(Context context, const CheckpointData* restored, std::unique_ptr<Operator<In, Out>> op,
               std::unique_ptr<Tail<Out>> next, std::unique_ptr<SideExit<In>> side = nullptr)
      : context_(std::move(context)),
        restored_(restored),
        operator_(std::move(op)),
        next_(std::move(next)),
        side_(std::move(side)) {}

  asio::awaitable<Status> open() override {
    Status opened = co_await next_->open();
    if (!opened.ok()) co_return opened;
    if (side_) {
      opened = co_await side_->tail().open();
      if (!opened.ok()) co_return opened;
    }
    operator_->declare(states_);
    saver_.watch(states_);
    for (const auto& [name, state] : states_.all()) state->open(context_);
    if (restored_ != nullptr) {
      Status restored = restore_states(states_, *restored_, context_);
      if (!restored.ok()) co_return restored;
    }
    auto call = [this] { return operator_->open(context_); };
    co_return guarded(context_.operator_id, call);
  }
  asio::awaitable<Status> push(Batch<In> batch) override {
    Collector<Out> out(batch);
    if (side_) side_->begin(&batch);
    auto call = [&] { return operator_->process(batch, out); };
    Status processed = guarded(context_.operator_id, call);
    if (!processed.ok()) co_return processed;
    processed = co_await hand_on(out);
    co_return processed;
  }
  asio::awaitable<Status> control(Control control, CheckpointData& acknowledged) override {
    if (control.kind == Control::Kind::kBarrier) {
      auto call = [&] {
        operator_->snapshot_state(control.epoch);
        saver_.save(control.epoch, context_, acknowledged);
        return Status();
      };
      Status saved = guarded(context_.operator_id, call);
      if (!saved.ok()) co_return saved;
    } else if (control.kind == Control::Kind::kWatermark || control.kind == Control::Kind::kEnd) {
      Collector<Out> out;
      if (side_) side_->begin(nullptr);
      auto call = [&] {
        return control.kind == Control::Kind::kEnd ? operator_->end_of_input(out)
                                                   : operator_->on_watermark(control.time, out);
      };
      Status called = guarded(context_.operator_id, call);
      if (!called.ok()) co_return called;
      called = co_await hand_on(out);
      if (!called.ok()) co_return called;
    }
    Status passed = co_await next_->control(control, acknowledged);
    if (!passed.ok() || !side_) co_return passed;
    passed = co_await side_->tail().control(control, acknowledged);
    co_return passed;
  }
  asio::awaitable<Status> wake() override {
    Status woken = co_await next_->wake();
    if (!woken.ok() || !side_) co_return woken;
    woken = co_await side_->tail().wake();
    co_return woken;
  }
  io::Monotonic deadline() override {
    io::Monotonic first = std::min(operator_->deadline(), next_->deadline());
    if (side_) first = std::min(first, side_->tail().deadline());
    return first;
  }
  asio::awaitable<Status> tick(io::Monotonic now) override {
    if (operator_->deadline() <= now) {
      Collector<Out> out;
      if (side_) side_->begin(nullptr);
      auto call = [&] { return operator_->on_deadline(now, out); };
      Status called = guarded(context_.operator_id, call);
      if (!called.ok()) co_return called;
      called = co_await hand_on(out);
      if (!called.ok()) co_return called;
    }
    Status ticked = co_await next_->tick(now);
    if (!ticked.ok() || !side_) co_return ticked;
    ticked = co_await side_->tail().tick(now);
    co_return ticked;
  }
  void notify(Epoch epoch, bool complete) override {
    if (complete) {
      saver_.confirm(epoch);
      operator_->notify_checkpoint_complete(epoch);
    } else {
      operator_->notify_checkpoint_aborted(epoch);
    }
    next_->notify(epoch, complete);
    if (side_) side_->tail().notify(epoch, complete);
  }
  asio::awaitable<Status> close() override {
    auto call = [this] {
      operator_->close();
      return Status();
    };
    Status mine = guarded(context_.operator_id, call);
    Status closed = co_await next_->close();
    if (mine.ok()) mine = std::move(closed);
    if (side_) {
      Status aside = co_await side_->tail().close();
      if (mine.ok()) mine = std::move(aside);
    }
    co_return mine;
  }

 private:
  asio::awaitable<Status> hand_on(Collector<Out>& out) {
    for (Batch<Out>& made : out.take()) {
      Status pushed = co_await next_->push(std::move(made));
      if (!pushed.ok()) co_return pushed;
    }
    if (!side_) co_return Status();
    Status pushed = co_await side_->push();
    co_return pushed;
  }

  const Context context_;
  const CheckpointData* restored_;  // Lives until all shards are open.
  StateSet states_;
  StateSaver saver_;
  std::unique_ptr<Operator<In, Out>> operator_;
  std::unique_ptr<Tail<Out>> next_;
  std::unique_ptr<SideExit<In>> side_;  // Knows the operator: goes before it.
};

}  // namespace sluice::internal
