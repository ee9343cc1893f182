#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include <sluice/engine/joins/co_operator.h>
#include <sluice/engine/joins/internal/join_call.h>
#include <sluice/engine/joins/internal/join_state.h>
#include <sluice/engine/joins/internal/lookup_state.h>

namespace sluice {

/// Gives each row the one that a table has for its key when it comes. The table is what a stream last said of each key; where that is a
/// stream of std::optional, one without a value takes the key out. KeyedStream::lookup makes it; engine/joins/joins.md has the rules.
///
/// State      the table.
/// Late       nothing is late: rows are looked up as they come, and keep their event time.
/// Suspends   never.
/// Errors     kExhausted beyond LookupOptions::table_rows_max.
template <class Key, class L, class R, JoinKind kKind, class F>
class LookupJoin final
    : public CoOperator<Key, L, R, typename internal::JoinCall<kKind, F, L, internal::TableValue<R>>::Out> {
 public:
  static_assert(kKind == JoinKind::kInner || kKind == JoinKind::kLeft, "a table's rows are no results of their own");
  using Value = internal::TableValue<R>;
  using Call = internal::JoinCall<kKind, F, L, Value>;
  using Out = typename Call::Out;

  LookupJoin(F f, const LookupOptions& options)
      : f_(std::move(f)), limits_("lookup join", options), table_(options.time_to_live, internal::kind_of("value", options.contents)) {}

  void declare(StateSet& states) override {
    states.add("table", table_);
    table_.follow(&time_);
  }
  Status open(const Context& context) override {
    limits_.open(context);
    return {};
  }
  Status process_left(const Batch<Keyed<Key, L>>& batch, Collector<Out>& out) override {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      time_ = out.timed() ? batch.times()[i] : kNoEventTime;
      if (out.timed()) out.set_time(time_);
      const Keyed<Key, L>& row = batch[i];
      const bool null = internal::JoinKey<Key>::null(row.key);
      const Value* found = null ? nullptr : table_.find(internal::JoinKey<Key>::look_up(row.key));
      if (found != nullptr || kKind == JoinKind::kLeft) out.emit(Call::run(f_, &row.value, found, out));
    }
    return {};
  }
  Status process_right(const Batch<Keyed<Key, R>>& batch, Collector<Out>&) override {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      time_ = batch.times().empty() ? kNoEventTime : batch.times()[i];
      const Keyed<Key, R>& row = batch[i];
      if (internal::JoinKey<Key>::null(row.key)) continue;
      const Value* value = internal::table_value(row.value);
      if (value == nullptr) {
        table_.erase(internal::JoinKey<Key>::look_up(row.key));
      } else {
        table_.set(internal::JoinKey<Key>::look_up(row.key), *value);
      }
    }
    return limits_.check_table(table_.size());
  }
  Status on_watermark(EventTime watermark, Collector<Out>&) override {
    table_.advance(watermark);
    return {};
  }

 private:
  F f_;
  internal::LookupLimits limits_;
  ValueState<typename internal::JoinKey<Key>::Kept, Value> table_;
  EventTime time_ = kNoEventTime;  // Of the row in hand: what the table's time-to-live goes by.
};

