#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <sluice/engine/keyed.h>
#include <sluice/engine/keyed_process.h>
#include <sluice/engine/keyed_state.h>
#include <sluice/engine/operator.h>
#include <sluice/engine/record.h>

namespace sluice::internal {

template <class In, class Out, class Side>
struct OperatorWithSide {
  using Type = SideOperator<In, Out, Side>;
};
template <class In, class Out>
struct OperatorWithSide<In, Out, void> {
  using Type = Operator<In, Out>;
};

/// void or Status, as one.
template <class Call>
[[nodiscard, gnu::always_inline]] inline Status status_of(Call&& call) {
  if constexpr (std::is_void_v<decltype(call())>) {
    call();
    return {};
  } else {
    return call();
  }
}

/// A process function as an operator: a plain loop over a batch, and one over the timers that a watermark or the clock has passed.
template <class F, class StreamKey, class T>
class ProcessOperator final : public OperatorWithSide<Keyed<StreamKey, T>, typename F::Output, typename F::Side>::Type {
 public:
  using Key = typename F::Key;
  using Out = typename F::Output;
  using Batches = Batch<Keyed<StreamKey, T>>;
  static constexpr bool kSame = std::same_as<Key, StreamKey>;
  static constexpr bool kText =
      std::same_as<Key, std::string> && (std::same_as<StreamKey, Bytes> || std::same_as<StreamKey, std::string_view>);
  static_assert(kSame || kText, "the function's key must be the stream's: std::string where key_by gives a view of bytes");
  static_assert(std::same_as<T, typename F::Input>, "the function takes records of another type than the stream has");

  explicit ProcessOperator(F f) : f_(std::move(f)), ctx_(core_, &ProcessOperator::side_of, this) {}

  void declare(StateSet& states) override {
    states.add("$event_timers", core_.event_timers);
    states.add("$processing_timers", core_.processing_timers);
    states.add("$watermark", core_.watermark);
    f_.declare(states);
    for (const auto& [name, state] : states.all()) {
      if (auto* const keyed = dynamic_cast<KeyedState*>(state)) {
        keyed->follow(&ctx_.event_time());
        keyed_.push_back(keyed);
      }
    }
  }
  Status open(const Context& context) override {
    id_ = context.operator_id;
    groups_ = context.key_groups;
    core_.machine = context.clock;
    core_.clock.open(*context.clock);
    dropped_ = context.metrics->counter("sluice_timers_dropped_at_end_total");
    fired_ = context.metrics->counter("sluice_timers_fired_total");
    return status_of([&] { return f_.open(context); });
  }
  Status process(const Batches& batch, Collector<Out>& out) override {
    core_.processing_now = kNoEventTime;
    const bool timed = out.timed();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const EventTime time = timed ? batch.times()[i] : kNoEventTime;
      if (timed) out.set_time(time);
      if constexpr (kSame && std::is_reference_v<KeyArg<Key>>) {
        ctx_.enter(batch[i].key, batch[i].group, time);
      } else {
        if constexpr (std::same_as<StreamKey, Bytes>) {
          if (batch[i].key.null()) [[unlikely]] return null_key();
        }
        key_ = view_of(batch[i].key);
        ctx_.enter(key_, batch[i].group, time);
      }
      Status done = status_of([&] { return f_.process(batch[i].value, ctx_, out); });
      if (!done.ok()) [[unlikely]] return done.with(fmt::format("(operator \"{}\")", id_));
    }
    return {};
  }
  Status on_watermark(EventTime watermark, Collector<Out>& out) override {
    core_.processing_now = kNoEventTime;
    if (watermark == EventTime::max()) return fire_last(core_.event_timers, TimeDomain::kEvent, out);
    if (!core_.watermark.advance(watermark)) return {};
    SLUICE_TRY(fire(core_.event_timers, watermark, TimeDomain::kEvent, out));
    // Their time-to-live, behind the timers: one finds what was there at its own time, however far the watermark goes at once.
    for (KeyedState* const state : keyed_) state->advance(watermark);
    return {};
  }
  /// The end of input is the end of both times.
  Status end_of_input(Collector<Out>& out) override {
    SLUICE_TRY(fire_last(core_.event_timers, TimeDomain::kEvent, out));
    SLUICE_TRY(fire_last(core_.processing_timers, TimeDomain::kProcessing, out));
    ended_ = true;
    return {};
  }
  io::Monotonic deadline() override {
    if (ended_ || core_.processing_timers.size() == 0) return kNoDeadline;
    return core_.clock.when(core_.processing_timers.next());
  }
  Status on_deadline(io::Monotonic now, Collector<Out>& out) override {
    core_.processing_now = core_.clock.at(now);
    return fire(core_.processing_timers, core_.processing_now, TimeDomain::kProcessing, out);
  }
  void snapshot_state(Epoch epoch) override { f_.snapshot_state(epoch); }
  void notify_checkpoint_complete(Epoch epoch) override { f_.notify_checkpoint_complete(epoch); }
  void notify_checkpoint_aborted(Epoch epoch) override { f_.notify_checkpoint_aborted(epoch); }
  void close() override { f_.close(); }

