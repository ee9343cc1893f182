#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <sluice/engine/joins/co_operator.h>
#include <sluice/engine/joins/internal/due.h>
#include <sluice/engine/joins/internal/join_call.h>
#include <sluice/engine/joins/internal/join_state.h>

namespace sluice {

/// Joins rows of a key whose event times lie near each other: left + lower <= right <= left + upper. KeyedStream::join(…).between(…)
/// makes it; engine/joins/joins.md has the rules.
///
/// State      each row until the watermark has passed the last time at which a partner could come, and the watermark.
/// Late       a row in front of the watermark is dropped and counted in sluice_operator_late_dropped_total: its partners may have been
///            given up.
/// Suspends   never.
/// Errors     kExhausted beyond a bound of JoinOptions; kInvalid for records without event time.
template <class Key, class L, class R, JoinKind kKind, class F>
class IntervalJoin final : public CoOperator<Key, L, R, typename internal::JoinCall<kKind, F, L, R>::Out> {
 public:
  using Call = internal::JoinCall<kKind, F, L, R>;
  using Out = typename Call::Out;

  IntervalJoin(EventDuration lower, EventDuration upper, F f, JoinOptions options)
      : lower_(lower),
        upper_(upper),
        f_(std::move(f)),
        state_(internal::kind_of(fmt::format("{}_interval_join", internal::name_of(kKind)), options.contents)),
        due_(bucket(lower, upper), EventDuration::zero(), kKind != JoinKind::kInner),
        limits_("interval join", std::move(options)) {}

  void declare(StateSet& states) override {
    states.add("rows", state_);
    states.add("watermark", watermark_);
  }
  Status open(const Context& context) override {
    limits_.open(context);
    state_.for_each([&](const Kept& key, const Slot& slot) {
      limits_.left += slot.left.size();
      limits_.right += slot.right.size();
      plan(key, slot, next_due(slot));
    });
    return {};
  }
  Status process_left(const Batch<Keyed<Key, L>>& batch, Collector<Out>& out) override { return take<true>(batch, out); }
  Status process_right(const Batch<Keyed<Key, R>>& batch, Collector<Out>& out) override { return take<false>(batch, out); }
  Status on_watermark(EventTime watermark, Collector<Out>& out) override {
    return watermark_.advance(watermark) ? give_up(watermark, out) : Status();
  }
  Status end_of_input(Collector<Out>& out) override { return give_up(EventTime::max(), out); }

 private:
  using Kept = typename internal::JoinKey<Key>::Kept;
  using Slot = internal::JoinSlot<L, R>;

