#pragma once

#include <sluice/engine/function.h>
#include <sluice/engine/internal/refusals.h>
#include <sluice/engine/operator.h>

#include <cstddef>
#include <utility>

namespace sluice::internal {

/// A RecordStep as an operator: one loop over a batch, and a second way out for what it refuses.
template <class Step>
class StepOperator final : public SideOperator<Record, Record, Record> {
 public:
  StepOperator(Step step, OnError on_error) : step_(std::move(step)), refusals_(on_error) {}

  void declare(StateSet& states) override {
    if constexpr (Stateful<Step>) step_.declare(states);
  }
  Status open(const Context& context) override {
    SLUICE_TRY(check_function(step_));
    refusals_.open(context);
    if constexpr (requires { { step_.open(context) } -> std::same_as<Status>; }) {
      return step_.open(context);
    } else if constexpr (requires { step_.open(context); }) {
      step_.open(context);
    }
    return {};
  }
  Status process(const Batch<Record>& batch, Collector<Record>& out) override {
    Arena& arena = out.arena();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (out.timed()) out.set_time(batch.times()[i]);
      Record made = batch[i];
      const Outcome outcome = step_.apply(batch[i], arena, made);
      if (outcome == Outcome::kPassed) [[likely]] {
        out.emit(made);
      } else if (outcome == Outcome::kRefused) {
        const auto aside = [this]() -> Collector<Record>& { return this->side(); };
        SLUICE_TRY(refusals_.refuse(batch, i, step_.why(batch[i]), aside));
      }
    }
    return {};
  }
  void snapshot_state(Epoch epoch) override {
    if constexpr (requires { step_.snapshot_state(epoch); }) step_.snapshot_state(epoch);
  }
  void notify_checkpoint_complete(Epoch epoch) override {
    if constexpr (requires { step_.notify_checkpoint_complete(epoch); }) {
      step_.notify_checkpoint_complete(epoch);
    }
  }
  void notify_checkpoint_aborted(Epoch epoch) override {
    if constexpr (requires { step_.notify_checkpoint_aborted(epoch); }) {
      step_.notify_checkpoint_aborted(epoch);
    }
  }
  void close() override {
    if constexpr (requires { step_.close(); }) step_.close();
  }

 private:
  Step step_;
  Refusals refusals_;
};

}  // namespace sluice::internal
