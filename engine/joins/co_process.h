#pragma once

#include <utility>

#include <sluice/engine/function.h>
#include <sluice/engine/joins/co_operator.h>

/// What ConnectedStreams::process accepts beside an operator: a class that is told of each record.
///   void left(const L& record, EventTime time, Collector<Out>& out)      or with one more argument, Collector<Side>& side
///   void right(const R& record, EventTime time, Collector<Out>& out)
/// L and R are Keyed<Key, …>: the key stands beside the record. `time` is kNoEventTime in a stream without. It may also have any of the
/// members that engine/function.h names (declare, open, close, check, …), and
///   void on_watermark(EventTime watermark, Collector<Out>& out)
///   void end_of_input(Collector<Out>& out)
/// One copy a shard. Results are emitted with their event time: `out.emit(result, time)`.
namespace sluice::internal {

/// The calls that differ not at all with or without a second way out.
template <class F, class Base, class Out>
class CoProcessBase : public Base {
 public:
  explicit CoProcessBase(F f) : f_(std::move(f)) {}
  void declare(StateSet& states) override {
    if constexpr (requires { f_.declare(states); }) f_.declare(states);
  }
  Status open(const Context& context) override {
    SLUICE_TRY(check_function(f_));
    if constexpr (requires { { f_.open(context) } -> std::same_as<Status>; }) {
      return f_.open(context);
    } else if constexpr (requires { f_.open(context); }) {
      f_.open(context);
    }
    return {};
  }
  Status on_watermark(EventTime watermark, Collector<Out>& out) override {
    if constexpr (requires { f_.on_watermark(watermark, out); }) f_.on_watermark(watermark, out);
    return {};
  }
  Status end_of_input(Collector<Out>& out) override {
    if constexpr (requires { f_.end_of_input(out); }) f_.end_of_input(out);
    return {};
  }
  void snapshot_state(Epoch epoch) override {
    if constexpr (requires { f_.snapshot_state(epoch); }) f_.snapshot_state(epoch);
  }
  void notify_checkpoint_complete(Epoch epoch) override {
    if constexpr (requires { f_.notify_checkpoint_complete(epoch); }) f_.notify_checkpoint_complete(epoch);
  }
  void notify_checkpoint_aborted(Epoch epoch) override {
    if constexpr (requires { f_.notify_checkpoint_aborted(epoch); }) f_.notify_checkpoint_aborted(epoch);
  }
  void close() override {
    if constexpr (requires { f_.close(); }) f_.close();
  }

 protected:
  template <class T, class Call>
  static Status each(const Batch<T>& batch, Call&& call) {
    const bool timed = !batch.times().empty();
    for (std::size_t i = 0; i < batch.size(); ++i) call(batch[i], timed ? batch.times()[i] : kNoEventTime);
    return {};
  }
  F f_;
};

template <class L, class R, class Out, class F>
class CoProcess final : public CoProcessBase<F, TwoInputOperator<L, R, Out>, Out> {
 public:
  using CoProcessBase<F, TwoInputOperator<L, R, Out>, Out>::CoProcessBase;
  Status process_left(const Batch<L>& batch, Collector<Out>& out) override {
    return this->each(batch, [&](const L& record, EventTime time) { this->f_.left(record, time, out); });
  }
  Status process_right(const Batch<R>& batch, Collector<Out>& out) override {
    return this->each(batch, [&](const R& record, EventTime time) { this->f_.right(record, time, out); });
  }
};

template <class L, class R, class Out, class Side, class F>
class CoSideProcess final : public CoProcessBase<F, TwoInputSideOperator<L, R, Out, Side>, Out> {
 public:
  using CoProcessBase<F, TwoInputSideOperator<L, R, Out, Side>, Out>::CoProcessBase;
  Status process_left(const Batch<L>& batch, Collector<Out>& out) override {
    return this->each(batch, [&](const L& record, EventTime time) { this->f_.left(record, time, out, this->side()); });
  }
  Status process_right(const Batch<R>& batch, Collector<Out>& out) override {
    return this->each(batch, [&](const R& record, EventTime time) { this->f_.right(record, time, out, this->side()); });
  }
};

}  // namespace sluice::internal
