#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <sluice/engine/batch.h>

namespace sluice {

/// Where an operator puts its results: appends to a batch, and starts the next one when that is full.
/// Results take over origin and memory of the input batch, so they may point into it.
template <class Out>
class Collector final {
 public:
  Collector() { batches_.emplace_back(); }
  template <class In>
  explicit Collector(const Batch<In>& from) : Collector() {
    last().inherit(from);
    last().records().reserve(from.size());
    timed_ = !from.times().empty();
    if (timed_) last().times().reserve(from.size());
  }

  /// With the event time of the record that is being processed.
  void emit(Out record) {
    if (last().size() == Batch<Out>::kRecordsMax) [[unlikely]] rotate();
    if (timed_) last().times().push_back(time_);
    last().records().push_back(std::move(record));
  }
  void emit(Out record, EventTime time) {
    if (!timed_) {
      last().times().assign(last().size(), kNoEventTime);
      timed_ = true;
    }
    time_ = time;
    emit(std::move(record));
  }
  /// Memory for bytes that results point to; lives as long as any of the results' batches.
  [[nodiscard]] Arena& arena() {
    if (!arena_) {
      arena_ = std::make_shared<Arena>();
      last().own(arena_, 0);
    }
    return *arena_;
  }
  /// The same, to be kept by whoever points into it beside the results.
  [[nodiscard]] Memory shared_arena() {
    (void)arena();
    return arena_;
  }
  /// Keeps what the results point into and the input batch does not own.
  void own(Memory memory) { last().own(std::move(memory), 0); }
  void set_time(EventTime time) noexcept { time_ = time; }
  [[nodiscard]] bool timed() const noexcept { return timed_; }
  /// From here on results have event times, set_time()'s, whatever the input has.
  void begin_times() {
    if (!std::exchange(timed_, true)) last().times().assign(last().size(), kNoEventTime);
  }

  /// All batches with something in them. Leaves the collector empty.
  [[nodiscard]] std::vector<Batch<Out>> take() {
    if (arena_) batches_.front().own(nullptr, arena_->bytes());
    if (batches_.back().empty()) batches_.pop_back();
    return std::move(batches_);
  }

 private:
  Batch<Out>& last() noexcept { return batches_.back(); }
  void rotate() {
    Batch<Out> next;
    next.set_split(last().split_ref());
    for (const Memory& memory : last().memory()) next.own(memory, 0);
    batches_.push_back(std::move(next));
  }
  std::vector<Batch<Out>> batches_;
  std::shared_ptr<Arena> arena_;
  EventTime time_ = kNoEventTime;
  bool timed_ = false;
};

}  // namespace sluice
