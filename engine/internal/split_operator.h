#pragma once

#include <sluice/engine/batch.h>
#include <sluice/engine/collector.h>
#include <sluice/engine/operator.h>

#include <cstddef>
#include <utility>

namespace sluice::internal {

/// A user's function that sends each record one way, the other, both or neither.
template <class In, class Out, class Side, class F>
class SplitOperator final : public SideOperator<In, Out, Side> {
 public:
  explicit SplitOperator(F f) : f_(std::move(f)) {}

  Status process(const Batch<In>& batch, Collector<Out>& out) override {
    Arena& arena = out.arena();
    EventTime time = kNoEventTime;
    bool kept = false;
    auto emit = [&out](Out record) { out.emit(std::move(record)); };
    auto aside = [&](Side record) {
      Collector<Side>& side = this->side();
      // What points into the arena may go either way, so both ways keep it.
      if (!std::exchange(kept, true)) side.own(out.shared_arena());
      if (!out.timed()) return side.emit(std::move(record));
      side.emit(std::move(record), time);
    };
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (out.timed()) out.set_time(time = batch.times()[i]);
      f_(batch[i], arena, emit, aside);
    }
    return {};
  }

 private:
  F f_;
};

}  // namespace sluice::internal
