#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

#include <boost/describe/class.hpp>

#include <sluice/engine/keyed.h>
#include <sluice/engine/operator.h>
#include <sluice/engine/windows/assigners.h>
#include <sluice/engine/windows/internal/clock_state.h>
#include <sluice/engine/windows/internal/combine.h>
#include <sluice/engine/windows/internal/marked.h>
#include <sluice/engine/windows/internal/slice_state.h>
#include <sluice/engine/windows/internal/window_options.h>
#include <sluice/engine/windows/trigger.h>
#include <sluice/engine/windows/window.h>

namespace sluice::internal {

/// What an aggregate says in the end; some want to know of which key and window.
template <class A, class Key>
[[nodiscard]] decltype(auto) finish(const A& aggregate, const Key& key, const Window& window, const typename A::Accumulator& sum) {
  if constexpr (requires { aggregate.result(key, window, sum); }) {
    return aggregate.result(key, window, sum);
  } else {
    return aggregate.result(sum);
  }
}
template <class A, class Key>
using Finished = std::decay_t<decltype(finish(std::declval<const A&>(), std::declval<const Key&>(), Window{},
                                              std::declval<const typename A::Accumulator&>()))>;
template <class A>
[[nodiscard]] std::size_t kept_by(const A& aggregate, const typename A::Accumulator& sum) {
  if constexpr (requires { aggregate.kept(sum); }) return aggregate.kept(sum);
  return 0;
}
/// An accumulator whose trigger counts, and for the window that has no end: when its last record was.
template <class Acc>
struct CountedCell {
  Acc sum{};
  std::uint64_t since = 0;  // Records since it last said something.
  EventTime last = kNoEventTime;
  BOOST_DESCRIBE_CLASS(CountedCell, (), (sum, since, last), (), ())
};

/// Tumbling, sliding, calendar and global windows of a keyed stream, whatever is made of them.
///
/// State      an accumulator for each key in each slice with records; past limit_keys(), kExhausted. The watermark.
/// Late       a record all of whose windows are closed (their end, and the allowed lateness, at or below the watermark) goes aside
///            and is counted; one that is late for some of its windows counts in the others.
/// Clock      windows of processing time: what the watermark is to others, the clock is to them, read once a batch and a deadline.
/// Suspends   never.
template <class Key, class T, class A, class Assigner, class Trigger>
class SliceWindows final : public SideOperator<Keyed<Key, T>, Windowed<Key, Finished<A, Key>>, T> {
 public:
  using In = Keyed<Key, T>;
  using Out = Windowed<Key, Finished<A, Key>>;
  static constexpr bool kOfClock = internal::kOfClock<Assigner>;
  /// With a trigger by the clock: knows what came since it last spoke.
  using Agg = std::conditional_t<Trigger::kClock, Marked<A>, A>;
  using Acc = typename Agg::Accumulator;
  static constexpr bool kCounted = Trigger::kCounts || !Assigner::kTimed;
  using Cell = std::conditional_t<kCounted, CountedCell<Acc>, Acc>;
  using State = SliceState<Key, Cell>;
  using One = typename State::One;
  using Kept = typename State::Kept;
  static_assert(!Assigner::kSliding || Mergeable<A>, "sliding windows share slices: the aggregate needs merge(into, later)");
  static_assert(!Assigner::kSliding || !Trigger::kCounts, "sliding windows share slices, so nobody counts the records of one: give them "
                                                          "early(period), or every(n) to tumbling, session and global windows");
  static_assert(!kOfClock || !Trigger::kEarly, "early(period) goes by the watermark, and these windows by the clock: give them "
                                               "processing_time(early(period))");

  SliceWindows(Assigner assigner, A aggregate, Trigger trigger, WindowOptions options)
      : assigner_(std::move(assigner)), aggregate_(marked_if<Agg>(std::move(aggregate))), trigger_(trigger),
        options_(std::move(options)), state_(options_.state_name(assigner_.describe()), erases()) {}

