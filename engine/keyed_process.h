#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <sluice/engine/collector.h>
#include <sluice/engine/context.h>
#include <sluice/engine/internal/deadline.h>
#include <sluice/engine/internal/watermark_state.h>
#include <sluice/engine/keyed_state.h>
#include <sluice/engine/timers.h>

namespace sluice {

enum class TimeDomain : std::uint8_t { kEvent, kProcessing };

/// A container of keyed state, with the key left out: what KeyedContext::of() gives.
template <class K, class State>
class OfKey {
 public:
  OfKey(State& state, KeyArg<K> key, KeyGroup group) : state_(state), key_(key), group_(group) {}
  /// A ValueState's value, made by V{} if there is none; counts as changed.
  decltype(auto) value() { return state_.in_group(key_, group_); }
  template <class... A>
  decltype(auto) set(A&&... with) { return state_.set(key_, std::forward<A>(with)...); }
  template <class... A>
  decltype(auto) add(A&&... with) { return state_.add(key_, std::forward<A>(with)...); }
  template <class... A>
  decltype(auto) put(A&&... with) { return state_.put(key_, std::forward<A>(with)...); }
  template <class... A>
  decltype(auto) at(A&&... with) { return state_.at(key_, std::forward<A>(with)...); }
  /// Null where there is none.
  template <class... A>
  decltype(auto) find(A&&... with) { return state_.find(key_, std::forward<A>(with)...); }
  decltype(auto) result() { return state_.result(key_); }
  template <class... A>
  decltype(auto) erase(A&&... with) { return state_.erase(key_, std::forward<A>(with)...); }

 private:
  State& state_;
  const KeyArg<K> key_;
  const KeyGroup group_;
};

namespace internal {

/// What a process operator keeps beside its function's own state.
template <class K>
struct ProcessCore {
  Timers<K> event_timers, processing_timers;
  WatermarkState watermark;
  ProcessingClock clock;
  io::Clock* machine = nullptr;
  EventTime processing_now = kNoEventTime;  // Read once a call of the operator, if at all.
  bool at_end = false;                      // The last firing: what it sets would never fire.
  std::uint64_t dropped = 0;

  EventTime processing_time() {
    if (processing_now == kNoEventTime) processing_now = clock.at(machine->now());
    return processing_now;
  }
};

}  // namespace internal

/// Sets and erases timers of the key that is being processed. A time has one timer a key and domain, however often it is set.
template <class K>
class KeyTimers {
 public:
  KeyTimers(internal::ProcessCore<K>& core, KeyArg<K> key) : core_(core), key_(key) {}
  /// Fires when the watermark has come to `time`; where it has, behind this call with the next watermark.
  void set_event_time(EventTime time) { set(core_.event_timers, time); }
  /// Fires when the clock has come to `time`.
  void set_processing_time(EventTime time) { set(core_.processing_timers, time); }
  void erase_event_time(EventTime time) { core_.event_timers.erase(time, K(key_)); }
  void erase_processing_time(EventTime time) { core_.processing_timers.erase(time, K(key_)); }

 private:
  void set(Timers<K>& timers, EventTime time) {
    if (core_.at_end) {
      ++core_.dropped;
    } else {
      timers.set(time, K(key_));
    }
  }
  internal::ProcessCore<K>& core_;
  const KeyArg<K> key_;
};

/// What a process function knows about the record or the timer in its hands. Lives as long as the call.
template <class K, class S>
class KeyedContext {
 public:
  using SideCollector = Collector<std::conditional_t<std::is_void_v<S>, char, S>>;