/// The same where every row waits until the table has one for its key: nothing is made without, and nothing is lost because its side was
/// ahead. A row that waited has the later of both event times.
///
/// State      the table, and the rows that wait, for ever.
/// Late       nothing is.
/// Suspends   never.
/// Errors     kExhausted beyond a bound of LookupOptions.
template <class Key, class L, class R, class F>
class WaitingJoin final
    : public CoOperator<Key, L, R, typename internal::JoinCall<JoinKind::kInner, F, L, internal::TableValue<R>>::Out> {
 public:
  using Value = internal::TableValue<R>;
  using Call = internal::JoinCall<JoinKind::kInner, F, L, Value>;
  using Out = typename Call::Out;

  WaitingJoin(F f, const LookupOptions& options)
      : f_(std::move(f)), limits_("lookup join", options), rows_(internal::kind_of("waiting_join", options.contents)) {}

  void declare(StateSet& states) override { states.add("rows", rows_); }
  Status open(const Context& context) override {
    limits_.open(context);
    rows_.for_each([&](const auto&, const Slot& slot) {
      waiting_ += slot.waiting.size();
      table_rows_ += slot.value ? 1 : 0;
    });
    return {};
  }
  Status process_left(const Batch<Keyed<Key, L>>& batch, Collector<Out>& out) override {
    const bool timed = !batch.times().empty();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const Keyed<Key, L>& row = batch[i];
      if (internal::JoinKey<Key>::null(row.key)) continue;
      const auto& key = internal::JoinKey<Key>::look_up(row.key);
      const Slot* const slot = rows_.find(key);
      const EventTime time = timed ? batch.times()[i] : kNoEventTime;
      if (slot != nullptr && slot->value) {
        emit(row.value, *slot->value, time, timed, out);
      } else {
        rows_.at(key, row.group).waiting.push_back({time, row.value});
        ++waiting_;
      }
    }
    return limits_.check_waiting(waiting_);
  }
  Status process_right(const Batch<Keyed<Key, R>>& batch, Collector<Out>& out) override {
    const bool timed = !batch.times().empty();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const Keyed<Key, R>& row = batch[i];
      if (internal::JoinKey<Key>::null(row.key)) continue;
      const auto& key = internal::JoinKey<Key>::look_up(row.key);
      const Value* value = internal::table_value(row.value);
      if (value == nullptr) {
        forget(key);
        continue;
      }
      Slot& slot = rows_.at(key, row.group);
      table_rows_ += slot.value ? 0 : 1;
      slot.value = *value;
      waiting_ -= slot.waiting.size();
      for (const auto& [since, left] : slot.waiting) emit(left, *value, timed ? std::max(since, batch.times()[i]) : since, timed, out);
      slot.waiting = {};
    }
    return limits_.check_table(table_rows_);
  }

 private:
  using Kept = typename internal::JoinKey<Key>::Kept;
  using Slot = internal::WaitingSlot<L, Value>;

  void emit(const L& left, const Value& value, EventTime time, bool timed, Collector<Out>& out) {
    if (timed) {
      out.emit(Call::run(f_, &left, &value, out), time);
    } else {
      out.emit(Call::run(f_, &left, &value, out));
    }
  }
  void forget(KeyArg<Kept> key) {
    const Slot* slot = rows_.find(key);
    if (slot == nullptr || !slot->value) return;  // Rows that wait go on waiting.
    --table_rows_;
    rows_.erase(key);
  }

  F f_;
  internal::LookupLimits limits_;
  internal::WaitingState<Kept, L, Value> rows_;
  std::uint64_t waiting_ = 0, table_rows_ = 0;
};

/// The same against a table that every shard has whole: what a broadcast stream last said of each key. The rows need not be keyed, and
/// stay on their shard. Stream::lookup_broadcast makes it; engine/joins/joins.md has the rules.
///
/// State      the table, once in a checkpoint.
/// Late       nothing is.
/// Suspends   never.
/// Errors     kExhausted beyond LookupOptions::table_rows_max.
template <class L, class R, class LeftKey, class RightKey, JoinKind kKind, class F>
class BroadcastJoin final
    : public TwoInputOperator<L, R, typename internal::JoinCall<kKind, F, L, internal::TableValue<R>>::Out> {
 public:
  static_assert(kKind == JoinKind::kInner || kKind == JoinKind::kLeft, "a table's rows are no results of their own");
  using Key = std::decay_t<std::invoke_result_t<LeftKey&, const L&>>;
  static_assert(std::same_as<Key, std::decay_t<std::invoke_result_t<RightKey&, const R&>>>,
                "both sides' keys must be of one type, or equal keys would differ");
  using Value = internal::TableValue<R>;
  using Call = internal::JoinCall<kKind, F, L, Value>;
  using Out = typename Call::Out;

  BroadcastJoin(LeftKey left_key, RightKey right_key, F f, const LookupOptions& options)
      : left_key_(std::move(left_key)),
        right_key_(std::move(right_key)),
        f_(std::move(f)),
        limits_("lookup join", options),
        table_(internal::kind_of("broadcast", options.contents)) {}

  void declare(StateSet& states) override { states.add("table", table_); }
  Status open(const Context& context) override {
    limits_.open(context);
    return {};
  }
  Status process_left(const Batch<L>& batch, Collector<Out>& out) override {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (out.timed()) out.set_time(batch.times()[i]);
      const Key key = std::invoke(left_key_, batch[i]);
      const Value* found = internal::JoinKey<Key>::null(key) ? nullptr : table_.find(internal::JoinKey<Key>::look_up(key));
      if (found != nullptr || kKind == JoinKind::kLeft) out.emit(Call::run(f_, &batch[i], found, out));
    }
    return {};
  }
  Status process_right(const Batch<R>& batch, Collector<Out>&) override {
    for (const R& row : batch) {
      const Key key = std::invoke(right_key_, row);
      if (internal::JoinKey<Key>::null(key)) continue;
      const Value* value = internal::table_value(row);
      if (value == nullptr) {
        table_.erase(internal::JoinKey<Key>::look_up(key));
      } else {
        table_.set(internal::JoinKey<Key>::look_up(key), *value);
      }
    }
    return limits_.check_table(table_.size());
  }

 private:
  LeftKey left_key_;
  RightKey right_key_;
  F f_;
  internal::LookupLimits limits_;
  internal::BroadcastTable<typename internal::JoinKey<Key>::Kept, Value> table_;
};

}  // namespace sluice
