#pragma once

#include <exception>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <sluice/engine/internal/stage.h>
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
void save_states(const StateSet& states, const Context& context, CheckpointData& into);

template <class In, class Out>
class OperatorTail final : public Tail<In> {
 public:
  OperatorTail(Context context, const CheckpointData* restored, std::unique_ptr<Operator<In, Out>> op,
               std::unique_ptr<Tail<Out>> next)
      : context_(std::move(context)), restored_(restored), operator_(std::move(op)), next_(std::move(next)) {}

  asio::awaitable<Status> open() override {
    Status opened = co_await next_->open();
    if (!opened.ok()) co_return opened;
    operator_->declare(states_);
    if (restored_ != nullptr) {
      Status restored = restore_states(states_, *restored_, context_);
      if (!restored.ok()) co_return restored;
    }
    auto call = [this] { return operator_->open(context_); };
    co_return guarded(context_.operator_id, call);
  }
  asio::awaitable<Status> push(Batch<In> batch) override {
    Collector<Out> out(batch);
    auto call = [&] { return operator_->process(batch, out); };
    Status processed = guarded(context_.operator_id, call);
    if (!processed.ok()) co_return processed;
    for (Batch<Out>& made : out.take()) {
      Status pushed = co_await next_->push(std::move(made));
      if (!pushed.ok()) co_return pushed;
    }
    co_return Status();
  }
  asio::awaitable<Status> control(Control control, CheckpointData& acknowledged) override {
    if (control.kind == Control::Kind::kBarrier) {
      auto call = [&] {
        operator_->snapshot_state(control.epoch);
        save_states(states_, context_, acknowledged);
        return Status();
      };
      Status saved = guarded(context_.operator_id, call);
      if (!saved.ok()) co_return saved;
    } else if (control.kind == Control::Kind::kWatermark || control.kind == Control::Kind::kEnd) {
      Collector<Out> out;
      auto call = [&] {
        return control.kind == Control::Kind::kEnd ? operator_->end_of_input(out)
                                                   : operator_->on_watermark(control.time, out);
      };
      Status called = guarded(context_.operator_id, call);
      if (!called.ok()) co_return called;
      for (Batch<Out>& made : out.take()) {
        Status pushed = co_await next_->push(std::move(made));
        if (!pushed.ok()) co_return pushed;
      }
    }
    Status passed = co_await next_->control(control, acknowledged);
    co_return passed;
  }
  asio::awaitable<Status> wake() override { return next_->wake(); }
  void notify(Epoch epoch, bool complete) override {
    if (complete) {
      operator_->notify_checkpoint_complete(epoch);
    } else {
      operator_->notify_checkpoint_aborted(epoch);
    }
    next_->notify(epoch, complete);
  }
  asio::awaitable<Status> close() override {
    auto call = [this] {
      operator_->close();
      return Status();
    };
    Status mine = guarded(context_.operator_id, call);
    Status closed = co_await next_->close();
    co_return mine.ok() ? closed : mine;
  }

 private:
  const Context context_;
  const CheckpointData* restored_;  // Lives until all shards are open.
  StateSet states_;
  std::unique_ptr<Operator<In, Out>> operator_;
  std::unique_ptr<Tail<Out>> next_;
};

}  // namespace sluice::internal