  /// A std::string's as a view.
  [[nodiscard]] KeyArg<K> key() const noexcept { return *key_; }
  /// Of the record, kNoEventTime where it has none; of the timer, in on_timer().
  [[nodiscard]] EventTime time() const noexcept { return time_; }
  /// The last that came; kNoEventTime before the first, EventTime::max() at the end of input.
  [[nodiscard]] EventTime watermark() const noexcept { return core_.at_end ? EventTime::max() : core_.watermark.seen(); }
  /// Read once a batch from the job's clock. Does not jump when somebody sets the system's clock.
  [[nodiscard]] EventTime processing_time() { return core_.processing_time(); }
  [[nodiscard]] KeyTimers<K> timers() { return {core_, *key_}; }
  /// In on_timer(): which time has come.
  [[nodiscard]] TimeDomain domain() const noexcept { return domain_; }
  /// `ctx.of(last_).value() = …`: the state of this key.
  template <class State>
  [[nodiscard]] OfKey<K, State> of(State& state) { return {state, *key_, group_}; }
  /// The second way out: `ctx.side().emit(record, time)`.
  [[nodiscard]] SideCollector& side()
    requires(!std::is_void_v<S>)
  {
    return side_(operator_);
  }

  /// For the operator.
  using Side = SideCollector& (*)(void* op);
  KeyedContext(internal::ProcessCore<K>& core, Side to_side, void* op) : core_(core), side_(to_side), operator_(op) {}
  void enter(std::remove_reference_t<KeyArg<K>>& key, KeyGroup group, EventTime time,
             TimeDomain domain = TimeDomain::kEvent) noexcept {
    key_ = &key;
    group_ = group;
    time_ = time;
    domain_ = domain;
    event_time_ = domain == TimeDomain::kEvent ? time : kNoEventTime;
  }
  /// What time-to-live goes by.
  [[nodiscard]] const EventTime& event_time() const noexcept { return event_time_; }

 private:
  internal::ProcessCore<K>& core_;
  const Side side_;
  void* const operator_;
  std::remove_reference_t<KeyArg<K>>* key_ = nullptr;
  KeyGroup group_;
  EventTime time_ = kNoEventTime, event_time_ = kNoEventTime;
  TimeDomain domain_ = TimeDomain::kEvent;
};

/// The base of functions for KeyedStream::process: what is called for each record and each timer of a key, with its state. Called
/// directly, not virtually: what it does not have itself, it takes from here. A copy of it a shard. More: engine/process-functions.md
///
///     struct Inactive : KeyedProcessFunction<std::string, Login, Alert> {       // key, record, result; a fourth: what goes aside
///       void declare(StateSet& states) { states.add("last", last_); }
///       void process(const Login& login, Ctx& ctx, Collector<Alert>& out) {
///         ctx.of(last_).value() = ctx.time();
///         ctx.timers().set_event_time(ctx.time() + 10min);
///       }
///       void on_timer(EventTime time, Ctx& ctx, Collector<Alert>& out) {
///         if (ctx.of(last_).value() + 10min == time) out.emit({std::string(ctx.key()), time});
///       }
///       ValueState<std::string, EventTime> last_;
///     };
///     logins.key_by(&Login::user).process("inactive", Inactive{})
///
/// Shard      its operator's, all calls.
/// Units      event time, processing time and timers: milliseconds since 1970.
/// Errors     process() and on_timer() return void or Status; one that is not ok, or an exception, ends the attempt.
/// Ownership  what is emitted may point into the record; keyed state copies.
template <class K, class T, class O, class S = void>
class KeyedProcessFunction {
 public:
  using Key = K;
  using Input = T;
  using Output = O;
  using Side = S;
  using Ctx = KeyedContext<K, S>;

  void declare(StateSet&) {}
  [[nodiscard]] Status open(const Context&) { return {}; }
  void on_timer(EventTime, Ctx&, Collector<O>&) {}
  void snapshot_state(Epoch) {}
  void notify_checkpoint_complete(Epoch) {}
  void notify_checkpoint_aborted(Epoch) {}
  void close() {}
};

/// A class with such a base.
template <class F>
concept ProcessFunction =
    std::copy_constructible<F> &&
    std::derived_from<F, KeyedProcessFunction<typename F::Key, typename F::Input, typename F::Output, typename F::Side>> &&
    requires(F& f, const typename F::Input& record, typename F::Ctx& ctx, Collector<typename F::Output>& out) {
      f.process(record, ctx, out);
      f.on_timer(EventTime(), ctx, out);
    };

}  // namespace sluice
