#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <sluice/engine/event_time.h>
#include <sluice/io/event.h>

namespace sluice::internal {

/// How far the splits of a source have come on every shard, for max_drift(): each shard says the least watermark of its own, reads those
/// of the others, and is rung when what it holds back may go on. Two shards meet in one line of memory each; nobody waits here.
///
/// A shard that holds splits back says first what it waits for and then looks again; one that moves says so first and then looks who
/// waits. Both in one order for all (seq_cst), so one of the two always sees the other and no split is left behind.
///
/// Shard      join() while shards are opened, one at a time; the others of a slot on its shard. A call a poll, none a record.
/// Errors     none.
/// Ownership  doorbells outlive all calls: stages of all shards are joined before the first is closed.
class Drift {
 public:
  /// Nobody: a shard all of whose splits are silent, or have ended, or that has none.
  static constexpr EventTime kNobody = EventTime::max();

  explicit Drift(std::size_t shards) : slots_(shards) {}

  void join(std::size_t shard, io::Event* doorbell) noexcept { slots_[shard].doorbell = doorbell; }
  /// The least watermark of the shard's active splits. What is the least of all of them now.
  EventTime say(std::size_t shard, EventTime least) noexcept {
    const bool moved = slots_[shard].least.exchange(count(least)) != count(least);
    const EventTime all = this->least();
    if (!moved) return all;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (i == shard || slots_[i].doorbell == nullptr) continue;
      const std::int64_t until = slots_[i].waits_for.load();
      if (until != kNever && until <= count(all)) slots_[i].doorbell->set();
    }
    return all;
  }
  /// `shard` is to be rung when the least of all has come to `until`; kNobody: it holds nothing back. What is the least now.
  EventTime wait_for(std::size_t shard, EventTime until) noexcept {
    slots_[shard].waits_for.store(until == kNobody ? kNever : count(until));
    return least();
  }
  [[nodiscard]] EventTime least() const noexcept {
    std::int64_t least = count(kNobody);
    for (const Slot& slot : slots_) least = std::min(least, slot.least.load());
    return EventTime(EventDuration(least));
  }

 private:
  static constexpr std::int64_t count(EventTime time) noexcept { return time.time_since_epoch().count(); }
  static constexpr std::int64_t kNever = INT64_MAX;

  struct alignas(64) Slot {  // A line of its own: written by one shard at each poll.
    std::atomic<std::int64_t> least{count(kNobody)};
    std::atomic<std::int64_t> waits_for{kNever};
    io::Event* doorbell = nullptr;
  };
  std::vector<Slot> slots_;
};

}  // namespace sluice::internal