  void declare(StateSet& states) override {
    states.add("slices", state_);
    if constexpr (kOfClock) states.add("clock", came_);
    if constexpr (Trigger::kClock) states.add("early", early_);
  }

  Status open(const Context& context) override {
    watch_.open(context, options_);
    groups_ = context.key_groups;
    if constexpr (Assigner::kSliding) combined_.emplace(assigner_, aggregate_, context.key_groups);
    if constexpr (kOfClock || Trigger::kClock) clock_.open(*context.clock, came_.latest());
    if constexpr (kOfClock) state_.watermark = came_.now = came_.first();
    if constexpr (Trigger::kClock) {
      if (early_.first() != kNoEventTime && early_.first() != EventTime::max()) {
        plan_early();
        early_.now = std::min(early_.now, early_.first());  // A clock that was set back holds no trigger up.
      }
    }
    // What was written piece by piece may have what the watermark has closed since.
    const EventTime horizon = horizon_of(state_.watermark, options_.allowed_lateness);
    state_.drop_if([&](const One& slice) { return last_end(slice.bounds) <= horizon; });
    for (const auto& slice : state_.slices()) keys_ += weight(*slice);
    watch_.windows(static_cast<std::int64_t>(state_.slices().size()));
    return watch_.keys(keys_);
  }
  void close() override { watch_.close(); }

  Status process(const Batch<In>& batch, Collector<Out>& out) override {
    if (Assigner::kTimed && !kOfClock && batch.times().empty() && !batch.empty()) return watch_.without_time();
    const EventTime* const times = batch.times().empty() ? nullptr : batch.times().data();
    EventTime now = kNoEventTime;
    if constexpr (kOfClock) now = come_to(clock_.now(), out);
    if constexpr (Trigger::kClock) plan_early();
    One* slice = nullptr;
    EventTime start{}, end{};
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const In& record = batch[i];
      const EventTime time = kOfClock ? now : times == nullptr ? kNoEventTime : times[i];
      if (slice == nullptr || (Assigner::kTimed && (time < start || time >= end))) [[unlikely]] {
        One* found = nullptr;
        SLUICE_TRY(choose(time, found));
        if (found == nullptr) {
          this->side().emit(record.value, time);
          watch_.late(record.key, time, state_.watermark);
          continue;
        }
        if (Assigner::kTimed && first_end(*found) <= state_.watermark) {
          SLUICE_TRY(add_behind(*found, record, out));
          continue;
        }
        slice = found;
        start = found->bounds.start;
        end = found->bounds.end;
      }
      const auto [cell, made] = state_.put(*slice, record.key, record.group);
      std::size_t more = made ? 1 : 0;
      if constexpr (kCounted) {
        more += add_to(aggregate_, cell->sum, record.value);
        cell->last = std::max(cell->last, time);
        if (Trigger::kCounts && ++cell->since >= count_of_trigger()) {
          SLUICE_TRY(grow(more));
          speak_now(*slice, record, *cell, out);
          continue;
        }
        if constexpr (!Trigger::kCounts) cell->since = 1;
      } else {
        more += add_to(aggregate_, *cell, record.value);
      }
      if (more > 0) [[unlikely]] SLUICE_TRY(grow(more));
    }
    return {};
  }

  Status on_watermark(EventTime watermark, Collector<Out>& out) override {
    if constexpr (!kOfClock) advance(watermark, out);
    return {};
  }
  /// The final watermark comes before; where an input has none, its end is one. It is the end of processing time too.
  Status end_of_input(Collector<Out>& out) override {
    const EventTime now = state_.watermark;
    advance(EventTime::max(), out);
    if constexpr (kOfClock) {
      state_.watermark = now;  // The end is this run's: the clock of a later one goes on.
      state_.tell_all();
    }
    if constexpr (Trigger::kClock) early_.now = EventTime::max();
    return {};
  }
  io::Monotonic deadline() override {
    EventTime due = EventTime::max();
    if constexpr (Trigger::kClock) due = early_.now;
    if constexpr (kOfClock) {
      if (!state_.slices().empty()) due = std::min(due, next_end(*state_.slices().front()));
    }
    return due == EventTime::max() ? kNoDeadline : clock_.when(due);
  }
  Status on_deadline(io::Monotonic now, Collector<Out>& out) override {
    const EventTime time = clock_.at(now);
    if constexpr (kOfClock) come_to(time, out);
    if constexpr (Trigger::kClock) {
      if (time >= early_.now) speak_news(out);
    }
    return {};
  }

