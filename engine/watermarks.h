#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <sluice/engine/event_time.h>
#include <sluice/engine/event_time_text.h>
#include <sluice/engine/internal/time_plan.h>
#include <sluice/engine/record.h>
#include <sluice/io/base/status.h>

namespace sluice {

/// How a stream gets its event time: where a record's time is, how far the watermark is behind, and what becomes of splits that say
/// nothing, of records without a time, and of clocks that are wrong. A value; Stream::watermarks takes it. See time.md.
///
/// Shard      none: it describes. Each shard gets copies of the callables, each split one of its generator.
/// Units      std::chrono; event times are whole milliseconds.
/// Errors     check(), asked when the job is: a setting that cannot be, with its value.
///
///     orders.watermarks(bounded_out_of_orderness<Order>(60s, &Order::time).idle_after(30s), "order-time")
template <class T>
class Watermarks {
 public:
  using Make = std::function<std::unique_ptr<internal::TimePlan<T>>()>;
  explicit Watermarks(Make make) : make_(std::move(make)) {}

  /// A split that has sent nothing for so long does not hold the watermark. By the machine's steady clock: a system clock that is set
  /// changes nothing. Not given: a silent split holds it for ever, and with it every window.
  [[nodiscard]] Watermarks idle_after(std::chrono::nanoseconds silence) const {
    return with([&](internal::TimeOptions& options) { options.idle_after = silence; });
  }
  /// The watermark does not follow a record that is more than `jump` ahead of all before it in its split (of the machine's clock, for
  /// the first): one clock of the future makes nobody late. The record keeps its time. When `confirmed_by` records in a row are that
  /// far ahead it is the stream that has moved on, and the watermark follows.
  [[nodiscard]] Watermarks ignore_jumps_over(EventDuration jump, std::uint32_t confirmed_by = 100) const {
    return with([&](internal::TimeOptions& options) {
      options.jump_max = jump;
      options.jumps_confirmed = confirmed_by;
      options.guards_jumps = true;
    });
  }
  /// Records whose time is missing, unreadable or out of range. Not given: kFail.
  [[nodiscard]] Watermarks on_missing(MissingTime policy) const {
    return with([&](internal::TimeOptions& options) { options.missing = policy; });
  }
  /// A split that is further ahead than this of the last one, on whatever shard, is not read until that has caught up: what the fast one
  /// would open of windows stays bounded. A split that has said nothing holds the others, so give idle_after() too.
  [[nodiscard]] Watermarks max_drift(EventDuration drift) const {
    return with([&](internal::TimeOptions& options) {
      options.drift_max = drift;
      options.aligns = true;
    });
  }
  /// Those behind learn of the watermark behind every record that moves it, and batches are cut there. Not needed for lateness, which
  /// is exact without it (time.md); for operators whose timers must fire between two records of one batch. Costs about a
  /// microsecond a record.
  [[nodiscard]] Watermarks every_record() const {
    return with([](internal::TimeOptions& options) { options.every_record = true; });
  }

  // ---- for the engine ----

  [[nodiscard]] Status check() const {
    SLUICE_TRY(options_.check());
    return make_()->check();
  }
  [[nodiscard]] const internal::TimeOptions& options() const noexcept { return options_; }
  [[nodiscard]] std::unique_ptr<internal::TimePlan<T>> make() const { return make_(); }

 private:
  template <class Change>
  [[nodiscard]] Watermarks with(Change change) const {
    Watermarks changed = *this;
    change(changed.options_);
    return changed;
  }
  Make make_;
  internal::TimeOptions options_;
};

namespace internal {

template <class T, class Rule, class TimeOf>
[[nodiscard]] Watermarks<T> make_watermarks(Rule rule, TimeOf time) {
  return Watermarks<T>([rule = std::move(rule), time = std::move(time)]() -> std::unique_ptr<TimePlan<T>> {
    return std::make_unique<RulePlan<T, Rule, TimeOf>>(rule, time);
  });
}

}  // namespace internal

/// The time that the source gave the record: Kafka's timestamp.
struct SourceTime {};

/// Records may come up to `disorder` behind the largest time of their split. `time`: a member (`&Order::time`) or a callable, that says
/// an EventTime, another std::chrono::sys_time, or an optional or Result of one for times that may be missing or unreadable. Not
/// given: the source's.
template <class T, class TimeOf = SourceTime>
[[nodiscard]] Watermarks<T> bounded_out_of_orderness(EventDuration disorder, TimeOf time = {}) {
  return internal::make_watermarks<T>(internal::BoundedRule{disorder}, std::move(time));
}
/// Times of a split never go back.
template <class T, class TimeOf = SourceTime>
[[nodiscard]] Watermarks<T> monotonous(TimeOf time = {}) {
  return internal::make_watermarks<T>(internal::BoundedRule{}, std::move(time));
}
/// Some records say how far time has come: `marker(record, time)` is an std::optional<EventTime>. A copy of it a split; it moves nothing
/// back. An own strategy is the same with a state: a class with that call, and `void restore(EventTime largest, EventTime watermark)`
/// for what it must know of a split that was read before.
template <class T, class Marker, class TimeOf = SourceTime>
[[nodiscard]] Watermarks<T> punctuated(Marker marker, TimeOf time = {}) {
  return internal::make_watermarks<T>(internal::OwnRule<Marker>{std::move(marker)}, std::move(time));
}

/// A time reader for numbers: `epoch_time(&Order::seconds, TimeUnit::kSeconds)`. Out of range is missing.
template <class Number>
[[nodiscard]] auto epoch_time(Number number, TimeUnit unit) {
  return [number = std::move(number), unit](const auto& record) {
    return event_time(static_cast<std::int64_t>(std::invoke(number, record)), unit);
  };
}
/// A time reader for texts: `text_time(&Order::placed)`; see parse_event_time.
template <class Text>
[[nodiscard]] auto text_time(Text text, TimeUnit unit = TimeUnit::kMilliseconds, NoOffset without = NoOffset::kRefuse) {
  return [text = std::move(text), unit, without](const auto& record) {
    return parse_event_time(std::invoke(text, record), unit, without);
  };
}

}  // namespace sluice
