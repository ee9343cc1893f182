#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sluice/engine/context.h>
#include <sluice/engine/internal/drift.h>
#include <sluice/engine/internal/split_time.h>
#include <sluice/engine/internal/split_watch.h>
#include <sluice/engine/internal/time_plan.h>
#include <sluice/engine/state.h>
#include <sluice/engine/watermark_status.h>

namespace sluice::internal {

/// The splits of a shard and what their watermarks are together: who counts, who is silent, who is too far ahead of those of all
/// shards. One shard; a call a batch or a poll, none a record.
class SplitTimes {
 public:
  SplitTimes(const Context& context, TimeOptions options, std::shared_ptr<WatermarkBoard> board);

  struct Entry {
    Split split;
    SplitTime* time = nullptr;  ///< in the operator's state
    bool idle = false, ended = false, paused = false;
    bool spoke = false;                  ///< since the last poll
    std::optional<io::Monotonic> heard;  ///< when it last spoke, or was first asked
    std::uint32_t jumps_in_a_row = 0;
    std::shared_ptr<WatermarkBoard::Line> line;
  };
  /// What is to be said of all of them.
  struct Merged {
    EventTime watermark = EventTime::min();
    bool idle = true;  ///< nobody is active: whoever comes behind need not wait for this shard
  };

  std::size_t add(const Split& split, SplitTime& time);
  [[nodiscard]] std::optional<std::size_t> find(const Split& split) const;
  [[nodiscard]] Entry& operator[](std::size_t i) noexcept { return *entries_[i]; }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

  void spoke(std::size_t i) noexcept {
    entries_[i]->spoke = true;
    entries_[i]->idle = false;
  }
  void ended(std::size_t i) noexcept { entries_[i]->ended = true; }
  /// The least watermark of all active splits but this one.
  [[nodiscard]] EventTime others(std::size_t i) const noexcept;
  /// The minimum over active splits. Where all are idle, the maximum: nothing that any of them could still say is waited for, and
  /// whether the last one to fall silent was a slow or a fast one must not decide what comes out. Never the end of time.
  [[nodiscard]] Merged merged() const noexcept;
  /// The poll that began at `began` is through, and what it brought is handed on at `now`: who said nothing for too long is idle.
  void polled(io::Monotonic began, io::Monotonic now, EventTime announced);
  /// Before the first poll: the other shards learn which splits there are to wait for.
  void join(SplitWatch& watch);
  /// Asks `watch` to pause who is too far ahead of the last one on any shard, and to let go who is no longer.
  void align(SplitWatch& watch);
  /// The input of this shard has ended: no other waits for it.
  void leave();
  /// When polled() would find one idle; Monotonic::max(): never.
  [[nodiscard]] io::Monotonic wake_at() const noexcept;
  /// At a barrier: what was announced is part of every split's past, so that it is announced again after a restore, wherever its
  /// splits are then read.
  void lift(EventTime announced) noexcept;
  void publish() noexcept;

 private:
  void warn_of_standstill(io::Monotonic began, EventTime announced);
  /// Pauses and lets go by what is the least on all shards; what the first of the paused waits for.
  [[nodiscard]] EventTime hold_back(EventTime least, SplitWatch& watch);

  const std::string id_;
  const std::size_t shard_;
  const TimeOptions options_;
  const std::shared_ptr<WatermarkBoard> board_;
  const std::shared_ptr<Drift> drift_;  // Where there is a bound.
  std::vector<std::unique_ptr<Entry>> entries_;
  std::map<Split, std::size_t> by_split_;
  EventTime stands_at_ = EventTime::min();
  std::optional<io::Monotonic> stands_since_;
  bool warned_ = false;
};

/// "2024-03-09T05:00:00.250Z", for people.
[[nodiscard]] std::string to_text(EventTime time);

class Node;

/// Splits are known between a source and the next exchange or union only: a watermark for each needs them.
[[nodiscard]] Status has_splits(const Node& node);

}  // namespace sluice::internal
