#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <sluice/engine/joins/co_operator.h>
#include <sluice/engine/joins/internal/due.h>
#include <sluice/engine/joins/internal/join_call.h>
#include <sluice/engine/joins/internal/join_state.h>

namespace sluice {

namespace internal {

/// Half-open windows of one length, one every `slide`: [n × slide + offset, n × slide + offset + size).
struct JoinWindows {
  EventDuration size{}, slide{}, offset{};
  [[nodiscard]] Status check() const {
    if (size <= EventDuration::zero() || slide <= EventDuration::zero() || size > kLongest || slide > size) {
      return Status(Code::kInvalid, fmt::format("a window join of {} ms every {} ms: both must be above 0, and the second not above the "
                                                "first, or rows between two windows would be in none", size.count(), slide.count()));
    }
    return {};
  }
};

/// Of windows that do not depend on the data: tumbling and sliding ones.
template <class Windows>
[[nodiscard]] JoinWindows join_windows(const Windows& windows) {
  static_assert(requires { windows.slice(EventTime()).start; requires Windows::kTimed; },
                "a window join takes tumbling(…) or sliding(…): the windows of both sides must be the same");
  if constexpr (Windows::kSliding) {
    return {windows.size(), windows.slide(), windows.last(windows.slice(EventTime())).start.time_since_epoch()};
  } else {
    const auto window = windows.slice(EventTime());
    return {window.end - window.start, window.end - window.start, window.start.time_since_epoch()};
  }
}

}  // namespace internal

/// Joins all rows of a key that fall into the same window; a window's rows are made when the watermark reaches its end, with the
/// window's last millisecond as their event time. KeyedStream::join(…).window(…) makes it; engine/joins/joins.md has the rules.
///
/// State      each row once, however many windows it is in, until the last of them is done; and the watermark.
/// Late       a row of which all windows are done is dropped and counted in sluice_operator_late_dropped_total; one that is in an open
///            window too counts there.
/// Suspends   never.
/// Errors     kExhausted beyond a bound of JoinOptions; kInvalid for records without event time.
template <class Key, class L, class R, JoinKind kKind, class F>
class WindowJoin final : public CoOperator<Key, L, R, typename internal::JoinCall<kKind, F, L, R>::Out> {
 public:
  using Call = internal::JoinCall<kKind, F, L, R>;
  using Out = typename Call::Out;

  WindowJoin(internal::JoinWindows windows, F f, JoinOptions options)
      : size_(windows.size),
        slide_(windows.slide),
        starts_(windows.slide, windows.offset),
        first_starts_(windows.slide, windows.offset),
        slices_(slice(windows), windows.offset),
        slice_(slice(windows)),
        f_(std::move(f)),
        state_(internal::kind_of(fmt::format("{}_window_join", internal::name_of(kKind)), options.contents)),
        due_(windows.slide, windows.offset + windows.size % windows.slide, true),
        limits_("window join", std::move(options)) {}

  void declare(StateSet& states) override {
    states.add("rows", state_);
    states.add("watermark", watermark_);
  }
  Status open(const Context& context) override {
    limits_.open(context);
    state_.for_each([&](const Kept& key, const Slot& slot) {
      limits_.left += slot.left.size();
      limits_.right += slot.right.size();
      plan(key, slot, std::max(first_end(slot), first_end_behind(watermark_.seen())));
    });
    return {};
  }
  Status process_left(const Batch<Keyed<Key, L>>& batch, Collector<Out>& out) override { return take<true>(batch, out); }
  Status process_right(const Batch<Keyed<Key, R>>& batch, Collector<Out>& out) override { return take<false>(batch, out); }
  Status on_watermark(EventTime watermark, Collector<Out>& out) override {
    return watermark_.advance(watermark) ? close_until(watermark, out) : Status();
  }
  Status end_of_input(Collector<Out>& out) override { return close_until(EventTime::max(), out); }

 private:
  using Kept = typename internal::JoinKey<Key>::Kept;
  using Slot = internal::JoinSlot<L, R>;
  static constexpr EventDuration kTick{1};

