#pragma once

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
  /// Barrier `epoch`, just before the declared states are taken.
  virtual void snapshot_state(Epoch) {}
  virtual void notify_checkpoint_complete(Epoch) {}
  virtual void notify_checkpoint_aborted(Epoch) {}
  virtual void close() {}
};

}  // namespace sluice
