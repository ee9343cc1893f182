#pragma once

#include <memory>
#include <string>
#include <utility>

#include <boost/describe/class.hpp>

#include <sluice/engine/keyed_state.h>
#include <sluice/engine/keyed_stream.h>
#include <sluice/engine/windows/aggregates.h>
#include <sluice/engine/windows/internal/kept_key.h>
#include <sluice/engine/windows/internal/window_options.h>

namespace sluice {

/// What is said of a key now; a later one replaces it.
template <class Key, class R>
struct Updated {
  Key key{};
  R value{};
  bool operator==(const Updated&) const = default;
  BOOST_DESCRIBE_CLASS(Updated, (), (key, value), (), ())
};

struct RunningOptions {
  /// Keys on a shard, with the values that aggregates keep (count_distinct, top_n): a warning at 80 %, an error beyond.
  std::uint64_t keys_max = internal::WindowOptions::kKeysMax;
};

namespace internal {

/// An aggregate of each key over the whole stream, said anew whenever it changes.
///
/// State      an accumulator for each key, for ever; past keys_max, kExhausted.
/// Late       nothing is: event time has no part in it, a result has that of the record that changed it.
/// Suspends   never.
template <class Key, class T, class A>
class Running final : public Operator<Keyed<Key, T>, Updated<Key, std::decay_t<decltype(std::declval<const A&>().result(
                                                                  std::declval<const typename A::Accumulator&>()))>>> {
 public:
  using Acc = typename A::Accumulator;
  using Out = Updated<Key, std::decay_t<decltype(std::declval<const A&>().result(std::declval<const Acc&>()))>>;
  Running(A aggregate, RunningOptions options) : aggregate_(std::move(aggregate)), options_(options) {}

  void declare(StateSet& states) override { states.add("running", state_); }
  Status open(const Context& context) override {
    WindowOptions limit;
    limit.keys_max = options_.keys_max;
    limit.limit = "keys_max";
    watch_.open(context, limit);
    state_.for_each([&](const Kept&, const Acc& sum) { values_ += kept_values(sum); });
    return watch_.keys(state_.size() + values_);
  }
  void close() override { watch_.close(); }
  Status process(const Batch<Keyed<Key, T>>& batch, Collector<Out>& out) override {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const Keyed<Key, T>& record = batch[i];
      Acc& sum = state_[KeptKey<Key>::keep(record.key)];
      const std::size_t before = kept_values(sum);
      if constexpr (requires { { aggregate_.changes(sum, record.value) } -> std::same_as<bool>; }) {
        if (!aggregate_.changes(sum, record.value)) continue;
      } else {
        (void)aggregate_.add(sum, record.value);
      }
      values_ += kept_values(sum) - before;
      if (out.timed()) out.set_time(batch.times()[i]);
      out.emit({record.key, aggregate_.result(sum)});
    }
    return watch_.keys(state_.size() + values_);
  }

 private:
  using Kept = typename KeptKey<Key>::Type;
  [[nodiscard]] std::size_t kept_values(const Acc& sum) const {
    if constexpr (requires { aggregate_.kept(sum); }) return aggregate_.kept(sum);
    return 0;
  }
  const A aggregate_;
  const RunningOptions options_;
  ValueState<Kept, Acc> state_;
  WindowWatch watch_;
  std::uint64_t values_ = 0;
};

}  // namespace internal

/// An aggregate (engine/windows/aggregates.h) of each key over the whole stream, as a stream of updates: a result each time it changes.
///
///     running(bids.key_by(&Bid::auction), top_n(10, &Bid::price), "best-bids")      // Updated<Auction, std::vector<Bid>>
///     running(visits.key_by(&Visit::page), count_distinct(&Visit::user), "visitors")
///
/// Everything is kept for ever: for counts of a day or an hour use window().
template <class Key, class T, class A>
[[nodiscard]] auto running(const KeyedStream<Key, T>& stream, A aggregate, std::string id, RunningOptions options = {}) {
  auto made = internal::aggregate_for<T>(std::move(aggregate));
  using Op = internal::Running<Key, T, decltype(made)>;
  using Out = typename Op::Out;
  return stream.template process<Out>(std::move(id), [made, options]() -> std::unique_ptr<Operator<Keyed<Key, T>, Out>> {
    return std::make_unique<Op>(made, options);
  });
}

}  // namespace sluice