 private:
  /// Windows of processing time: the clock stands at `time`. It never goes back.
  EventTime come_to(EventTime time, Collector<Out>& out) {
    advance(time, out);
    return came_.now = state_.watermark;
  }
  void advance(EventTime watermark, Collector<Out>& out) {
    if (watermark <= state_.watermark) return;
    const EventTime before = std::exchange(state_.watermark, watermark);
    if constexpr (Assigner::kSliding) {
      speak_sliding(before, out);
    } else {
      for (const auto& slice : state_.slices()) {
        if (slice->bounds.end > before && slice->bounds.end <= watermark) speak(*slice, out);
      }
    }
    const EventTime horizon = horizon_of(watermark, options_.allowed_lateness);
    std::int64_t dropped = 0;
    state_.drop_if([&](One& slice) {
      if (last_end(slice.bounds) > horizon) return false;
      if constexpr (Assigner::kSliding) combined_->gone(slice);
      keys_ -= weight(slice);
      ++dropped;
      return true;
    });
    watch_.windows(-dropped);
    if constexpr (Trigger::kEarly) speak_early(before, out);
  }
  /// Where a record at `time` is kept; null: too late for all of its windows.
  Status choose(EventTime time, One*& found) {
    if constexpr (Assigner::kTimed) {
      if (time == kNoEventTime) return watch_.without_time();
      if (time < kWindowTimeMin || time > kWindowTimeMax) return watch_.out_of_range(time);
    }
    const Window bounds = assigner_.slice(time);
    if (last_end(bounds) <= horizon_of(state_.watermark, options_.allowed_lateness)) return {};
    bool made = false;
    found = &state_.at(bounds, made);
    if (made) watch_.windows(1);
    return {};
  }
  /// When the last window that a slice is in ends; and the first.
  [[nodiscard]] EventTime last_end(const Window& bounds) const noexcept {
    if constexpr (Assigner::kSliding) return assigner_.last(bounds).end;
    else return Assigner::kTimed ? bounds.end : EventTime::max();
  }
  [[nodiscard]] EventTime first_end(const One& slice) const noexcept {
    if constexpr (Assigner::kSliding) return assigner_.first(slice.bounds).end;
    else return slice.bounds.end;
  }
  /// When the first of its windows that have not spoken does.
  [[nodiscard]] EventTime next_end(const One& slice) const noexcept {
    EventTime end = first_end(slice);
    if constexpr (Assigner::kSliding) {
      if (end <= state_.watermark) end += ((state_.watermark - end) / assigner_.slide() + 1) * assigner_.slide();
    }
    return end;
  }
  [[nodiscard]] std::size_t weight(const One& slice) const {
    std::size_t weight = slice.table.size();
    if constexpr (Growing<A>) {
      slice.for_each([&](const Kept&, const Cell& cell) { weight += kept_by(aggregate_, sum_of(cell)); });
    }
    return weight;
  }
  Status grow(std::size_t more) {
    keys_ += more;
    return watch_.keys(keys_);
  }