  template <bool kLeft, class In>
  Status take(const Batch<Keyed<Key, In>>& batch, Collector<Out>& out) {
    if (batch.times().size() != batch.size()) return limits_.without_times();
    EventTime& newest = kLeft ? limits_.newest_left : limits_.newest_right;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const EventTime time = batch.times()[i];
      if (time < internal::kFirstTime || time > internal::kLastTime) [[unlikely]] return limits_.no_time(time);
      if (last_end(time) <= watermark_.seen()) [[unlikely]] {
        limits_.late(kLeft ? "left" : "right", batch[i].key, time, watermark_.seen());
        continue;
      }
      const Keyed<Key, In>& record = batch[i];
      if (internal::JoinKey<Key>::null(record.key)) {
        unmatched_now<kLeft>(record.value, time, out);
        continue;
      }
      const auto& key = internal::JoinKey<Key>::look_up(record.key);
      Slot& slot = state_.at(key, record.group);
      if constexpr (kLeft) {
        slot.left.add(time, record.value, false);
        ++limits_.left;
      } else if (kKind != JoinKind::kSemi || !any_like(slot.right, time)) {
        slot.right.add(time, record.value, false);
        ++limits_.right;
      }
      newest = std::max(newest, time);
      EventTime end = first_end(time);
      if (end <= watermark_.seen()) end = first_end_behind(watermark_.seen());
      if (end - kTick < slot.due) plan(Kept(key), slot, end);
    }
    return limits_.check(watermark_.seen());
  }
  // Of the windows that hold a time, and of all.
  [[nodiscard]] EventTime last_end(EventTime time) noexcept { return starts_.down(time) + size_; }
  [[nodiscard]] EventTime first_end(EventTime time) noexcept { return first_starts_.down(time - size_) + slide_ + size_; }
  [[nodiscard]] EventTime first_end_behind(EventTime time) noexcept {
    return first_starts_.down(internal::sum_within(time, -size_)) + slide_ + size_;
  }
  /// One that is in the same windows: for a semi join it stands for all of them.
  [[nodiscard]] bool any_like(internal::Rows<R>& rows, EventTime time) {
    const EventTime first = slices_.down(time);
    bool any = false;
    rows.between(first, first + slice_ - kTick, [&](const auto&) { any = true; });
    return any;
  }
  /// Nobody can be its partner, in any of its windows.
  template <bool kLeft, class In>
  void unmatched_now(const In& value, EventTime time, Collector<Out>& out) {
    const EventTime last = last_end(time);
    for (EventTime end = std::max(first_end(time), first_end_behind(watermark_.seen())); end <= last; end += slide_) {
      if constexpr (kLeft && internal::keeps_left(kKind)) {
        out.emit(Call::run(f_, &value, static_cast<const R*>(nullptr), out), end - kTick);
      } else if constexpr (!kLeft && internal::keeps_right(kKind)) {
        out.emit(Call::run(f_, static_cast<const L*>(nullptr), &value, out), end - kTick);
      }
    }
  }

  [[nodiscard]] EventTime first_end(const Slot& slot) noexcept {
    EventTime first = EventTime::max();
    if (!slot.left.empty()) first = slot.left.front().time();
    if (!slot.right.empty()) first = std::min(first, slot.right.front().time());
    return first_end(first);
  }
  /// A window is due when the watermark is behind its last millisecond.
  void plan(const Kept& key, const Slot& slot, EventTime end) {
    slot.due = end - kTick;
    due_.add(slot.due, key);
  }

  Status close_until(EventTime watermark, Collector<Out>& out) {
    std::uint64_t results = 0;
    due_.pass(watermark, [&](const Kept& key, EventTime due) {
      Slot* const slot = state_.change(key);
      if (slot == nullptr || slot->due != due || limits_.too_many(results)) return;
      for (EventTime end = due + kTick; end <= watermark;) {
        results += make_rows(*slot, end, out);
        const EventTime next = end - size_ + slide_;  // Where the next window begins.
        limits_.left -= drop(slot->left, next);
        limits_.right -= drop(slot->right, next);
        if (slot->left.empty() && slot->right.empty()) {
          state_.erase(key);
          return;
        }
        end = std::max(end + slide_, first_end(*slot));
        slot->due = end - kTick;
      }
      due_.add(slot->due, key);
    });
    return limits_.check_results(results);
  }
  /// Makes the rows of the window that ends at `end`.
  std::uint64_t make_rows(Slot& slot, EventTime end, Collector<Out>& out) {
    const EventTime first = end - size_, last = end - kTick;
    std::uint64_t results = 0;
    bool any_left = false;
    slot.left.between(first, last, [&](const internal::Row<L>& left) {
      any_left = true;
      if (limits_.too_many(results)) return;
      const std::uint64_t before = results;
      slot.right.between(first, last, [&](const internal::Row<R>& right) {
        if (kKind == JoinKind::kSemi && results != before) return;
        ++results;
        out.emit(Call::run(f_, &left.value, &right.value, out), last);
      });
      if constexpr (internal::keeps_left(kKind)) {
        if (results != before) return;
        ++results;
        out.emit(Call::run(f_, &left.value, static_cast<const R*>(nullptr), out), last);
      }
    });
    if constexpr (internal::keeps_right(kKind)) {
      if (any_left) return results;
      slot.right.between(first, last, [&](const internal::Row<R>& right) {
        ++results;
        out.emit(Call::run(f_, static_cast<const L*>(nullptr), &right.value, out), last);
      });
    }
    return results;
  }
  template <class T>
  static std::uint64_t drop(internal::Rows<T>& rows, EventTime before) {
    std::uint64_t dropped = 0;
    for (; !rows.empty() && rows.front().time() < before; ++dropped) rows.pop_front();
    return dropped;
  }

  static EventDuration slice(const internal::JoinWindows& windows) {
    return EventDuration(std::gcd(windows.size.count(), windows.slide.count()));
  }

  const EventDuration size_, slide_;
  internal::Steps starts_, first_starts_, slices_;
  const EventDuration slice_;  // What lies in one is in the same windows.
  F f_;
  internal::JoinState<Kept, L, R> state_;
  internal::WatermarkState watermark_;
  internal::Due<Kept> due_;
  internal::JoinLimits limits_;
};

}  // namespace sluice
