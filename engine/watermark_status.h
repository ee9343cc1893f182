#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sluice/engine/event_time.h>
#include <sluice/engine/split.h>

namespace sluice::internal {
class Drift;
}  // namespace sluice::internal

namespace sluice {

/// How far one split's event time has come, and what it means for the others: the answer to "why does no window close?".
struct SplitWatermark {
  enum class State : std::uint8_t {
    kActive,  ///< the watermark waits for it
    kIdle,    ///< silent for idle_after: left out until it speaks
    kPaused,  ///< further ahead than max_drift: not read until the others have caught up
    kEnded,   ///< bounded, and read to its end
  };
  std::string operator_id;  ///< of Stream::watermarks
  Split split;
  /// EventTime::min(): nothing said yet.
  EventTime watermark = EventTime::min();
  State state = State::kActive;
};

/// A Stream::watermarks over all its splits on all shards: who holds the watermark back, and how far the others are ahead of it.
struct WatermarkStatus {
  std::string operator_id;
  /// Of the splits together: the least of those that are waited for, or the largest where nobody is. Those behind may have been told a
  /// later one, before a split spoke again that had been silent.
  EventTime watermark = EventTime::min();
  /// The split that all wait for. Nothing: all are silent or have ended.
  std::optional<SplitWatermark> holder;
  /// How far the foremost split that is waited for is ahead of the holder. Nothing: there is no holder, or it has said nothing.
  std::optional<EventDuration> drift;
  std::optional<EventDuration> drift_max;  ///< max_drift(); nothing: the strategy has none
  std::size_t active = 0, idle = 0, paused = 0, ended = 0;  ///< splits
  std::vector<SplitWatermark> splits;
};

/// Every split's watermark, of all operators and shards. Any thread.
class WatermarkBoard {
 public:
  /// One split's line; written by its shard, read by any.
  class Line {
   public:
    Line(std::string operator_id, Split split) : operator_id_(std::move(operator_id)), split_(std::move(split)) {}
    void set(EventTime watermark, SplitWatermark::State state) noexcept {
      watermark_.store(watermark.time_since_epoch().count(), std::memory_order_relaxed);
      state_.store(state, std::memory_order_relaxed);
    }
    [[nodiscard]] SplitWatermark get() const {
      return {operator_id_, split_, EventTime(EventDuration(watermark_.load(std::memory_order_relaxed))),
              state_.load(std::memory_order_relaxed)};
    }

   private:
    const std::string operator_id_;
    const Split split_;
    std::atomic<std::int64_t> watermark_{EventTime::min().time_since_epoch().count()};
    std::atomic<SplitWatermark::State> state_{SplitWatermark::State::kActive};
  };

  [[nodiscard]] std::shared_ptr<Line> add(const std::string& operator_id, const Split& split) {
    auto line = std::make_shared<Line>(operator_id, split);
    const std::lock_guard lock(mutex_);
    lines_.insert_or_assign({operator_id, split}, line);
    return line;
  }
  /// In the order of operators and splits.
  [[nodiscard]] std::vector<SplitWatermark> all() const {
    std::vector<SplitWatermark> found;
    const std::lock_guard lock(mutex_);
    for (const auto& [key, line] : lines_) found.push_back(line->get());
    return found;
  }
  /// The split that holds the operator's watermark: the last one of those that are active. Nothing: none is.
  [[nodiscard]] std::optional<SplitWatermark> holder(const std::string& operator_id) const;
  /// The same by operator.
  [[nodiscard]] std::vector<WatermarkStatus> status() const;

  /// For the engine: what the shards of an operator with a max_drift() share; made by the first that asks.
  [[nodiscard]] std::shared_ptr<internal::Drift> drift(const std::string& operator_id, EventDuration bound, std::size_t shards);

 private:
  struct Bound {
    EventDuration max{0};
    std::shared_ptr<internal::Drift> shared;
  };
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, Split>, std::shared_ptr<Line>> lines_;
  std::map<std::string, Bound> bounds_;
};

}  // namespace sluice
