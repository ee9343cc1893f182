#pragma once

#include <optional>
#include <utility>
#include <vector>

#include <sluice/engine/batch.h>
#include <sluice/engine/collector.h>
#include <sluice/engine/context.h>
#include <sluice/engine/state.h>
#include <sluice/io/base/status.h>

namespace sluice {

/// A step of the pipeline that is called once a batch. One instance a shard; never called while it is in a call.
///
/// Shard      its own, all calls.
/// Suspends   never: a batch is one plain loop, so a barrier always finds the operator between batches.
/// Errors     a Status that is not ok, or an exception, ends the attempt; the job's restart strategy decides what follows.
/// State      containers that are named in declare(); they hold the restored values when open() is called.
template <class In, class Out>
class Operator {
 public:
  virtual ~Operator() = default;
  virtual void declare(StateSet&) {}
  [[nodiscard]] virtual Status open(const Context&) { return {}; }
  [[nodiscard]] virtual Status process(const Batch<In>& batch, Collector<Out>& out) = 0;
  [[nodiscard]] virtual Status on_watermark(EventTime, Collector<Out>&) { return {}; }
  [[nodiscard]] virtual Status end_of_input(Collector<Out>&) { return {}; }
  /// When on_deadline() is to be called, though nothing comes. Asked between batches; not for timers of keys: those are in
  /// engine/timers.h, and process functions have them.
  [[nodiscard]] virtual io::Monotonic deadline() { return io::Monotonic::max(); }
  [[nodiscard]] virtual Status on_deadline(io::Monotonic /*now*/, Collector<Out>&) { return {}; }
  /// Barrier `epoch`, just before the declared states are taken.
  virtual void snapshot_state(Epoch) {}
  virtual void notify_checkpoint_complete(Epoch) {}
  virtual void notify_checkpoint_aborted(Epoch) {}
  virtual void close() {}
};

/// An operator with a second way out: what is refused, late, or of another kind. Both ways are as exact as one: what went aside
/// before a barrier is in front of it on the other stream too.
///
/// Shard, Suspends, Errors, State   as Operator's.
/// Ownership  what goes aside may point into the input batch, or into side().arena().
template <class In, class Out, class Side>
class SideOperator : public Operator<In, Out> {
 public:
  /// For the engine: around each call that may put something aside.
  void begin_side(const Batch<In>* from) { from_ = from; }
  [[nodiscard]] std::vector<Batch<Side>> take_side() {
    from_ = nullptr;
    if (!side_) return {};
    std::vector<Batch<Side>> made = side_->take();
    side_.reset();
    return made;
  }

 protected:
  /// Where the other records go; made when the first of a batch does, so a way that is not taken costs nothing. Within process(),
  /// on_watermark() and end_of_input() only. Give the event time with the record: `side().emit(record, time)`.
  [[nodiscard]] Collector<Side>& side() {
    if (!side_) [[unlikely]] from_ != nullptr ? side_.emplace(*from_) : side_.emplace();
    return *side_;
  }

 private:
  const Batch<In>* from_ = nullptr;
  std::optional<Collector<Side>> side_;
};

}  // namespace sluice
