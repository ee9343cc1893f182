#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include <sluice/engine/element.h>

namespace sluice::internal {

/// What several inputs know of time, as one. The minimum over active inputs, and never back; where all are idle, the maximum of what
/// they had said. An input that has ended says nothing any more, and one that is idle has not: so the end of time comes when all of
/// them have ended, not before.
///
/// All shards behind an exchange hear the same of each sender, but not in one order between the senders. They must agree on the
/// watermark at a barrier all the same (it is part of the checkpoint, and keys move). So an input that was idle is waited for again
/// from the next barrier on: between two barriers everything that can happen moves the result one way, forwards, and in the end it
/// does not matter what came first.
class MergedWatermark {
 public:
  /// What those behind are told.
  struct Said {
    std::optional<EventTime> watermark;
    std::optional<bool> idle;
  };

  void add_input() { inputs_.emplace_back(); }
  /// A watermark, "idle", "active" or "end of input" of one input.
  [[nodiscard]] Said take(std::size_t i, const Control& control) {
    Input& input = inputs_[i];
    switch (control.kind) {
      case Control::Kind::kIdle:
        input.idle = input.left_out = true;
        break;
      case Control::Kind::kActive:
        input.idle = false;
        break;
      case Control::Kind::kWatermark:
        if (control.time == EventTime::max()) input.ended = true;
        else input.watermark = std::max(input.watermark, control.time);
        break;
      case Control::Kind::kEnd:
        input.ended = true;
        break;
      case Control::Kind::kBarrier:
        break;
    }
    return say();
  }
  /// The barrier has come from all inputs. Who is waited for again can only hold the watermark, so there is nothing to be said.
  void pass_barrier() noexcept {
    for (Input& input : inputs_) input.left_out = input.idle;
  }
  [[nodiscard]] EventTime watermark() const noexcept { return watermark_; }

 private:
  struct Input {
    EventTime watermark = EventTime::min();  // The last one before the end of time.
    bool idle = false;
    bool left_out = false;  // Idle now, or since the last barrier.
    bool ended = false;
  };

  [[nodiscard]] Said say() {
    EventTime least = EventTime::max(), most = EventTime::min();
    bool waited_for = false, idle = true, ended = true;
    for (const Input& input : inputs_) {
      most = std::max(most, input.watermark);
      if (input.ended) continue;
      ended = false;
      idle = idle && input.idle;
      if (input.left_out) continue;
      waited_for = true;
      least = std::min(least, input.watermark);
    }
    Said said;
    const EventTime now = ended ? EventTime::max() : waited_for ? least : most;
    if (now > watermark_) said.watermark = watermark_ = now;
    if (idle != idle_ && !ended) said.idle = idle_ = idle;
    return said;
  }

  std::vector<Input> inputs_;
  EventTime watermark_ = EventTime::min();
  bool idle_ = false;
};

}  // namespace sluice::internal
