#pragma once

#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <sluice/engine/function.h>
#include <sluice/engine/internal/refusals.h>
#include <sluice/engine/operator.h>

namespace sluice::internal {

/// Record operators between two seams, as one inlined loop over a batch.
/// (0.3 ns a record and operator with g++ 12, against 1 to 5.5 for a virtual call with a batch between: bench/fused_bench.cc)
template <class In, class Out, class... Steps>
class Fused final : public Operator<In, Out> {
 public:
  explicit Fused(std::tuple<Steps...> steps) : steps_(std::move(steps)) {}

  static constexpr bool kStateful = (Stateful<decltype(Steps::f)> || ...);

  void declare(StateSet& states) override {
    each([&](auto& f) {
      if constexpr (requires { f.declare(states); }) f.declare(states);
    });
  }
  Status open(const Context& context) override {
    id_ = context.operator_id;
    Status opened;
    each([&](auto& f) {
      if (opened.ok()) opened = check_function(f);
    });
    each([&](auto& f) {
      if constexpr (requires { { f.open(context) } -> std::same_as<Status>; }) {
        if (opened.ok()) opened = f.open(context);
      } else if constexpr (requires { f.open(context); }) {
        if (opened.ok()) f.open(context);
      }
    });
    return opened;
  }
  Status process(const Batch<In>& batch, Collector<Out>& out) override {
    Arena* arena = nullptr;
    if constexpr (needs_arena<0, In>()) arena = &out.arena();
    const auto emit = [&out](auto&& record) __attribute__((always_inline)) {
      out.emit(std::forward<decltype(record)>(record));
    };
    if (out.timed()) {
      for (std::size_t i = 0; i < batch.size(); ++i) {
        out.set_time(batch.times()[i]);
        run<0>(batch[i], arena, emit);
        if constexpr (may_fail<0, In>()) {
          if (Status failed = take_failure(); !failed.ok()) [[unlikely]] return at(batch, i, failed);
        }
      }
    } else {
      for (std::size_t i = 0; i < batch.size(); ++i) {
        run<0>(batch[i], arena, emit);
        if constexpr (may_fail<0, In>()) {
          if (Status failed = take_failure(); !failed.ok()) [[unlikely]] return at(batch, i, failed);
        }
      }
    }
    return {};
  }
  void snapshot_state(Epoch epoch) override {
    each([&](auto& f) {
      if constexpr (requires { f.snapshot_state(epoch); }) f.snapshot_state(epoch);
    });
  }
  void notify_checkpoint_complete(Epoch epoch) override {
    each([&](auto& f) {
      if constexpr (requires { f.notify_checkpoint_complete(epoch); }) f.notify_checkpoint_complete(epoch);
    });
  }
  void notify_checkpoint_aborted(Epoch epoch) override {
    each([&](auto& f) {
      if constexpr (requires { f.notify_checkpoint_aborted(epoch); }) f.notify_checkpoint_aborted(epoch);
    });
  }
  void close() override {
    each([](auto& f) {
      if constexpr (requires { f.close(); }) f.close();
    });
  }

 private:
  template <std::size_t I, class Value, class Emit>
  [[gnu::always_inline]] void run(Value&& value, Arena* arena, const Emit& emit) {
    if constexpr (I == sizeof...(Steps)) {
      emit(std::forward<Value>(value));
    } else {
      std::get<I>(steps_).run(std::as_const(value), arena, [&](auto&& result) __attribute__((always_inline)) {
        this->template run<I + 1>(std::forward<decltype(result)>(result), arena, emit);
      });
    }
  }
  template <std::size_t I, class Value>
  static constexpr bool needs_arena() {
    if constexpr (I == sizeof...(Steps)) {
      return false;
    } else {
      using Step = std::tuple_element_t<I, std::tuple<Steps...>>;
      return Step::template kArena<Value> || needs_arena<I + 1, typename Step::template Out<Value>>();
    }
  }
  template <std::size_t I, class Value>
  static constexpr bool may_fail() {
    if constexpr (I == sizeof...(Steps)) {
      return false;
    } else {
      using Step = std::tuple_element_t<I, std::tuple<Steps...>>;
      return Step::template kMayFail<Value> || may_fail<I + 1, typename Step::template Out<Value>>();
    }
  }
  Status take_failure() {
    Status failed;
    std::apply(
        [&](auto&... step) {
          ((step.failed.ok() ? void() : void(failed = std::exchange(step.failed, Status()))), ...);
        },
        steps_);
    return failed;
  }
  /// The failure with the place of the record that met it, where that is known.
  Status at(const Batch<In>& batch, std::size_t index, const Status& failed) const {
    const Record* record = nullptr;
    if constexpr (std::same_as<In, Record>) record = &batch[index];
    return refused_at(id_, batch.split(), record, failed);
  }
  template <class Visit>
  void each(Visit&& visit) {
    std::apply([&](auto&... step) { (visit(step.f), ...); }, steps_);
  }
  std::tuple<Steps...> steps_;
  std::string id_;
};

}  // namespace sluice::internal