 private:
  static typename KeyedContext<Key, typename F::Side>::SideCollector& side_of(void* op) {
    using Collector = typename KeyedContext<Key, typename F::Side>::SideCollector;
    if constexpr (std::is_void_v<typename F::Side>) {
      return *static_cast<Collector*>(op);  // Nobody calls it: ctx.side() is not there.
    } else {
      return static_cast<ProcessOperator*>(op)->side();
    }
  }
  static std::string_view view_of(const StreamKey& key) noexcept
    requires(!(kSame && std::is_reference_v<KeyArg<Key>>))
  {
    if constexpr (std::same_as<StreamKey, Bytes>) {
      return key.view();
    } else {
      return key;
    }
  }
  Status null_key() const {
    return Status(Code::kInvalid, fmt::format("operator \"{}\" got a record whose key is null, and keeps state by key: filter such "
                                              "records out in front of key_by, or give them a key of their own there",
                                              id_));
  }
  Status fire_last(Timers<Key>& timers, TimeDomain domain, Collector<Out>& out) {
    core_.at_end = true;
    Status fired = fire(timers, EventTime::max(), domain, out);
    core_.at_end = false;
    dropped_->add(std::exchange(core_.dropped, 0));
    return fired;
  }
  Status fire(Timers<Key>& timers, EventTime until, TimeDomain domain, Collector<Out>& out) {
    if (timers.next() > until || timers.size() == 0) return {};
    Status failed;
    std::uint64_t count = 0;
    if (domain == TimeDomain::kEvent) out.begin_times();
    timers.fire(until, [&](EventTime time, const Key& key) {
      if (!failed.ok()) [[unlikely]] return;  // The attempt ends: what is left is in the checkpoint.
      ++count;
      out.set_time(domain == TimeDomain::kEvent ? time : kNoEventTime);
      if constexpr (std::is_reference_v<KeyArg<Key>>) {
        ctx_.enter(key, groups_.of(key), time, domain);
      } else {
        key_ = key;
        ctx_.enter(key_, groups_.of(key_), time, domain);
      }
      failed = status_of([&] { return f_.on_timer(time, ctx_, out); });
    });
    fired_->add(count);
    return failed.ok() ? failed : failed.with(fmt::format("(operator \"{}\", in on_timer)", id_));
  }

  F f_;
  std::vector<KeyedState*> keyed_;  // All of them, the timers' too.
  ProcessCore<Key> core_;
  KeyedContext<Key, typename F::Side> ctx_;
  std::conditional_t<std::is_reference_v<KeyArg<Key>>, char, KeyArg<Key>> key_{};  // A view, where keys are passed as such.
  std::string id_;
  KeyGroups groups_;
  bool ended_ = false;
  std::shared_ptr<Counter> dropped_, fired_;
};

}  // namespace sluice::internal
