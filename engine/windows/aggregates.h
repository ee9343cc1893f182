#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/describe/class.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include <sluice/engine/codec.h>
#include <sluice/engine/key_hash.h>
#include <sluice/engine/keyed_state.h>

/// What is said of the records of a window. An aggregate is a class with
///   using Accumulator = …;                                        // default-constructible, with a Codec
///   void add(Accumulator&, const T&) const;                       // or: the number of values that it keeps more than before
///   R result(const Accumulator&) const;                           // or result(key, window, accumulator)
///   void merge(Accumulator& into, const Accumulator& later) const;     // sliding and session windows
///   void retract(Accumulator& from, const Accumulator& part) const;    // if it undoes merge() exactly: sliding windows get cheaper
///   bool changes(Accumulator&, const T&) const;                   // add(), and whether the result changed: running() speaks only then
///   std::size_t kept(const Accumulator&) const;                   // where add() returns a number: values in it, for limit_keys()
/// or one that has a member `template <class T> auto of() const` which makes it for records of type T, as these do:
namespace sluice {

namespace internal {

/// A sum of whole numbers has 64 bits and wraps; one of floating-point numbers is a double.
template <class V>
using SumType = std::conditional_t<std::floating_point<V>, double, std::conditional_t<std::is_signed_v<V>, std::int64_t, std::uint64_t>>;
template <class F, class T>
using FieldOf = std::remove_cvref_t<std::invoke_result_t<const F&, const T&>>;

template <class A>
concept Mergeable = requires(const A& aggregate, typename A::Accumulator& into, const typename A::Accumulator& later) {
  aggregate.merge(into, later);
};
/// Whose merge() can be undone exactly.
template <class A>
concept Retractable = Mergeable<A> && requires(const A& aggregate, typename A::Accumulator& from,
                                               const typename A::Accumulator& part) { aggregate.retract(from, part); };

template <std::integral V>
[[nodiscard]] constexpr V wrapped_add(V a, V b) noexcept {
  return static_cast<V>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
template <std::integral V>
[[nodiscard]] constexpr V wrapped_subtract(V a, V b) noexcept {
  return static_cast<V>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

struct CountOf {
  using Accumulator = std::uint64_t;
  template <class T>
  void add(Accumulator& count, const T&) const noexcept {
    ++count;
  }
  void merge(Accumulator& into, Accumulator later) const noexcept { into += later; }
  void retract(Accumulator& from, Accumulator part) const noexcept { from -= part; }
  [[nodiscard]] std::uint64_t result(Accumulator count) const noexcept { return count; }
};

template <class T, class F>
struct SumOf {
  using Accumulator = SumType<FieldOf<F, T>>;
  F field;
  void add(Accumulator& sum, const T& value) const { merge(sum, static_cast<Accumulator>(std::invoke(field, value))); }
  void merge(Accumulator& into, Accumulator later) const noexcept {
    if constexpr (std::integral<Accumulator>) {
      into = wrapped_add(into, later);
    } else {
      into += later;
    }
  }
  void retract(Accumulator& from, Accumulator part) const noexcept
    requires std::integral<Accumulator>  // Of floating-point numbers something would be left behind.
  {
    from = wrapped_subtract(from, part);
  }
  [[nodiscard]] Accumulator result(Accumulator sum) const noexcept { return sum; }
};

template <class T, class F>
struct AverageOf {
  using Sum = SumType<FieldOf<F, T>>;
  struct Accumulator {
    Sum sum{};
    std::uint64_t count = 0;
    BOOST_DESCRIBE_CLASS(Accumulator, (), (sum, count), (), ())
  };
  F field;
  void add(Accumulator& into, const T& value) const {
    SumOf<T, F>{field}.add(into.sum, value);
    ++into.count;
  }
  void merge(Accumulator& into, const Accumulator& later) const noexcept {
    SumOf<T, F>{field}.merge(into.sum, later.sum);
    into.count += later.count;
  }
  void retract(Accumulator& from, const Accumulator& part) const noexcept
    requires std::integral<Sum>
  {
    SumOf<T, F>{field}.retract(from.sum, part.sum);
    from.count -= part.count;
  }
  [[nodiscard]] double result(const Accumulator& all) const noexcept {
    return all.count == 0 ? 0.0 : static_cast<double>(all.sum) / static_cast<double>(all.count);
  }
};

/// The first of those that are equal stays.
template <class T, class F, class Before>
struct ExtremeOf {
  using Value = FieldOf<F, T>;
  using Accumulator = std::optional<Value>;
  F field;
  void add(Accumulator& best, const T& value) const { take(best, std::invoke(field, value)); }
  void merge(Accumulator& into, const Accumulator& later) const {
    if (later) take(into, *later);
  }
  [[nodiscard]] Value result(const Accumulator& best) const { return best ? *best : Value{}; }

 private:
  template <class V>
  static void take(Accumulator& best, V&& value) {
    if (!best || Before()(value, *best)) best = std::forward<V>(value);
  }
};

/// The n records with the greatest field, greatest first; of equal ones those that came first.
template <class T, class F>
struct TopOf {
  using Accumulator = std::vector<T>;
  std::size_t n;
  F field;
  std::size_t add(Accumulator& top, const T& value) const {
    const std::size_t before = top.size();
    (void)changes(top, value);
    return top.size() - before;
  }
  bool changes(Accumulator& top, const T& value) const {
    if (top.size() == n) {
      if (n == 0 || !greater(value, top.back())) return false;
      top.pop_back();
    }
    top.insert(std::upper_bound(top.begin(), top.end(), value, [this](const T& a, const T& b) { return greater(a, b); }), value);
    return true;
  }
  void merge(Accumulator& into, const Accumulator& later) const {
    for (const T& value : later) add(into, value);
  }
  [[nodiscard]] std::size_t kept(const Accumulator& top) const noexcept { return top.size(); }
  [[nodiscard]] const Accumulator& result(const Accumulator& top) const noexcept { return top; }

 private:
  bool greater(const T& a, const T& b) const { return std::invoke(field, a) > std::invoke(field, b); }
};

template <class V>
struct DistinctHash {
  using is_avalanching = void;
  std::size_t operator()(const V& value) const { return KeyHash<V>::hash(value, table_seed()); }
};
template <class T, class F>
struct DistinctOf {
  using Accumulator = boost::unordered_flat_set<FieldOf<F, T>, DistinctHash<FieldOf<F, T>>>;
  F field;
  std::size_t add(Accumulator& seen, const T& value) const { return changes(seen, value) ? 1 : 0; }
  bool changes(Accumulator& seen, const T& value) const { return seen.insert(std::invoke(field, value)).second; }
  void merge(Accumulator& into, const Accumulator& later) const { into.insert(later.begin(), later.end()); }
  [[nodiscard]] std::size_t kept(const Accumulator& seen) const noexcept { return seen.size(); }
  [[nodiscard]] std::uint64_t result(const Accumulator& seen) const noexcept { return seen.size(); }
};

template <class T, class F>
struct ReduceOf {
  using Accumulator = std::optional<T>;
  F reduce;
  void add(Accumulator& all, const T& value) const {
    if (all) {
      *all = std::invoke(reduce, std::as_const(*all), value);
    } else {
      all = value;
    }
  }
  void merge(Accumulator& into, const Accumulator& later) const {
    if (later) add(into, *later);
  }
  [[nodiscard]] T result(const Accumulator& all) const { return *all; }
};

/// All values of a window, in the order of their coming, for a function that wants them all.
template <class Key, class T, class F>
struct WholeOf {
  using Accumulator = std::vector<T>;
  F function;
  std::size_t add(Accumulator& values, const T& value) const {
    values.push_back(value);
    return 1;
  }
  void merge(Accumulator& into, const Accumulator& later) const { into.insert(into.end(), later.begin(), later.end()); }
  [[nodiscard]] std::size_t kept(const Accumulator& values) const noexcept { return values.size(); }
  template <class Window>
  [[nodiscard]] auto result(const Key& key, const Window& window, const Accumulator& values) const {
    return std::invoke(function, key, window, values);
  }
};

template <class... As>
struct TogetherOf {
  using Accumulator = std::tuple<typename As::Accumulator...>;
  std::tuple<As...> all;
  template <class T>
  std::size_t add(Accumulator& into, const T& value) const {
    std::size_t more = 0;
    each([&](const auto& one, auto index) {
      auto& mine = std::get<index()>(into);
      if constexpr (std::is_void_v<decltype(one.add(mine, value))>) {
        one.add(mine, value);
      } else {
        more += one.add(mine, value);
      }
    });
    return more;
  }
  void merge(Accumulator& into, const Accumulator& later) const {
    each([&](const auto& one, auto index) { one.merge(std::get<index()>(into), std::get<index()>(later)); });
  }
  void retract(Accumulator& from, const Accumulator& part) const
    requires(Retractable<As> && ...)
  {
    each([&](const auto& one, auto index) { one.retract(std::get<index()>(from), std::get<index()>(part)); });
  }
  [[nodiscard]] std::size_t kept(const Accumulator& sums) const noexcept {
    std::size_t kept = 0;
    each([&](const auto& one, auto index) {
      if constexpr (requires { one.kept(std::get<index()>(sums)); }) kept += one.kept(std::get<index()>(sums));
    });
    return kept;
  }
  [[nodiscard]] auto result(const Accumulator& sums) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple(std::get<I>(all).result(std::get<I>(sums))...);
    }(std::index_sequence_for<As...>());
  }

 private:
  template <class Visit>
  void each(Visit&& visit) const {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (visit(std::get<I>(all), std::integral_constant<std::size_t, I>()), ...);
    }(std::index_sequence_for<As...>());
  }
};

/// The aggregate for records of type T.
template <class T, class A>
[[nodiscard]] auto aggregate_for(A aggregate) {
  if constexpr (requires { aggregate.template of<T>(); }) {
    return aggregate.template of<T>();
  } else {
    return aggregate;
  }
}

template <class F>
struct SumBy {
  F field;
  template <class T>
  [[nodiscard]] SumOf<T, F> of() const {
    static_assert(std::is_arithmetic_v<FieldOf<F, T>>, "sum() adds numbers: give it a member or a function that returns one");
    return {field};
  }
};
template <class F>
struct AverageBy {
  F field;
  template <class T>
  [[nodiscard]] AverageOf<T, F> of() const {
    static_assert(std::is_arithmetic_v<FieldOf<F, T>>, "average() adds numbers: give it a member or a function that returns one");
    return {field};
  }
};
template <class F, class Before>
struct ExtremeBy {
  F field;
  template <class T>
  [[nodiscard]] ExtremeOf<T, F, Before> of() const {
    return {field};
  }
};
template <class F>
struct TopBy {
  std::size_t n;
  F field;
  template <class T>
  [[nodiscard]] TopOf<T, F> of() const {
    return {n, field};
  }
};
template <class F>
struct DistinctBy {
  F field;
  template <class T>
  [[nodiscard]] DistinctOf<T, F> of() const {
    return {field};
  }
};
template <class F>
struct ReduceBy {
  F reduce;
  template <class T>
  [[nodiscard]] ReduceOf<T, F> of() const {
    return {reduce};
  }
};
template <class... As>
struct TogetherBy {
  std::tuple<As...> all;
  template <class T>
  [[nodiscard]] auto of() const {
    return std::apply(
        [](const As&... one) { return TogetherOf<decltype(aggregate_for<T>(one))...>{{aggregate_for<T>(one)...}}; }, all);
  }
};

}  // namespace internal

