#pragma once

#include <sluice/engine/internal/operator_tail.h>
#include <sluice/engine/windows/windowed_stream.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::window_test {

inline EventTime at(std::int64_t ms) { return EventTime(EventDuration(ms)); }

/// What came out: key, start, end, value; and the event time of the row.
template <class R>
struct Row {
  std::string key;
  std::int64_t start = 0, end = 0;
  R value{};
  std::int64_t time = 0;
  auto operator<=>(const Row&) const = default;
};
template <class R>
void PrintTo(const Row<R>& row, std::ostream* out) {
  *out << "(" << row.key << " [" << row.start << "," << row.end << ") " << ::testing::PrintToString(row.value) << " @" << row.time << ")";
}

/// A window operator on all shards, driven by hand: records go where their key is, watermarks everywhere. stop() and go on: what
/// is restored into another number of shards is the snapshots of all.
template <class T, class R>
class Rig {
 public:
  using Op = SideOperator<Keyed<std::string, T>, Windowed<std::string, R>, T>;
  using Make = std::function<std::unique_ptr<Op>()>;
  explicit Rig(Make make, std::uint16_t shards = 1) : make_(std::move(make)) { start(shards); }
  ~Rig() {
    for (auto& one : shards_) one.op->close();
  }

  void send(const std::string& key, std::int64_t time, T value = {}) { send({{key, time, std::move(value)}}); }
  /// A batch a shard.
  void send(std::vector<std::tuple<std::string, std::int64_t, T>> records) {
    std::vector<Batch<Keyed<std::string, T>>> batches(shards_.size());
    for (auto& [key, time, value] : records) {
      const KeyGroup group = KeyGroups().of<std::string>(key);
      auto& batch = batches[KeyGroups().owner(group, count()).value()];
      batch.records().push_back({key, std::move(value), group});
      batch.times().push_back(at(time));
    }
    for (std::size_t i = 0; i < batches.size(); ++i) {
      if (batches[i].empty()) continue;
      shards_[i].op->begin_side(&batches[i]);
      Collector<Windowed<std::string, R>> out(batches[i]);
      note(shards_[i].op->process(batches[i], out));
      collect(shards_[i], out);
    }
  }
  void watermark(std::int64_t time) { advance(at(time)); }
  /// Turns the clock; those of `only` (none: all) whose deadline has come are called.
  void pass(std::int64_t ms, std::optional<std::size_t> only = {}) {
    clock_->advance(EventDuration(ms));
    for (std::size_t i = 0; i < shards_.size(); ++i) {
      if ((only && i != *only) || shards_[i].op->deadline() > clock_->now()) continue;
      Collector<Windowed<std::string, R>> out;
      shards_[i].op->begin_side(nullptr);
      note(shards_[i].op->on_deadline(clock_->now(), out));
      collect(shards_[i], out);
    }
  }
  void end() {
    advance(EventTime::max());
    for (auto& one : shards_) {
      Collector<Windowed<std::string, R>> out;
      one.op->begin_side(nullptr);
      note(one.op->end_of_input(out));
      collect(one, out);
    }
  }
  /// A barrier: all there is the first time, what changed later. One that is not `durable` is as if it had never been.
  void checkpoint(bool durable = true) {
    ++epoch_;
    for (auto& one : shards_) {
      for (const auto& [name, state] : one.states.all()) {
        auto* const found = dynamic_cast<KeyedState*>(state);
        if (found == nullptr) {  // All of it each time, in place of what was there.
          if (!durable) continue;
          std::erase_if(one.saved, [&](const StateSnapshot& old) { return old.state == name; });
          one.saved.push_back({one.context.operator_id, name, state->type(), one.context.shard, {}});
          state->save(one.saved.back().bytes);
          continue;
        }
        KeyedState& keyed = *found;
        const bool first = std::ranges::none_of(one.saved, [&](const StateSnapshot& old) { return old.state == name; });
        StateSnapshot snapshot{one.context.operator_id, name, state->type(), one.context.shard, {}};
        keyed.mark(epoch_);
        first ? keyed.save(snapshot.bytes) : keyed.save_changes(snapshot.bytes);
        if (!durable) continue;
        keyed.confirm(epoch_);
        one.saved.push_back(std::move(snapshot));
      }
    }
  }
  /// A stop with a snapshot, and a start from it.
  void restart(std::uint16_t shards) {
    checkpoint();
    CheckpointData checkpoint;
    for (auto& one : shards_) {
      checkpoint.states.insert(checkpoint.states.end(), one.saved.begin(), one.saved.end());
      one.op->close();
    }
    shards_.clear();
    start(shards, &checkpoint);
  }

