#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <boost/describe/class.hpp>

#include <sluice/engine/windows/aggregates.h>
#include <sluice/engine/windows/window.h>

namespace sluice::internal {

/// The values that an accumulator holds more than before.
template <class A, class V>
[[gnu::always_inline]] inline std::size_t add_to(const A& aggregate, typename A::Accumulator& sum, const V& value) {
  if constexpr (std::is_void_v<decltype(aggregate.add(sum, value))>) {
    aggregate.add(sum, value);
    return 0;
  } else {
    return aggregate.add(sum, value);
  }
}
template <class A>
concept Growing = requires(const A& aggregate, const typename A::Accumulator& sum) { aggregate.kept(sum); };

/// An accumulator that knows how many records came since it was last said.
template <class Acc>
struct MarkedSum {
  Acc sum{};
  std::uint64_t since = 0;
  BOOST_DESCRIBE_CLASS(MarkedSum, (), (sum, since), (), ())
};

/// An aggregate whose accumulators know that: for triggers that speak of what is new only.
template <class A>
struct Marked {
  using Accumulator = MarkedSum<typename A::Accumulator>;
  A aggregate;

  template <class V>
  std::size_t add(Accumulator& into, const V& value) const {
    ++into.since;
    return add_to(aggregate, into.sum, value);
  }
  void merge(Accumulator& into, const Accumulator& later) const
    requires Mergeable<A>
  {
    aggregate.merge(into.sum, later.sum);
    into.since += later.since;
  }
  void retract(Accumulator& from, const Accumulator& part) const
    requires Retractable<A>
  {
    aggregate.retract(from.sum, part.sum);
    from.since -= part.since;
  }
  [[nodiscard]] std::size_t kept(const Accumulator& all) const
    requires Growing<A>
  {
    return aggregate.kept(all.sum);
  }
  [[nodiscard]] decltype(auto) result(const Accumulator& all) const
    requires requires(const A& a) { a.result(all.sum); }
  {
    return aggregate.result(all.sum);
  }
  template <class Key>
  [[nodiscard]] decltype(auto) result(const Key& key, const Window& window, const Accumulator& all) const
    requires requires(const A& a) { a.result(key, window, all.sum); }
  {
    return aggregate.result(key, window, all.sum);
  }
};

/// `aggregate`, or the same marked.
template <class Made, class A>
[[nodiscard]] Made marked_if(A aggregate) {
  if constexpr (std::same_as<Made, A>) {
    return aggregate;
  } else {
    return Made{std::move(aggregate)};
  }
}

}  // namespace sluice::internal