  /// A record for a slice some of whose windows have spoken: it counts in the others, and where lateness is allowed those speak again.
  Status add_behind(One& slice, const In& record, Collector<Out>& out) {
    const auto [cell, made] = state_.put(slice, record.key, record.group);
    Acc& sum = sum_of(*cell);
    SLUICE_TRY(grow((made ? 1 : 0) + add_to(aggregate_, sum, record.value)));
    if constexpr (Assigner::kSliding) {
      combined_->late(slice, record.key, record.group, record.value, made);
      const EventTime horizon = horizon_of(state_.watermark, options_.allowed_lateness);
      const Window last = assigner_.last(slice.bounds);
      for (Window window = assigner_.first(slice.bounds); window.start <= last.start;
           window = {window.start + assigner_.slide(), window.end + assigner_.slide()}) {
        if (window.end > state_.watermark || window.end <= horizon) continue;
        Acc all{};
        for (const auto& part : state_.slices()) {
          if (part->bounds.start < window.start || part->bounds.start >= window.end) continue;
          if (const auto* const there = part->table.find(record.key, record.group)) aggregate_.merge(all, there->cell);
        }
        emit(record.key, window, all, out);
      }
    } else {
      if constexpr (Trigger::kClock) sum.since = 0;
      if constexpr (kCounted) {
        cell->since = 0;
        cell->last = std::max(cell->last, slice.bounds.start);
      }
      emit(record.key, slice.bounds, sum, out);
    }
    return {};
  }

  void speak(One& slice, Collector<Out>& out) {
    slice.for_each([&](const Kept& kept, Cell& cell) {
      if constexpr (kCounted) {
        if (std::exchange(cell.since, 0) == 0) return;  // Nothing new to say.
      }
      emit_kept(kept, slice.bounds, cell, out);
    });
  }
  /// The first window with records that ends behind `before` (and begins at `from` or later); those without are skipped, however many.
  [[nodiscard]] std::optional<Window> next_window(EventTime before, std::optional<EventTime> from) const requires(Assigner::kSliding) {
    const auto& slices = state_.slices();
    const auto next = std::ranges::find_if(slices, [&](const auto& slice) {
      return from ? slice->bounds.start >= *from : assigner_.last(slice->bounds).end > before;
    });
    if (next == slices.end()) return {};
    Window window = assigner_.first((*next)->bounds);
    while (window.end <= before || (from && window.start < *from)) {
      window = {window.start + assigner_.slide(), window.end + assigner_.slide()};
    }
    return window;
  }
  void speak_sliding(EventTime before, Collector<Out>& out) requires(Assigner::kSliding) {
    std::optional<EventTime> from;
    for (;;) {
      const std::optional<Window> window = next_window(before, from);
      if (!window || window->end > state_.watermark) return;
      combined_->visit(state_, *window, [&](const Kept& kept, const Acc& sum) { emit_kept(kept, *window, sum, out); });
      from = window->start + assigner_.slide();
    }
  }
  void speak_early(EventTime before, Collector<Out>& out) requires(Trigger::kEarly) {
    if (state_.watermark == EventTime::max() || before < kWindowTimeMin) return;
    if (floor_to(state_.watermark, trigger_.period, EventDuration(0)) <= before) return;
    each_open([&](const Kept& kept, const Window& window, const Cell& cell) { emit_kept(kept, window, cell, out); });
  }
  /// What came since it was last said. At their end windows say all, new or not: that row stands for the window.
  void speak_news(Collector<Out>& out) requires(Trigger::kClock) {
    early_.now = EventTime::max();  // Until a record comes.
    each_open([&](const Kept& kept, const Window& window, const Cell& cell) {
      if (sum_of(cell).since != 0) emit_kept(kept, window, cell, out);
    });
    for (const auto& slice : state_.slices()) {
      slice->for_each([&](const Kept& kept, const Cell& cell) {
        if (sum_of(cell).since == 0) return;
        sum_of(*state_.put(*slice, KeptKey<Key>::show(kept), slice->table.group_of(kept)).cell).since = 0;
      });
    }
  }
  void plan_early() requires(Trigger::kClock) {
    if (early_.now != EventTime::max()) [[likely]] return;
    early_.now = floor_to(clock_.now(), trigger_.period, EventDuration(0)) + trigger_.period;
  }
  /// Calls `visit(kept, window, cell)` for each key of each window that has not spoken. A sliding window's are merged anew from its
  /// slices: what is carried from one window to the next (internal/combine.h) is of windows that are complete.
  template <class F>
  void each_open(F&& visit) {
    if constexpr (Assigner::kSliding) {
      std::optional<EventTime> from;
      while (const std::optional<Window> window = next_window(state_.watermark, from)) {
        GroupedTable<Key, Acc> so_far(groups_);
        for (const auto& slice : state_.slices()) {
          if (slice->bounds.start < window->start || slice->bounds.start >= window->end) continue;
          slice->for_each([&](const Kept& kept, const Cell& part) { aggregate_.merge(*so_far.put_kept(kept).value, part); });
        }
        so_far.for_each([&](const Kept& kept, const Acc& sum) { visit(kept, *window, sum); });
        from = window->start + assigner_.slide();
      }
    } else {
      for (const auto& slice : state_.slices()) {
        if (slice->bounds.end <= state_.watermark) continue;  // It has spoken.
        slice->for_each([&](const Kept& kept, const Cell& cell) { visit(kept, slice->bounds, cell); });
      }
    }
  }
  /// Its trigger has counted enough.
  void speak_now(One& slice, const In& record, Cell& cell, Collector<Out>& out) {
    if constexpr (Trigger::kCounts) {
      emit(record.key, slice.bounds, cell.sum, out, cell.last);
      cell.since = 0;
      if (!trigger_.purge) return;
      keys_ -= 1 + kept_by(aggregate_, cell.sum);
      slice.table.erase_kept(KeptKey<Key>::keep(record.key));
    }
  }
  /// Keys go one by one, and not by the watermark.
  [[nodiscard]] bool erases() const noexcept {
    if constexpr (Trigger::kCounts) return trigger_.purge;
    else return false;
  }
  [[nodiscard]] std::uint64_t count_of_trigger() const noexcept {
    if constexpr (Trigger::kCounts) return trigger_.records;
    else return 0;
  }
  static Acc& sum_of(Cell& cell) noexcept {
    if constexpr (kCounted) return cell.sum;
    else return cell;
  }
  static const Acc& sum_of(const Cell& cell) noexcept {
    if constexpr (kCounted) return cell.sum;
    else return cell;
  }

