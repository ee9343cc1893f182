#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <sluice/engine/keyed.h>
#include <sluice/engine/operator.h>
#include <sluice/engine/windows/assigners.h>
#include <sluice/engine/windows/internal/clock_state.h>
#include <sluice/engine/windows/internal/marked.h>
#include <sluice/engine/windows/internal/session_state.h>
#include <sluice/engine/windows/internal/slice_windows.h>
#include <sluice/engine/windows/internal/window_options.h>
#include <sluice/engine/windows/trigger.h>

namespace sluice::internal {

/// Session windows of a keyed stream. Two sessions of a key never overlap, whatever comes late.
///
/// State      each key's open sessions, and for one gap the end of its last closed one; past limit_keys(), kExhausted. The watermark.
/// Late       a record that would open a session, or move the start of one back, when its own end (and the allowed lateness) is at or
///            below the watermark, or that would reach into a session which has spoken, goes aside and is counted.
/// Clock      sessions of processing time: what the watermark is to others, the clock is to them, read once a batch and a deadline.
/// Suspends   never.
template <class Key, class T, class A, class Assigner = Session, class Trigger = AtEnd>
class SessionWindows final : public SideOperator<Keyed<Key, T>, Windowed<Key, Finished<A, Key>>, T> {
 public:
  using In = Keyed<Key, T>;
  using Out = Windowed<Key, Finished<A, Key>>;
  static constexpr bool kOfClock = internal::kOfClock<Assigner>;
  /// With a trigger that must know what came since it last spoke.
  static constexpr bool kMarks = Trigger::kCounts || Trigger::kClock;
  using Agg = std::conditional_t<kMarks, Marked<A>, A>;
  using Acc = typename Agg::Accumulator;
  using State = SessionState<Key, Acc>;
  using Cell = typename State::Cell;
  using Kept = typename State::Kept;
  static_assert(Mergeable<A>, "a record may join two sessions: the aggregate needs merge(into, later)");
  static_assert(!kOfClock || !Trigger::kEarly, "early(period) goes by the watermark, and these windows by the clock: give them "
                                               "processing_time(early(period))");

  SessionWindows(Assigner windows, A aggregate, WindowOptions options, Trigger trigger = {})
      : gap_(windows.gap()), aggregate_(marked_if<Agg>(std::move(aggregate))), trigger_(trigger), options_(std::move(options)),
        state_(options_.state_name(windows.describe())) {}

  void declare(StateSet& states) override {
    states.add("sessions", state_);
    if constexpr (kOfClock) states.add("clock", came_);
    if constexpr (Trigger::kClock) states.add("early", early_);
  }

  Status open(const Context& context) override {
    watch_.open(context, options_);
    groups_ = context.key_groups;
    if constexpr (kOfClock || Trigger::kClock) clock_.open(*context.clock, came_.latest());
    if constexpr (kOfClock) state_.watermark = came_.now = came_.first();
    if constexpr (Trigger::kClock) {
      if (early_.first() != kNoEventTime && early_.first() != EventTime::max()) {
        plan_early();
        early_.now = std::min(early_.now, early_.first());  // A clock that was set back holds no trigger up.
      }
    }
    horizon_ = horizon_of(state_.watermark, options_.allowed_lateness);
    std::int64_t sessions = 0;
    state_.table.for_each([&](const Kept&, Cell& cell) {
      auto all = state_.take(cell);
      // What was written piece by piece may have what the watermark has closed since.
      std::erase_if(all, [&](const auto& one) { return one.bounds.end <= horizon_ && close(cell, one.bounds); });
      keys_ += 1;
      for (const auto& one : all) keys_ += kept_by(aggregate_, one.sum);
      sessions += static_cast<std::int64_t>(all.size());
      state_.put(cell, std::move(all));
    });
    watch_.windows(sessions);
    for (std::size_t part = 0; part < state_.table.parts(); ++part) sweep(part, EventTime::min(), state_.watermark);
    return watch_.keys(keys_);
  }
  void close() override { watch_.close(); }

