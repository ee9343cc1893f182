#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <sluice/engine/batch.h>
#include <sluice/engine/context.h>
#include <sluice/engine/record.h>
#include <sluice/engine/state.h>
#include <sluice/io/base/result.h>

/// What map, filter, flat_map and peek accept: any callable, with or without an Arena& for new bytes. A class may also have
/// any of these members, and is then told about its life; one copy a shard:
///   void declare(StateSet&)                     states, restored before open() (such a step needs a name)
///   Status open(const Context&) or void         void close()
///   void snapshot_state(Epoch)                  void notify_checkpoint_complete(Epoch), notify_checkpoint_aborted(Epoch)
///   Status check() const                        what is wrong with it wherever it runs; asked when the job is checked
/// map may return Result<Out> and filter Result<bool>: a failure ends the attempt as an operator's Status does.
///
/// What Stream::apply accepts, a step that refuses single records: a class with the members above and
///   Outcome apply(const Record& in, Arena&, Record& out)     `out` is a copy of `in`; kDropped and kRefused ignore it
///   Status why(const Record& in) const                       why it was refused; may be slow
namespace sluice {

/// What a step made of a record.
enum class Outcome : std::uint8_t { kPassed, kDropped, kRefused };

template <class F>
concept RecordStep = requires(F& f, const F& constant, const Record& in, Arena& arena, Record& out) {
  { f.apply(in, arena, out) } -> std::same_as<Outcome>;
  { constant.why(in) } -> std::same_as<Status>;
};

}  // namespace sluice

namespace sluice::internal {

template <class F, class In>
concept TakesArena = std::invocable<F&, const In&, Arena&>;

template <class F, class In>
struct Invoked {
  using type = std::invoke_result_t<F&, const In&>;
};
template <class F, class In>
  requires TakesArena<F, In>
struct Invoked<F, In> {
  using type = std::invoke_result_t<F&, const In&, Arena&>;
};

template <class F, class In>
[[gnu::always_inline]] inline decltype(auto) invoke(F& f, const In& in, Arena* arena) {
  if constexpr (TakesArena<F, In>) {
    return f(in, *arena);
  } else {
    return f(in);
  }
}

/// Result<T> is a T that may be missing: the step says why, and the chain stops.
template <class T>
struct Unwrapped {
  using type = T;
  static constexpr bool kMayFail = false;
};
template <class T>
struct Unwrapped<Result<T>> {
  using type = T;
  static constexpr bool kMayFail = true;
};
template <class F, class In>
using Made = Unwrapped<std::decay_t<typename Invoked<F, In>::type>>;

/// What is wrong with a user's function wherever it runs.
template <class F>
[[nodiscard]] Status check_function(const F& f) {
  if constexpr (requires { { f.check() } -> std::same_as<Status>; }) return f.check();
  return {};
}

template <class F>
concept Stateful = requires(F& f, StateSet& states) { f.declare(states); };

// ---- the steps of a fused chain ----

template <class F>
struct MapStep {
  F f;
  Status failed = {};  // What stopped the chain; the record stays where it is.
  template <class In>
  using Out = typename Made<F, In>::type;
  template <class In>
  static constexpr bool kArena = TakesArena<F, In>;
  template <class In>
  static constexpr bool kMayFail = Made<F, In>::kMayFail;
  template <class In, class Next>
  [[gnu::always_inline]] void run(const In& in, Arena* arena, Next&& next) {
    if constexpr (kMayFail<In>) {
      auto made = invoke(f, in, arena);
      if (made.ok()) [[likely]] {
        next(*std::move(made));
      } else {
        failed = std::move(made).status();
      }
    } else {
      next(invoke(f, in, arena));
    }
  }
};

template <class F>
struct FilterStep {
  F f;
  Status failed = {};
  template <class In>
  using Out = In;
  template <class In>
  static constexpr bool kArena = false;
  template <class In>
  static constexpr bool kMayFail = Unwrapped<std::decay_t<std::invoke_result_t<F&, const In&>>>::kMayFail;
  template <class In, class Next>
  [[gnu::always_inline]] void run(const In& in, Arena*, Next&& next) {
    if constexpr (kMayFail<In>) {
      auto keep = f(in);
      if (!keep.ok()) [[unlikely]] {
        failed = std::move(keep).status();
      } else if (*keep) {
        next(in);
      }
    } else {
      if (f(in)) next(in);
    }
  }
};

template <class F>
struct PeekStep {
  F f;
  Status failed = {};
  template <class In>
  using Out = In;
  template <class In>
  static constexpr bool kMayFail = false;
  template <class In>
  static constexpr bool kArena = false;
  template <class In, class Next>
  [[gnu::always_inline]] void run(const In& in, Arena*, Next&& next) {
    f(in);
    next(in);
  }
};

/// f(in, emit) or f(in, arena, emit); emit takes a Result.
template <class F, class Result>
struct FlatMapStep {
  F f;
  Status failed = {};
  template <class In>
  using Out = Result;
  template <class In>
  static constexpr bool kMayFail = false;
  struct Probe {
    void operator()(Result) const {}
  };
  template <class In>
  static constexpr bool kArena = std::invocable<F&, const In&, Arena&, Probe>;
  template <class In, class Next>
  [[gnu::always_inline]] void run(const In& in, Arena* arena, Next&& next) {
    const auto emit = [&](Result value) { next(std::move(value)); };
    if constexpr (std::invocable<F&, const In&, Arena&, decltype(emit)>) {
      f(in, *arena, emit);
    } else {
      f(in, emit);
    }
  }
};

}  // namespace sluice::internal
