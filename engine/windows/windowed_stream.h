#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <sluice/engine/keyed_stream.h>
#include <sluice/engine/windows/aggregates.h>
#include <sluice/engine/windows/assigners.h>
#include <sluice/engine/windows/internal/session_windows.h>
#include <sluice/engine/windows/internal/slice_windows.h>
#include <sluice/engine/windows/trigger.h>
#include <sluice/engine/windows/window.h>

namespace sluice {

/// The results of windows, and beside them the records that came too late to be in one.
template <class Key, class T, class R>
class WindowResults : public SplitStream<Windowed<Key, R>, T> {
 public:
  WindowResults(SplitStream<Windowed<Key, R>, T> results, std::shared_ptr<std::atomic<bool>> late_wanted)
      : SplitStream<Windowed<Key, R>, T>(std::move(results)), late_wanted_(std::move(late_wanted)) {}
  /// With the event times that they have. Still counted in sluice_operator_late_dropped_total.
  [[nodiscard]] Stream<T> late() const {
    *late_wanted_ = true;
    return this->side();
  }

 private:
  std::shared_ptr<std::atomic<bool>> late_wanted_;
};

/// A keyed stream cut into windows, of event time unless processing_time() says otherwise; what KeyedStream::window makes. All rules:
/// engine/windows/windows.md.
///
///     auto hourly = rides.key_by(&Ride::zone).window(tumbling(1h)).aggregate(together(count(), sum(&Ride::fare)), "hourly");
///     hourly.to(…);   hourly.late().to(…);
///
/// Shard      built on one thread; the windows of a key are on its shard.
/// Units      milliseconds. For event time watermarks() stands in front of key_by(); windows of processing time need none.
/// Errors     what is wrong with the windows themselves is told when the job is checked: kInvalid.
/// Ownership  a value.
template <class Key, class T, class Assigner, class Trigger = AtEnd>
class WindowedStream {
 public:
  /// For KeyedStream::window.
  WindowedStream(Stream<Keyed<Key, T>> records, Assigner assigner, Trigger trigger = {}, internal::WindowOptions options = {})
      : records_(std::move(records)), assigner_(std::move(assigner)), trigger_(trigger), options_(std::move(options)) {}

  /// A record that comes behind the end of its window, by the watermark, no more than this is still counted, and the window speaks
  /// again: the newer result replaces the older. The windows are kept so much longer.
  [[nodiscard]] WindowedStream allowed_lateness(EventDuration lateness) const {
    WindowedStream more = *this;
    more.options_.allowed_lateness = lateness;
    return more;
  }
  /// When windows speak: at_end(), every(100), every(100).purging(), early(10s), processing_time(early(5s)).
  template <class Other>
  [[nodiscard]] WindowedStream<Key, T, Assigner, Other> trigger(Other other) const {
    return {records_, assigner_, other, options_};
  }
  /// How many keys open windows may have on a shard, each key counted in each window (of sliding windows: in each slice), with the
  /// values that aggregates keep (count_distinct, top_n, process). 50 million unless told otherwise; a warning at 80 %, an error beyond.
  [[nodiscard]] WindowedStream limit_keys(std::uint64_t keys) const {
    WindowedStream more = *this;
    more.options_.keys_max = keys;
    return more;
  }
  /// What the aggregate is of, where its type does not tell because it was read from a file: state of something else is then refused.
  [[nodiscard]] WindowedStream contents(std::string what) const {
    WindowedStream more = *this;
    more.options_.contents = std::move(what);
    return more;
  }

  /// One result for each key and window: engine/windows/aggregates.h. `id` names the state in checkpoints.
  template <class A>
  [[nodiscard]] auto aggregate(A aggregate, std::string id) const {
    return build(internal::aggregate_for<T>(std::move(aggregate)), std::move(id));
  }
  /// The values made one by `reduce(const T&, const T&) -> T`, which does not care how they are grouped.
  template <class F>
  [[nodiscard]] auto reduce(F reduce, std::string id) const {
    return build(internal::ReduceOf<T, F>{std::move(reduce)}, std::move(id));
  }
  /// `function(const Key&, const Window&, const std::vector<T>&)`: all values, in the order of their coming, so all of them are kept.
  template <class F>
  [[nodiscard]] auto process(F function, std::string id) const {
    return build(internal::WholeOf<Key, T, F>{std::move(function)}, std::move(id));
  }

 private:
  static constexpr bool kSession = std::derived_from<Assigner, Session>;

  template <class A>
  [[nodiscard]] auto build(A aggregate, std::string id) const {
    using R = internal::Finished<A, Key>;
    using Out = Windowed<Key, R>;
    // A restarted attempt makes its operators anew: what is captured stays as it is.
    auto make = [assigner = assigner_, trigger = trigger_, options = options_,
                 aggregate]() -> std::unique_ptr<SideOperator<Keyed<Key, T>, Out, T>> {
      if constexpr (kSession) {
        return std::make_unique<internal::SessionWindows<Key, T, A, Assigner, Trigger>>(assigner, aggregate, options, trigger);
      } else {
        return std::make_unique<internal::SliceWindows<Key, T, A, Assigner, Trigger>>(assigner, aggregate, trigger, options);
      }
    };
    Status problem = assigner_.check();
    if (problem.ok()) problem = trigger_.check();
    if (problem.ok()) problem = options_.check();
    if (problem.ok() && internal::kOfClock<Assigner> && options_.allowed_lateness != EventDuration::zero()) {
      problem = Status(Code::kInvalid, "an allowed lateness of windows of processing time: a record is in the windows that are open when "
                                       "it comes, so none is late; leave it out");
    }
    return WindowResults<Key, T, R>(records_.template process<Out, T>(std::move(id), std::move(make), std::move(problem)),
                                    options_.late_wanted);
  }

  Stream<Keyed<Key, T>> records_;
  Assigner assigner_;
  Trigger trigger_;
  internal::WindowOptions options_;
};

template <class Key, class T>
template <class Assigner>
auto KeyedStream<Key, T>::window(Assigner assigner) const {
  return WindowedStream<Key, T, Assigner>(records(), std::move(assigner));
}

}  // namespace sluice
