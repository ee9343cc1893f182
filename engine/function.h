#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include <sluice/engine/batch.h>
#include <sluice/engine/context.h>
#include <sluice/engine/state.h>

/// What map, filter, flat_map and peek accept: any callable, with or without an Arena& for new bytes. A class may also have
/// any of these members, and is then told about its life; one copy a shard:
///   void declare(StateSet&)                     states, restored before open() (such a step needs a name)
///   Status open(const Context&) or void         void close()
///   void snapshot_state(Epoch)                  void notify_checkpoint_complete(Epoch), notify_checkpoint_aborted(Epoch)
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

template <class F>
concept Stateful = requires(F& f, StateSet& states) { f.declare(states); };

// ---- the steps of a fused chain ----

template <class F>
struct MapStep {
  F f;
  template <class In>
  using Out = std::decay_t<typename Invoked<F, In>::type>;
  template <class In>
  static constexpr bool kArena = TakesArena<F, In>;
  template <class In, class Next>
  [[gnu::always_inline]] void run(const In& in, Arena* arena, Next&& next) {
    next(invoke(f, in, arena));
  }
};

template <class F>
struct FilterStep {
  F f;
  template <class In>
  using Out = In;
  template <class In>
  static constexpr bool kArena = false;
  template <class In, class Next>
  [[gnu::always_inline]] void run(const In& in, Arena*, Next&& next) {
    if (f(in)) next(in);
  }
};

template <class F>
struct PeekStep {
  F f;
  template <class In>
  using Out = In;
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
  template <class In>
  using Out = Result;
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
