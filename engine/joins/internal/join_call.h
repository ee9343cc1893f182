#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <sluice/engine/collector.h>

namespace sluice {

/// Which rows are results: pairs, and those without a partner on one side or on either; or (kSemi) left rows that have one, once.
enum class JoinKind : std::uint8_t { kInner, kLeft, kRight, kFull, kSemi };

}  // namespace sluice

namespace sluice::internal {

constexpr bool keeps_left(JoinKind kind) noexcept { return kind == JoinKind::kLeft || kind == JoinKind::kFull; }
constexpr bool keeps_right(JoinKind kind) noexcept { return kind == JoinKind::kRight || kind == JoinKind::kFull; }
constexpr std::string_view name_of(JoinKind kind) noexcept {
  switch (kind) {
    case JoinKind::kInner: return "inner";
    case JoinKind::kLeft: return "left";
    case JoinKind::kRight: return "right";
    case JoinKind::kFull: return "full";
    case JoinKind::kSemi: return "semi";
  }
  return "";
}

template <class F, class L, class R>
struct JoinMade {
  using Type = std::invoke_result_t<F&, L, R>;
};
template <class F, class L, class R>
  requires(!std::invocable<F&, L, R>)
struct JoinMade<F, L, R> {
  using Type = std::invoke_result_t<F&, L, R, Arena&>;
};

/// How a user's function is called: with a reference for a side that is always there, a pointer for one that may be missing, and with
/// an Arena& where it takes one.
template <JoinKind kKind, class F, class L, class R>
struct JoinCall {
  using Left = std::conditional_t<keeps_right(kKind), const L*, const L&>;
  using Right = std::conditional_t<keeps_left(kKind), const R*, const R&>;
  static constexpr bool kArena = !std::invocable<F&, Left, Right>;
  static_assert(!kArena || std::invocable<F&, Left, Right, Arena&>,
                "a join's function takes (left, right), and an Arena& if it likes: by reference; a side that may be missing by "
                "pointer, which is null then (right of a left join, left of a right join, both of a full one)");
  using Out = std::decay_t<typename JoinMade<F, Left, Right>::Type>;

  static Out run(F& f, const L* left, const R* right, Collector<Out>& out) {
    if constexpr (kArena) {
      return f(pass<Left>(left), pass<Right>(right), out.arena());
    } else {
      return f(pass<Left>(left), pass<Right>(right));
    }
  }

 private:
  template <class As, class T>
  static As pass(const T* value) noexcept {
    if constexpr (std::is_pointer_v<As>) {
      return value;
    } else {
      return *value;
    }
  }
};

/// Of a semi join: only left is shown.
template <class F, class L, class R>
struct JoinCall<JoinKind::kSemi, F, L, R> {
  static constexpr bool kArena = !std::invocable<F&, const L&>;  // One that takes anything takes an Arena& too.
  static_assert(!kArena || std::invocable<F&, const L&, Arena&>, "a semi join's function takes (left), and an Arena& if it likes");
  using Out =
      std::decay_t<typename std::conditional_t<kArena, std::invoke_result<F&, const L&, Arena&>, std::invoke_result<F&, const L&>>::type>;
  static Out run(F& f, const L* left, const R*, Collector<Out>& out) {
    if constexpr (kArena) {
      return f(*left, out.arena());
    } else {
      return f(*left);
    }
  }
};

/// What is made where no function is given: both, an optional for a side that may be missing.
template <JoinKind kKind>
struct PairUp {
  template <class L>
  L operator()(const L& left) const {
    return left;
  }
  template <class L, class R>
  auto operator()(const L& left, const R& right) const {
    return std::pair(value_of<keeps_right(kKind)>(left), value_of<keeps_left(kKind)>(right));
  }

 private:
  template <bool kMayMiss, class T>
  static auto value_of(const T& value) {
    if constexpr (kMayMiss) {
      using V = std::remove_cv_t<std::remove_pointer_t<T>>;
      return value == nullptr ? std::optional<V>() : std::optional<V>(*value);
    } else {
      return value;
    }
  }
};

}  // namespace sluice::internal