  /// Wide enough that there are few buckets, narrow enough that a row is not kept much longer than it is needed; where every row has its
  /// time, so narrow that a watermark passes most buckets as a whole.
  static EventDuration bucket(EventDuration lower, EventDuration upper) {
    const bool exact = kKind != JoinKind::kInner;
    return std::clamp((upper - lower) / (exact ? 2'048 : 16), EventDuration(exact ? 4 : 16), EventDuration(3'600'000));
  }
  /// The first and the last time of a partner.
  template <bool kLeft>
  [[nodiscard]] EventTime first_partner(EventTime time) const noexcept { return time + (kLeft ? lower_ : -upper_); }
  template <bool kLeft>
  [[nodiscard]] EventTime last_partner(EventTime time) const noexcept { return time + (kLeft ? upper_ : -lower_); }

  template <bool kLeft, class In>
  Status take(const Batch<Keyed<Key, In>>& batch, Collector<Out>& out) {
    if (batch.times().size() != batch.size()) return limits_.without_times();
    EventTime& newest = kLeft ? limits_.newest_left : limits_.newest_right;
    std::uint64_t& kept = kLeft ? limits_.left : limits_.right;
    std::uint64_t results = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const EventTime time = batch.times()[i];
      if (time < internal::kFirstTime || time > internal::kLastTime) [[unlikely]] return limits_.no_time(time);
      if (time < watermark_.seen()) [[unlikely]] {
        limits_.late(kLeft ? "left" : "right", batch[i].key, time, watermark_.seen());
        continue;
      }
      const Keyed<Key, In>& record = batch[i];
      const EventTime last = last_partner<kLeft>(time);
      const bool null = internal::JoinKey<Key>::null(record.key);
      const bool keep = last >= watermark_.seen() && !null;  // Else no partner can come any more.
      const auto& key = internal::JoinKey<Key>::look_up(record.key);
      Slot* const slot = keep ? &state_.at(key, record.group) : null ? nullptr : state_.change(key);
      bool matched = false;
      if (slot != nullptr) {
        partners<kLeft>(*slot).between(first_partner<kLeft>(time), last, [&](auto& partner) {
          const bool seen = kLeft ? matched : partner.matched();  // The left one of the two.
          matched = true;
          if (kKind != JoinKind::kInner) partner.match();
          if (kKind == JoinKind::kSemi && seen) return;
          ++results;
          if constexpr (kLeft) {
            out.emit(Call::run(f_, &record.value, &partner.value, out), std::max(time, partner.time()));
          } else {
            out.emit(Call::run(f_, &partner.value, &record.value, out), std::max(time, partner.time()));
          }
        });
      }
      if (limits_.too_many(results)) [[unlikely]] return limits_.too_many_results();
      if (kKind == JoinKind::kSemi && kLeft && matched) continue;  // All that it can make is made.
      if (keep) {
        own<kLeft>(*slot).add(time, record.value, matched);
        ++kept;
        newest = std::max(newest, time);
        if (last < slot->due) plan(Kept(key), *slot, last);
      } else if (!matched) {
        unmatched<kLeft>(record.value, time, out);
      }
    }
    SLUICE_TRY(limits_.check_results(results));
    return limits_.check(watermark_.seen());
  }
  template <bool kLeft>
  static auto& own(Slot& slot) noexcept {
    if constexpr (kLeft) {
      return slot.left;
    } else {
      return slot.right;
    }
  }
  template <bool kLeft>
  static auto& partners(Slot& slot) noexcept { return own<!kLeft>(slot); }

  [[nodiscard]] EventTime next_due(const Slot& slot) const noexcept {
    EventTime due = EventTime::max();
    if (!slot.left.empty()) due = last_partner<true>(slot.left.front().time());
    if (!slot.right.empty()) due = std::min(due, last_partner<false>(slot.right.front().time()));
    return due;
  }
  void plan(const Kept& key, const Slot& slot, EventTime due) {
    slot.due = due;
    due_.add(due, key);
  }

  /// Rows whose last partner's time lies before `watermark`: none can come any more.
  Status give_up(EventTime watermark, Collector<Out>& out) {
    std::uint64_t results = 0;
    due_.pass(watermark, [&](const Kept& key, EventTime due) {
      Slot* const slot = state_.change(key);
      if (slot == nullptr || slot->due != due) return;  // Planned anew since, or gone.
      results += drop<true>(*slot, watermark, out) + drop<false>(*slot, watermark, out);
      if (slot->left.empty() && slot->right.empty()) {
        state_.erase(key);
      } else {
        plan(key, *slot, next_due(*slot));
      }
    });
    return limits_.check_results(results);
  }
  template <bool kLeft>
  std::uint64_t drop(Slot& slot, EventTime watermark, Collector<Out>& out) {
    std::uint64_t dropped = 0, results = 0;
    auto& rows = own<kLeft>(slot);
    for (; !rows.empty() && last_partner<kLeft>(rows.front().time()) < watermark; ++dropped) {
      const auto& row = rows.front();
      if (!row.matched()) results += unmatched<kLeft>(row.value, std::max(row.time(), last_partner<kLeft>(row.time())), out);
      rows.pop_front();
    }
    (kLeft ? limits_.left : limits_.right) -= dropped;
    return results;
  }
  /// Its event time is the last at which a partner could have come: before that it was not known, and an earlier one would be late
  /// for whatever follows.
  template <bool kLeft, class In>
  std::uint64_t unmatched(const In& value, EventTime time, Collector<Out>& out) {
    if constexpr (kLeft && internal::keeps_left(kKind)) {
      out.emit(Call::run(f_, &value, static_cast<const R*>(nullptr), out), time);
      return 1;
    } else if constexpr (!kLeft && internal::keeps_right(kKind)) {
      out.emit(Call::run(f_, static_cast<const L*>(nullptr), &value, out), time);
      return 1;
    }
    return 0;
  }

  const EventDuration lower_, upper_;
  F f_;
  internal::JoinState<Kept, L, R> state_;
  internal::WatermarkState watermark_;
  internal::Due<Kept> due_;
  internal::JoinLimits limits_;
};

}  // namespace sluice