  [[nodiscard]] std::vector<Row<R>> rows() const {
    std::vector<Row<R>> sorted = rows_;
    std::ranges::sort(sorted);
    return sorted;
  }
  [[nodiscard]] const std::vector<Row<R>>& rows_in_order() const { return rows_; }
  [[nodiscard]] const std::vector<std::int64_t>& late_times() const { return late_; }
  [[nodiscard]] std::uint64_t late() const { return metrics_.value("sluice_operator_late_dropped_total"); }
  [[nodiscard]] std::uint64_t open() const { return metrics_.value("sluice_operator_open_windows"); }
  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] std::uint16_t count() const { return static_cast<std::uint16_t>(shards_.size()); }

 private:
  struct Shard {
    Context context;
    StateSet states;
    std::unique_ptr<Op> op;
    std::vector<StateSnapshot> saved;
  };
  void start(std::uint16_t shards, const CheckpointData* restored = nullptr) {
    for (std::uint16_t i = 0; i < shards; ++i) {
      Shard one;
      one.context.operator_id = "windows";
      one.context.shard = ShardId(i);
      one.context.parallelism = shards;
      one.context.metrics = &metrics_;
      one.context.clock = clock_.get();
      one.op = make_();
      one.op->declare(one.states);
      for (const auto& [name, state] : one.states.all()) state->open(one.context);
      if (restored != nullptr) note(internal::restore_states(one.states, *restored, one.context));
      note(one.op->open(one.context));
      shards_.push_back(std::move(one));
    }
  }
  void advance(EventTime watermark) {
    for (auto& one : shards_) {
      Collector<Windowed<std::string, R>> out;
      one.op->begin_side(nullptr);
      note(one.op->on_watermark(watermark, out));
      collect(one, out);
    }
  }
  void note(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }
  void collect(Shard& one, Collector<Windowed<std::string, R>>& out) {
    for (const auto& batch : out.take()) {
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const bool timed = !batch.times().empty() && batch.times()[i] != kNoEventTime;
        const std::int64_t time = timed ? batch.times()[i].time_since_epoch().count() : -1;
        rows_.push_back({batch[i].key, batch[i].window.start.time_since_epoch().count(),
                         batch[i].window.end.time_since_epoch().count(), batch[i].value, time});
      }
    }
    for (const auto& batch : one.op->take_side()) {
      for (const EventTime time : batch.times()) late_.push_back(time.time_since_epoch().count());
    }
  }

  const Make make_;
  std::unique_ptr<io::FakeClock> clock_ = std::make_unique<io::FakeClock>();
  Metrics metrics_;
  std::vector<Shard> shards_;
  std::vector<Row<R>> rows_;
  std::vector<std::int64_t> late_;
  Status status_;
  Epoch epoch_{0};
};

/// The operator that a pipeline would make, without a pipeline.
template <class T, class A, class Assigner, class Trigger = AtEnd>
auto windows(Assigner assigner, A described, Trigger trigger = {}, internal::WindowOptions options = {}) {
  auto aggregate = internal::aggregate_for<T>(described);
  using R = internal::Finished<decltype(aggregate), std::string>;
  return [=]() -> std::unique_ptr<SideOperator<Keyed<std::string, T>, Windowed<std::string, R>, T>> {
    if constexpr (std::derived_from<Assigner, Session>) {
      return std::make_unique<internal::SessionWindows<std::string, T, decltype(aggregate), Assigner, Trigger>>(assigner, aggregate, options,
                                                                                                                trigger);
    } else {
      return std::make_unique<internal::SliceWindows<std::string, T, decltype(aggregate), Assigner, Trigger>>(assigner, aggregate,
                                                                                                             trigger, options);
    }
  };
}
template <class T, class A, class Assigner, class Trigger = AtEnd>
auto rig(Assigner assigner, A described, std::uint16_t shards = 1, Trigger trigger = {}, internal::WindowOptions options = {}) {
  using R = internal::Finished<decltype(internal::aggregate_for<T>(described)), std::string>;
  return Rig<T, R>(windows<T>(assigner, described, trigger, options), shards);
}

}  // namespace sluice::window_test
