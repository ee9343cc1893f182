#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <sluice/engine/keyed_stream.h>
#include <sluice/engine/windows/assigners.h>
#include <sluice/engine/windows/internal/slice_state.h>
#include <sluice/engine/windows/internal/window_options.h>

namespace sluice {

struct DeduplicateOptions {
  /// Another record of a key less than this of event time after (or before) one that went on is a copy. 0: all others are, for ever, and
  /// what is remembered grows with the keys.
  EventDuration within{0};
  /// Keys that are remembered on a shard: a warning at 80 %, an error beyond.
  std::uint64_t keys_max = internal::WindowOptions::kKeysMax;
  /// What keys are of, where their type does not tell: part of the state's type, so that of others is not taken over.
  std::string contents{};
};

namespace internal {

/// The first record of each key goes on.
///
/// State      the time of each record that went on, until the watermark is two times `within` behind it; past keys_max, kExhausted.
/// Late       a record so old that its copies may be forgotten is dropped and counted as late.
/// Suspends   never.
template <class Key, class T>
class Deduplicate final : public Operator<Keyed<Key, T>, T> {
 public:
  explicit Deduplicate(DeduplicateOptions options)
      : options_(std::move(options)),
        slices_(std::max(options_.within, EventDuration(1))),
        state_("deduplicate " + slices_.describe() + (options_.contents.empty() ? "" : " of " + options_.contents)) {}

  void declare(StateSet& states) override { states.add("seen", state_); }
  Status open(const Context& context) override {
    if (options_.within < EventDuration::zero()) {
      return Status(Code::kInvalid, fmt::format("deduplicate \"{}\": within is {} ms: 0 (for ever) at least", context.operator_id,
                                                options_.within.count()));
    }
    WindowOptions limit;
    limit.keys_max = options_.keys_max;
    limit.limit = "keys_max";
    watch_.open(context, limit);
    keys_ = state_.size();
    forget();
    if (context.metrics != nullptr) copies_ = context.metrics->counter("sluice_operator_duplicates_total");
    return watch_.keys(keys_);
  }
  void close() override { watch_.close(); }
  Status process(const Batch<Keyed<Key, T>>& batch, Collector<T>& out) override {
    const bool timed = !batch.times().empty();
    if (forgets() && !timed && !batch.empty()) return watch_.without_time();
    std::uint64_t copies = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const Keyed<Key, T>& record = batch[i];
      const EventTime time = timed ? batch.times()[i] : kNoEventTime;
      bool first = false;
      SLUICE_TRY(forgets() ? look_around(record, time, first) : look(record, first));
      if (!first) {
        ++copies;
        continue;
      }
      SLUICE_TRY(watch_.keys(++keys_));
      if (timed) out.set_time(time);
      out.emit(record.value);
    }
    if (copies_ && copies > 0) copies_->add(copies);
    return {};
  }
  Status on_watermark(EventTime watermark, Collector<T>&) override {
    if (watermark <= state_.watermark) return {};
    state_.watermark = watermark;
    forget();
    return {};
  }

 private:
  [[nodiscard]] bool forgets() const noexcept { return options_.within > EventDuration::zero(); }
  void forget() {
    if (!forgets()) return;
    const EventTime horizon = horizon_of(state_.watermark, 2 * options_.within);  // Its neighbour may still be asked for.
    state_.drop_if([&](const auto& slice) {
      if (slice.bounds.end > horizon) return false;
      keys_ -= slice.table.size();
      return true;
    });
  }
  Status look(const Keyed<Key, T>& record, bool& first) {
    bool made = false;
    first = state_.put(state_.at({kWindowTimeMin, kWindowTimeMax}, made), record.key, record.group).made;
    return {};
  }
  /// One that is near enough is in the slice of its own time or in one beside it, and in each there is one at most.
  Status look_around(const Keyed<Key, T>& record, EventTime time, bool& first) {
    if (time == kNoEventTime) return watch_.without_time();
    if (time < kWindowTimeMin || time > kWindowTimeMax) return watch_.out_of_range(time);
    const Window own = slices_.slice(time);
    if (own.end <= horizon_of(state_.watermark, options_.within)) {
      watch_.late(record.key, time, state_.watermark);
      return {};
    }
    for (const auto& slice : state_.slices()) {
      if (slice->bounds.end < own.start || slice->bounds.start > own.end) continue;
      const auto* const there = slice->table.find(record.key, record.group);
      if (there != nullptr && std::chrono::abs(time - there->cell) < options_.within) return {};
    }
    bool made = false;
    *state_.put(state_.at(own, made), record.key, record.group).cell = time;
    first = true;
    return {};
  }

  const DeduplicateOptions options_;
  const Tumbling slices_;
  SliceState<Key, EventTime> state_;
  WindowWatch watch_;
  std::uint64_t keys_ = 0;
  std::shared_ptr<Counter> copies_;
};

}  // namespace internal

/// The first record of each key, as a plain stream; the others are dropped and counted in sluice_operator_duplicates_total.
///
///     deduplicate(payments.key_by(&Payment::id), "once", {.within = 24h})
template <class Key, class T>
[[nodiscard]] Stream<T> deduplicate(const KeyedStream<Key, T>& stream, std::string id, DeduplicateOptions options = {}) {
  return stream.template process<T>(std::move(id), [options]() -> std::unique_ptr<Operator<Keyed<Key, T>, T>> {
    return std::make_unique<internal::Deduplicate<Key, T>>(options);
  });
}

}  // namespace sluice
