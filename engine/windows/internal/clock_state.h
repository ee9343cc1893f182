#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/engine/codec.h>
#include <sluice/engine/context.h>
#include <sluice/engine/event_time.h>
#include <sluice/engine/internal/deadline.h>
#include <sluice/engine/state.h>

namespace sluice::internal {

/// How far the clock had come for each instance of an operator at a barrier. Unlike a watermark it differs between them, and keys move
/// when shards do: so a restored instance knows it by key group, and a window that has spoken on one shard is not heard of again on
/// another, nor is one forgotten that had not spoken.
///
/// Its bytes: shard (2) and shards (2) of who wrote them, time (8).
class ClockState final : public State {
 public:
  explicit ClockState(EventTime before = kNoEventTime) : now(before) {}
  /// Of this instance.
  EventTime now;

  /// Of the instance that a key group was with before the restore.
  [[nodiscard]] EventTime of(KeyGroup group) const noexcept { return was_[group.value()]; }
  /// The first and the last of those whose key groups are here; kNoEventTime where nothing was restored.
  [[nodiscard]] EventTime first() const noexcept { return first_; }
  [[nodiscard]] EventTime last() const noexcept { return last_; }
  /// Of all instances there were: where clocks go on, so that those of an operator stay together.
  [[nodiscard]] EventTime latest() const noexcept { return latest_; }

  void open(const Context& context) override {
    shard_ = context.shard;
    shards_ = context.parallelism;
    was_.assign(context.key_groups.count(), kNoEventTime);
  }
  [[nodiscard]] std::string type() const override { return "clock"; }
  void save(std::string& out) const override {
    Codec<std::uint16_t>::write(shard_.value(), out);
    Codec<std::uint16_t>::write(shards_, out);
    Codec<EventTime>::write(now, out);
  }
  [[nodiscard]] Status restore(std::string_view bytes, const Context& context) override {
    std::uint16_t shard = 0, shards = 0;
    EventTime time;
    if (!Codec<std::uint16_t>::read(bytes, shard) || !Codec<std::uint16_t>::read(bytes, shards) ||
        !Codec<EventTime>::read(bytes, time) || !bytes.empty() || shards == 0) {
      return Status(Code::kCorrupt, "the clock of operator", context.operator_id, "is no time");
    }
    latest_ = std::max(latest_, time);
    for (std::uint16_t i = 0; i < was_.size(); ++i) {
      const KeyGroup group(i);
      if (context.key_groups.owner(group, shards).value() != shard) continue;
      was_[i] = time;
      if (context.key_groups.owner(group, context.parallelism) != context.shard) continue;
      first_ = restored_ ? std::min(first_, time) : time;
      last_ = std::max(last_, time);
      restored_ = true;
    }
    return {};
  }

 private:
  ShardId shard_;
  std::uint16_t shards_ = 1;
  std::vector<EventTime> was_;  // By key group.
  EventTime first_ = kNoEventTime, last_ = kNoEventTime, latest_ = kNoEventTime;
  bool restored_ = false;
};

/// The clock of an operator: processing time as process functions have it (ProcessingClock), but never behind what it was before a
/// restart. Read once a batch and once a deadline.
class OperatorClock {
 public:
  void open(io::Clock& machine, EventTime at_least) {
    machine_ = &machine;
    clock_.open(machine, at_least);
  }
  [[nodiscard]] EventTime now() const { return clock_.at(machine_->now()); }
  [[nodiscard]] EventTime at(io::Monotonic now) const { return clock_.at(now); }
  [[nodiscard]] io::Monotonic when(EventTime time) const { return clock_.when(time); }

 private:
  ProcessingClock clock_;
  io::Clock* machine_ = nullptr;
};

}  // namespace sluice::internal
