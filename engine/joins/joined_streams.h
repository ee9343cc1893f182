#pragma once

#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <sluice/engine/joins/connected_streams.h>
#include <sluice/engine/joins/interval_join.h>
#include <sluice/engine/joins/lookup_join.h>
#include <sluice/engine/joins/window_join.h>

namespace sluice {

/// Two streams and how they are joined; what is left to say is which rows without a partner are results too, and what is made of a pair:
///
///     .inner("paid", [](const Order& o, const Payment& p) { return …; })
///     .left("paid", [](const Order& o, const Payment* p) { return …; })       // null: no payment came
///     .right("paid", [](const Order* o, const Payment& p) { return …; })
///     .full("paid", [](const Order* o, const Payment* p) { return …; })       // one of them at most is null
///     .semi("paid", [](const Order& o) { return …; })                         // left rows that have a partner, each once
///     .inner("paid")                                                          // a std::pair, with std::optional where null may be
///
/// The id names the join's state in checkpoints. A function may take an Arena& behind the two, for bytes that its result points to.
template <class Key, class L, class R, class Maker>
class JoinedStreams {
 public:
  /// For the builder. `make.template operator()<kKind>(f)` makes the operator.
  JoinedStreams(ConnectedStreams<Keyed<Key, L>, Keyed<Key, R>> both, Maker make) : both_(std::move(both)), make_(std::move(make)) {}

  template <class F = internal::PairUp<JoinKind::kInner>>
  [[nodiscard]] auto inner(std::string id, F f = {}) const { return made<JoinKind::kInner>(std::move(id), std::move(f)); }
  template <class F = internal::PairUp<JoinKind::kLeft>>
  [[nodiscard]] auto left(std::string id, F f = {}) const { return made<JoinKind::kLeft>(std::move(id), std::move(f)); }
  template <class F = internal::PairUp<JoinKind::kRight>>
  [[nodiscard]] auto right(std::string id, F f = {}) const { return made<JoinKind::kRight>(std::move(id), std::move(f)); }
  template <class F = internal::PairUp<JoinKind::kFull>>
  [[nodiscard]] auto full(std::string id, F f = {}) const { return made<JoinKind::kFull>(std::move(id), std::move(f)); }
  /// Each once for an interval; of a window join once for each window.
  template <class F = internal::PairUp<JoinKind::kSemi>>
  [[nodiscard]] auto semi(std::string id, F f = {}) const { return made<JoinKind::kSemi>(std::move(id), std::move(f)); }

 private:
  template <JoinKind kKind, class F>
  [[nodiscard]] auto made(std::string id, F f) const {
    using Out = typename internal::JoinCall<kKind, F, L, R>::Out;
    both_.fault(internal::check_function(f));
    return both_.template process<Out>(std::move(id), [make = make_, f = std::move(f)]() -> std::unique_ptr<CoOperator<Key, L, R, Out>> {
      return make.template operator()<kKind>(f);
    });
  }
  ConnectedStreams<Keyed<Key, L>, Keyed<Key, R>> both_;
  Maker make_;
};

/// What KeyedStream::join makes: two streams with one key, and nothing said yet of time.
template <class Key, class L, class R>
class JoinableStreams {
 public:
  explicit JoinableStreams(ConnectedStreams<Keyed<Key, L>, Keyed<Key, R>> both) : both_(std::move(both)) {}

  /// Pairs with left's time + lower <= right's time <= left's time + upper: `between(-3s, 3s)`, both ends included.
  [[nodiscard]] auto between(EventDuration lower, EventDuration upper, JoinOptions options = {}) const {
    if (lower > upper) {
      both_.fault(Status(Code::kInvalid,
                         fmt::format("between({} ms, {} ms) is empty: the lower bound comes first", lower.count(), upper.count())));
    }
    if (lower < -internal::kLongest || upper > internal::kLongest) {
      both_.fault(Status(Code::kInvalid, "between(…) reaches over more than the time there is: give bounds in milliseconds or coarser"));
    }
    auto make = [lower, upper, options]<JoinKind kKind, class F>(F f) {
      return std::make_unique<IntervalJoin<Key, L, R, kKind, F>>(lower, upper, std::move(f), options);
    };
    return JoinedStreams<Key, L, R, decltype(make)>(both_, std::move(make));
  }
  /// Pairs within the same window: `window(tumbling(10s))`, `window(sliding(1h, 5min))`.
  template <class Windows>
  [[nodiscard]] auto window(Windows windows, JoinOptions options = {}) const {
    const internal::JoinWindows spans = internal::join_windows(windows);
    both_.fault(windows.check());
    both_.fault(spans.check());
    // A job whose check fails never runs, but its parts are made.
    auto make = [spans, options]<JoinKind kKind, class F>(F f) {
      return std::make_unique<WindowJoin<Key, L, R, kKind, F>>(spans, std::move(f), options);
    };
    return JoinedStreams<Key, L, R, decltype(make)>(both_, std::move(make));
  }

 private:
  ConnectedStreams<Keyed<Key, L>, Keyed<Key, R>> both_;
};

/// What KeyedStream::lookup makes: rows, and the table that gives each of them one of its own.
///
///     .inner("named", [](const Order& o, const Customer& c) { return …; })    // an order of an unknown customer is dropped
///     .left("named", [](const Order& o, const Customer* c) { return …; })     // null: the customer is not known yet
///     .waiting("named", [](const Order& o, const Customer& c) { return …; })  // the order waits for its customer
template <class Key, class L, class R>
class LookedUpStreams {
 public:
  using Value = internal::TableValue<R>;
  LookedUpStreams(ConnectedStreams<Keyed<Key, L>, Keyed<Key, R>> both, LookupOptions options)
      : both_(std::move(both)), options_(std::move(options)) {}