/// How many: std::uint64_t.
[[nodiscard]] constexpr internal::CountOf count() noexcept { return {}; }
/// The sum of a member, or of what a function gives: `sum(&Ride::fare)`. Whole numbers: 64 bits, wrapping. Floating-point numbers: a
/// double; its last bits hang on the order in which records come.
template <class F = std::identity>
[[nodiscard]] constexpr auto sum(F field = {}) {
  return internal::SumBy<F>{std::move(field)};
}
/// A double.
template <class F = std::identity>
[[nodiscard]] constexpr auto average(F field = {}) {
  return internal::AverageBy<F>{std::move(field)};
}
/// The least, or greatest, value of a member; not the record: that is top_n(1, …).
template <class F = std::identity>
[[nodiscard]] constexpr auto min(F field = {}) {
  return internal::ExtremeBy<F, std::less<>>{std::move(field)};
}
template <class F = std::identity>
[[nodiscard]] constexpr auto max(F field = {}) {
  return internal::ExtremeBy<F, std::greater<>>{std::move(field)};
}
/// The n records with the greatest member, as a vector, greatest first; of equal ones those that came first.
template <class F = std::identity>
[[nodiscard]] constexpr auto top_n(std::size_t n, F field = {}) {
  return internal::TopBy<F>{n, std::move(field)};
}
/// How many different values; exact, so all of them are kept: each counts for limit_keys().
template <class F = std::identity>
[[nodiscard]] constexpr auto count_distinct(F field = {}) {
  return internal::DistinctBy<F>{std::move(field)};
}
/// Several at once, as a tuple: `together(count(), sum(&Ride::fare))`.
template <class... As>
[[nodiscard]] constexpr auto together(As... aggregates) {
  return internal::TogetherBy<As...>{std::tuple<As...>(std::move(aggregates)...)};
}

}  // namespace sluice
