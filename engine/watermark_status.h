#pragma once

#include <atomic>
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
  [[nodiscard]] std::optional<SplitWatermark> holder(const std::string& operator_id) const {
    std::optional<SplitWatermark> last;
    for (SplitWatermark& one : all()) {
      const bool counts = one.state == SplitWatermark::State::kActive || one.state == SplitWatermark::State::kPaused;
      if (one.operator_id == operator_id && counts && (!last || one.watermark < last->watermark)) last = std::move(one);
    }
    return last;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, Split>, std::shared_ptr<Line>> lines_;
};

}  // namespace sluice