  Status process(const Batch<In>& batch, Collector<Out>& out) override {
    if (!kOfClock && batch.times().empty() && !batch.empty()) return watch_.without_time();
    if constexpr (kOfClock) come_to(clock_.now(), out);
    if constexpr (Trigger::kClock) plan_early();
    const EventTime watermark = state_.watermark;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const In& record = batch[i];
      const EventTime time = kOfClock ? watermark : batch.times()[i];
      const auto [cell, made] = state_.table.put(record.key, record.group);
      if (time >= cell->bounds.start && time < cell->bounds.end && cell->bounds.end > watermark) [[likely]] {
        // It goes on: nothing is nearer to its end, and what is before its start is left alone.
        cell->bounds.end = std::max(cell->bounds.end, time + gap_);
        state_.touch(*cell, record.key);
        if (const std::size_t more = add_to(aggregate_, cell->sum, record.value); more > 0) SLUICE_TRY(grow(more));
        if constexpr (Trigger::kCounts) speak_counted(record.key, cell->bounds, cell->sum, out);
      } else {
        SLUICE_TRY(open_or_join(record, time, *cell, made, out));
      }
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
      state_.watermark = horizon_ = now;  // The end is this run's: the clock of a later one goes on.
      state_.table = typename State::Table(groups_);
      state_.tell_all();
      known_.clear();
      keys_ = 0;
    }
    if constexpr (Trigger::kClock) early_.now = EventTime::max();
    return {};
  }
  io::Monotonic deadline() override {
    EventTime due = EventTime::max();
    if constexpr (Trigger::kClock) due = early_.now;
    if constexpr (kOfClock) {
      if (state_.table.size() != 0) due = std::min(due, next_look());
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
  using Sessions = typename State::Sessions;
  Status grow(std::size_t more) {
    keys_ += more;
    return watch_.keys(keys_);
  }

  /// Sessions of processing time: the clock stands at `time`. It never goes back.
  void come_to(EventTime time, Collector<Out>& out) {
    advance(time, out);
    came_.now = state_.watermark;
  }
  void advance(EventTime watermark, Collector<Out>& out) {
    if (watermark <= state_.watermark) return;
    const EventTime before = std::exchange(state_.watermark, watermark);
    horizon_ = horizon_of(watermark, options_.allowed_lateness);
    look_ahead(before);
    while (!due_.empty() && due_.front().time <= watermark) {
      std::ranges::pop_heap(due_, later);
      const Due due = std::move(due_.back());
      due_.pop_back();
      Cell* const cell = state_.table.find_kept(due.key);
      if (cell == nullptr || cell->due != due.time) continue;  // It was made due earlier, and has been.
      speak(due.key, *cell, before, out);
    }
    if constexpr (Trigger::kEarly) speak_early(before, out);
  }
  /// When an end may come, or is to be looked for.
  [[nodiscard]] EventTime next_look() const {
    EventTime next = due_.empty() ? EventTime::max() : due_.front().time;
    if (known_.empty()) next = std::min(next, state_.watermark + EventDuration(1));  // Restored, and not looked at yet.
    for (const EventTime known : known_) next = std::min(next, known + EventDuration(1));
    return next;
  }

  /// A record that is not simply within the key's latest session.
  Status open_or_join(const In& record, EventTime time, Cell& cell, bool made, Collector<Out>& out) {
    if (time < kWindowTimeMin || time > kWindowTimeMax) {
      return time == kNoEventTime ? watch_.without_time() : watch_.out_of_range(time);
    }
    Window own{time, time + gap_};
    if (!cell.open() && own.start >= cell.closed && own.end > horizon_) {
      cell.bounds = own;
      state_.touch(cell, record.key);
      watch_.windows(1);
      const std::size_t more = add_to(aggregate_, cell.sum, record.value) + (made ? 1 : 0);
      speak_behind(record.key, own, cell.sum, out);
      schedule(record.key, record.group, cell, next_of(own, state_.watermark));
      return grow(more);
    }
    Sessions all = state_.take(cell);
    const auto first = std::ranges::find_if(all, [&](const auto& one) { return one.bounds.end > own.start; });
    const auto last = std::find_if(first, all.end(), [&](const auto& one) { return one.bounds.start >= own.end; });
    const bool joins = first != last;
    // One that is within an open session is welcome however old it is. One that would begin a session, or move the start of one back,
    // is not when a session of its own would be over: what is remembered of closed ones is bounded by that.
    const bool over = own.end <= horizon_ && (!joins || own.start < first->bounds.start);
    if (joins) {
      own.start = std::min(own.start, first->bounds.start);
      own.end = std::max(own.end, (last - 1)->bounds.end);
    }
    if (over || own.start < cell.closed) {
      state_.put(cell, std::move(all));
      if (made) state_.table.erase_kept(KeptKey<Key>::keep(record.key));
      this->side().emit(record.value, time);
      watch_.late(record.key, time, state_.watermark);
      return {};
    }
    state_.touch(cell, record.key);
    Acc sum{};
    if (joins) {
      sum = std::move(first->sum);
      for (auto at = first + 1; at != last; ++at) {
        keys_ -= kept_by(aggregate_, sum) + kept_by(aggregate_, at->sum);
        aggregate_.merge(sum, at->sum);
        keys_ += kept_by(aggregate_, sum);
      }
    }
    const std::size_t more = add_to(aggregate_, sum, record.value) + (made ? 1 : 0);
    watch_.windows(1 - (last - first));
    speak_behind(record.key, own, sum, out);
    const auto at = all.erase(first, last);
    all.insert(at, {own, std::move(sum)});
    schedule(record.key, record.group, cell, next_of(all, state_.watermark));
    state_.put(cell, std::move(all));
    return grow(more);
  }

  void speak(const Kept& kept, Cell& cell, EventTime before, Collector<Out>& out) {
    cell.due = EventTime::max();
    if (cell.more == 0 && cell.bounds.end > state_.watermark) {  // It went on since.
      schedule(KeptKey<Key>::show(kept), state_.table.group_of(kept), cell, cell.bounds.end);
      return;
    }
    if (cell.more == 0 && cell.bounds.end > before && cell.bounds.end <= horizon_) {  // As nearly all do.
      speak_at_end(kept, cell.bounds, cell.sum, out);
      keys_ -= kept_by(aggregate_, cell.sum);
      (void)close(cell, cell.bounds);
      cell.bounds = {};
      cell.sum = Acc{};
      watch_.windows(-1);
      return;
    }
    Sessions all = state_.take(cell);
    std::erase_if(all, [&](auto& one) {
      if (one.bounds.end > before && one.bounds.end <= state_.watermark) speak_at_end(kept, one.bounds, one.sum, out);
      if (one.bounds.end > horizon_) return false;
      (void)close(cell, one.bounds);
      keys_ -= kept_by(aggregate_, one.sum);
      watch_.windows(-1);
      return true;
    });
    schedule(KeptKey<Key>::show(kept), state_.table.group_of(kept), cell, next_of(all, state_.watermark));
    state_.put(cell, std::move(all));
  }
  /// With a trigger that counts, where something came since; otherwise always, new or not: that row stands for the session.
  void speak_at_end(const Kept& kept, const Window& bounds, Acc& sum, Collector<Out>& out) {
    if constexpr (kMarks) {
      if (std::exchange(sum.since, 0) == 0 && Trigger::kCounts) return;
    }
    if constexpr (kOfClock) {
      // Before the restart it may have spoken on another shard, whose clock was further.
      if (bounds.end <= came_.last()) [[unlikely]] {
        if (bounds.end <= came_.of(state_.table.group_of(kept))) return;
      }
    }
    emit(KeptKey<Key>::give(kept, out), bounds, sum, out);
  }
  /// Behind a record of a session: it may be late, and allowed, and says so anew; or the trigger has counted enough.
  void speak_behind(const Key& key, const Window& bounds, Acc& sum, Collector<Out>& out) {
    if (bounds.end <= state_.watermark) {
      emit(key, bounds, sum, out);
      if constexpr (kMarks) sum.since = 0;
    } else if constexpr (Trigger::kCounts) {
      speak_counted(key, bounds, sum, out);
    }
  }
  void speak_counted(const Key& key, const Window& bounds, Acc& sum, Collector<Out>& out) requires(Trigger::kCounts) {
    if (sum.since < trigger_.records) [[likely]] return;
    emit(key, bounds, sum, out);
    sum.since = 0;
    if (!trigger_.purge) return;
    keys_ -= kept_by(aggregate_, sum);
    sum = Acc{};  // The session stays open: of what comes within its gap it says the rest.
  }
  void speak_early(EventTime before, Collector<Out>& out) requires(Trigger::kEarly) {
    if (state_.watermark == EventTime::max() || before < kWindowTimeMin) return;
    if (floor_to(state_.watermark, trigger_.period, EventDuration(0)) <= before) return;
    each_open([&](const Kept& kept, Cell&, const Window& bounds, Acc& sum) { emit(KeptKey<Key>::give(kept, out), bounds, sum, out); });
  }
  /// What came since it was last said.
  void speak_news(Collector<Out>& out) requires(Trigger::kClock) {
    early_.now = EventTime::max();  // Until a record comes.
    each_open([&](const Kept& kept, Cell& cell, const Window& bounds, Acc& sum) {
      if (std::exchange(sum.since, 0) == 0) return;
      emit(KeptKey<Key>::give(kept, out), bounds, sum, out);
      state_.touch(cell, KeptKey<Key>::show(kept));
    });
  }
  void plan_early() requires(Trigger::kClock) {
    if (early_.now != EventTime::max()) [[likely]] return;
    early_.now = floor_to(clock_.now(), trigger_.period, EventDuration(0)) + trigger_.period;
  }
  /// `visit(kept, cell, bounds, sum)` for each session that has not spoken.
  template <class F>
  void each_open(F&& visit) {
    state_.table.for_each([&](const Kept& kept, Cell& cell) {
      if (cell.more != 0) {
        for (auto& one : state_.others(cell)) {
          if (one.bounds.end > state_.watermark) visit(kept, cell, one.bounds, one.sum);
        }
      }
      if (cell.open() && cell.bounds.end > state_.watermark) visit(kept, cell, cell.bounds, cell.sum);
    });
  }
  static bool close(Cell& cell, const Window& session) noexcept {
    cell.closed = std::max(cell.closed, session.end);
    return true;
  }
  /// No record that is not late can reach its last session any more.
  [[nodiscard]] bool over(const Cell& cell) const noexcept { return cell.closed + gap_ <= horizon_; }

  /// When a session is to speak, or to go; those that end at `spoken` or before have spoken.
  [[nodiscard]] EventTime next_of(const Window& bounds, EventTime spoken) const noexcept {
    return bounds.end > spoken ? bounds.end : bounds.end + options_.allowed_lateness;
  }
  [[nodiscard]] EventTime next_of(const Sessions& all, EventTime spoken) const noexcept {
    EventTime next = EventTime::max();
    for (const auto& one : all) next = std::min(next, next_of(one.bounds, spoken));
    return next;
  }
  /// Of a key whose next time is within what has been looked at; the others are found when that is moved on. A key that is looked at
  /// too early is looked at again.
  void schedule(const Key& key, KeyGroup group, Cell& cell, EventTime next) {
    if (next >= cell.due || known_.empty() || next > known_[state_.table.part_of(group) % known_.size()]) return;
    due_at(KeptKey<Key>::keep(key), cell, next);
  }
  void due_at(const Kept& kept, Cell& cell, EventTime next) {
    cell.due = next;
    due_.push_back({next, kept});
    std::ranges::push_heap(due_, later);
  }
  /// Most sessions go on: an order of all ends would be kept in vain. So every quarter of a gap each part of the table is looked through
  /// for the ends that may come in the next; parts in turn, so that no look is long.
  void look_ahead(EventTime before) {
    const std::size_t parts = state_.table.parts();
    if (known_.size() != parts) known_.assign(parts, known_.empty() ? EventTime::min() : known_.front());
    for (std::size_t part = 0; part < parts; ++part) {
      if (known_[part] >= state_.watermark) continue;
      const EventDuration ahead = gap_ / 8 + gap_ / 8 * static_cast<std::int64_t>(part + 1) / static_cast<std::int64_t>(parts);
      const bool within = state_.watermark >= kWindowTimeMin && state_.watermark <= kWindowTimeMax;
      known_[part] = within ? state_.watermark + ahead : state_.watermark;
      sweep(part, known_[part], before);
    }
  }
  /// Keys without a session go when they may.
  void sweep(std::size_t part, EventTime until, EventTime spoken) {
    keys_ -= state_.table.erase_if(part, [&](const Kept& kept, Cell& cell) {
      if (!cell.open()) return over(cell);
      EventTime next = next_of(cell.bounds, spoken);
      if (cell.more != 0) [[unlikely]] next = std::min(next, next_of(state_.others(cell), spoken));
      if (next <= until && next < cell.due) due_at(kept, cell, next);
      return false;
    });
  }
  void emit(const Key& key, const Window& window, const Acc& sum, Collector<Out>& out) {
    Out row{key, window, finish(aggregate_, key, window, sum)};
    if constexpr (kOfClock) {
      out.set_time(kNoEventTime);  // The clock's time is nobody's event time.
      out.emit(std::move(row));
    } else {
      out.emit(std::move(row), window.end - EventDuration(1));
    }
  }

  const EventDuration gap_;
  const Agg aggregate_;
  const Trigger trigger_;
  const WindowOptions options_;
  State state_;
  struct Due {
    EventTime time;
    Kept key;
  };
  static constexpr auto later = [](const Due& a, const Due& b) { return a.time > b.time; };
  std::vector<Due> due_;           // A heap, the first in front.
  std::vector<EventTime> known_;   // For each part of the table: ends up to here are in due_.
  WindowWatch watch_;
  KeyGroups groups_;
  OperatorClock clock_;                 // Where sessions or their trigger go by it,
  ClockState came_;                     // how far it has come for sessions,
  ClockState early_{EventTime::max()};  // and when the trigger is due: never, while there is nothing new.
  EventTime horizon_ = EventTime::min();
  std::uint64_t keys_ = 0;  // And values that accumulators hold.
};

}  // namespace sluice::internal