  template <class F = internal::PairUp<JoinKind::kInner>>
  [[nodiscard]] auto inner(std::string id, F f = {}) const { return made<JoinKind::kInner>(std::move(id), std::move(f)); }
  template <class F = internal::PairUp<JoinKind::kLeft>>
  [[nodiscard]] auto left(std::string id, F f = {}) const { return made<JoinKind::kLeft>(std::move(id), std::move(f)); }
  template <class F = internal::PairUp<JoinKind::kInner>>
  [[nodiscard]] auto waiting(std::string id, F f = {}) const {
    using Join = WaitingJoin<Key, L, R, F>;
    if (options_.time_to_live.after != EventDuration::zero()) {
      both_.fault(Status(Code::kInvalid, "time_to_live would take away rows that wait: use it with inner() or left()"));
    }
    return process<Join>(std::move(id), std::move(f));
  }

 private:
  template <JoinKind kKind, class F>
  [[nodiscard]] auto made(std::string id, F f) const {
    return process<LookupJoin<Key, L, R, kKind, F>>(std::move(id), std::move(f));
  }
  template <class Join, class F>
  [[nodiscard]] auto process(std::string id, F f) const {
    using Out = typename Join::Out;
    both_.fault(internal::check_function(f));
    return both_.template process<Out>(std::move(id), [f = std::move(f), options = options_]() -> std::unique_ptr<CoOperator<Key, L, R, Out>> {
      return std::make_unique<Join>(f, options);
    });
  }
  ConnectedStreams<Keyed<Key, L>, Keyed<Key, R>> both_;
  LookupOptions options_;
};

/// What Stream::lookup_broadcast makes: as LookedUpStreams, but for waiting().
template <class L, class R, class LeftKey, class RightKey>
class BroadcastLookup {
 public:
  using Value = internal::TableValue<R>;
  BroadcastLookup(ConnectedStreams<L, R> both, LeftKey left_key, RightKey right_key, LookupOptions options)
      : both_(std::move(both)), left_key_(std::move(left_key)), right_key_(std::move(right_key)), options_(std::move(options)) {}

  template <class F = internal::PairUp<JoinKind::kInner>>
  [[nodiscard]] auto inner(std::string id, F f = {}) const { return made<JoinKind::kInner>(std::move(id), std::move(f)); }
  template <class F = internal::PairUp<JoinKind::kLeft>>
  [[nodiscard]] auto left(std::string id, F f = {}) const { return made<JoinKind::kLeft>(std::move(id), std::move(f)); }

 private:
  template <JoinKind kKind, class F>
  [[nodiscard]] auto made(std::string id, F f) const {
    using Join = BroadcastJoin<L, R, LeftKey, RightKey, kKind, F>;
    using Out = typename Join::Out;
    both_.fault(internal::check_function(f));
    auto make = [left_key = left_key_, right_key = right_key_, f = std::move(f),
                 options = options_]() -> std::unique_ptr<TwoInputOperator<L, R, Out>> {
      return std::make_unique<Join>(left_key, right_key, f, options);
    };
    return both_.template process<Out>(std::move(id), std::move(make));
  }
  ConnectedStreams<L, R> both_;
  LeftKey left_key_;
  RightKey right_key_;
  LookupOptions options_;
};

// ---- the members of streams that begin a join ----

template <class Key, class T>
template <class RightKey, class Right>
auto KeyedStream<Key, T>::connect(const KeyedStream<RightKey, Right>& right) const {
  static_assert(std::same_as<Key, RightKey>, "both sides' keys must be of one type: equal keys of two types may lie on two shards");
  return internal::connect<Keyed<Key, T>, Keyed<Key, Right>>(graph_, *node_, node_.get(), *right.node_, right.node_.get(),
                                                             graph_ == right.graph_);
}
template <class Key, class T>
template <class RightKey, class Right>
auto KeyedStream<Key, T>::join(const KeyedStream<RightKey, Right>& right) const {
  return JoinableStreams<Key, T, Right>(connect(right));
}
template <class Key, class T>
template <class RightKey, class Right>
auto KeyedStream<Key, T>::lookup(const KeyedStream<RightKey, Right>& table, LookupOptions options) const {
  return LookedUpStreams<Key, T, Right>(connect(table), std::move(options));
}

template <class T, class Root, class... Steps>
template <class Right, class RightRoot, class... RightSteps, class LeftKey, class RightKey>
auto Stream<T, Root, Steps...>::lookup_broadcast(const Stream<Right, RightRoot, RightSteps...>& table, LeftKey left_key,
                                                 RightKey right_key, LookupOptions options) const {
  const auto input = materialise();
  auto everywhere = table.template exchange<Right>("broadcast", {}, [](const Context& context, auto ports) {
    return std::make_unique<internal::BroadcastTail<Right>>(context, std::move(ports));
  });
  auto both = internal::connect<T, Right>(graph_, *input.outlet, input.node.get(), *everywhere, everywhere.get(), graph_ == table.graph_);
  return BroadcastLookup<T, Right, LeftKey, RightKey>(std::move(both), std::move(left_key), std::move(right_key), std::move(options));
}

}  // namespace sluice