  void emit_kept(const Kept& kept, const Window& window, const Cell& cell, Collector<Out>& out) {
    if constexpr (kOfClock) {
      // Before the restart it may have spoken on another shard, whose clock was further.
      if (window.end <= came_.last()) [[unlikely]] {
        if (window.end <= came_.of(groups_.template of<Key>(KeptKey<Key>::show(kept)))) return;
      }
    }
    EventTime last = kNoEventTime;
    if constexpr (kCounted) last = cell.last;
    emit(KeptKey<Key>::give(kept, out), window, sum_of(cell), out, last);
  }
  /// `last`: the time of the key's last record, which is that of a result of the window without end.
  void emit(const Key& key, const Window& window, const Acc& sum, Collector<Out>& out, EventTime last = kNoEventTime) {
    Out row{key, window, finish(aggregate_, key, window, sum)};
    if constexpr (kOfClock) {
      out.set_time(kNoEventTime);  // The clock's time is nobody's event time.
      out.emit(std::move(row));
    } else if constexpr (Assigner::kTimed) {
      out.emit(std::move(row), window.end - EventDuration(1));
    } else if (last != kNoEventTime) {
      out.emit(std::move(row), last);
    } else {
      out.emit(std::move(row));
    }
  }

  Assigner assigner_;
  const Agg aggregate_;
  const Trigger trigger_;
  const WindowOptions options_;
  State state_;
  WindowWatch watch_;
  std::uint64_t keys_ = 0;  // And values that accumulators hold.
  std::optional<typename Combining<Key, Agg, Assigner::kSliding>::Type> combined_;
  KeyGroups groups_;
  OperatorClock clock_;                    // Where windows or their trigger go by it,
  ClockState came_;                        // how far it has come for windows,
  ClockState early_{EventTime::max()};     // and when the trigger is due: never, while there is nothing new.
};

}  // namespace sluice::internal
