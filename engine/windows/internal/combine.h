#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <sluice/engine/windows/aggregates.h>
#include <sluice/engine/windows/assigners.h>
#include <sluice/engine/windows/internal/slice_state.h>

/// How a sliding window is made of its slices without looking at each of them again: an entry of a slice is merged a fixed number of
/// times, whatever size / slide. What is carried from window to window is made anew from the slices after a restore, in the same
/// order, so it is no state.
namespace sluice::internal {

/// One total for each key: a slice that a window gains is added, one that it loses is taken off.
template <class Key, Retractable A>
class Totals {
 public:
  using Acc = typename A::Accumulator;
  using One = Slice<Key, Acc>;
  using Kept = typename KeptKey<Key>::Type;
  Totals(const Sliding&, const A& aggregate, KeyGroups groups) : aggregate_(aggregate), totals_(groups) {}

  /// `visit(kept, accumulator)` for every key of `window`. Windows come in order.
  template <class F>
  void visit(SliceState<Key, Acc>& state, const Window& window, F&& visit) {
    for (const auto& slice : state.slices()) {
      const bool inside = slice->bounds.start >= window.start && slice->bounds.start < window.end;
      if (inside == slice->counted) continue;
      inside ? add(*slice) : take_off(*slice);
    }
    totals_.for_each([&](const Kept& kept, const Total& total) { visit(kept, total.sum); });
  }
  /// Something came to a slice some of whose windows have been visited: `made`, a key that it did not have.
  template <class Value>
  void late(const One& slice, const Key& key, KeyGroup group, const Value& value, bool made) {
    if (!slice.counted) return;
    Total& total = *totals_.put(key, group).value;
    aggregate_.add(total.sum, value);
    total.slices += made ? 1 : 0;
  }
  /// No window will have this slice any more.
  void gone(One& slice) {
    if (slice.counted) take_off(slice);
  }

 private:
  struct Total {
    Acc sum{};
    std::uint32_t slices = 0;  // In how many of the counted ones the key is.
  };
  void add(One& slice) {
    slice.for_each([&](const Kept& kept, const Acc& part) {
      Total& total = *totals_.put_kept(kept).value;
      aggregate_.merge(total.sum, part);
      ++total.slices;
    });
    slice.counted = true;
  }
  void take_off(One& slice) {
    slice.for_each([&](const Kept& kept, const Acc& part) {
      Total& total = *totals_.find_kept(kept);
      if (--total.slices == 0) {
        totals_.erase_kept(kept);
      } else {
        aggregate_.retract(total.sum, part);
      }
    });
    slice.counted = false;
  }

  const A& aggregate_;
  GroupedTable<Key, Total> totals_;
};

/// For what cannot be undone (max, sets, sums of floating-point numbers). Slices are numbered and stand in blocks as long as a window,
/// so a window is the end of one block and the beginning of the next: the beginning grows slice by slice, and the end of a block is
/// built once, from its last slice to its first, with a note for each key of what it was before: undoing the notes of a slice leaves
/// the end that begins behind it. (After van Herk, and Gil and Werman; blocks lie where they lie whenever one begins, so sums of
/// floating-point numbers have the same last bits after a restore.)
template <class Key, Mergeable A>
class Blocks {
 public:
  using Acc = typename A::Accumulator;
  using One = Slice<Key, Acc>;
  using Kept = typename KeptKey<Key>::Type;
  Blocks(const Sliding& windows, const A& aggregate, KeyGroups groups)
      : aggregate_(aggregate), windows_(windows), slices_(windows.size() / windows.length()), end_(groups), beginning_(groups) {}

  template <class F>
  void visit(SliceState<Key, Acc>& state, const Window& window, F&& visit) {
    const std::int64_t first = windows_.number(window.start);
    const std::int64_t block = first >= 0 ? first / slices_ : -((slices_ - 1 - first) / slices_);
    const std::int64_t next = (block + 1) * slices_;
    if (end_block_ != block) {
      build_end(state, first, next);
      end_block_ = block;
    } else {
      while (!undo_.empty() && undo_.back().slice < first) undo();
    }
    if (beginning_block_ != block + 1) {
      beginning_.clear();
      beginning_block_ = block + 1;
      beginning_to_ = next;
    }
    for (const auto& slice : state.slices()) {
      const std::int64_t number = windows_.number(slice->bounds.start);
      if (number < beginning_to_ || number >= first + slices_) continue;
      slice->for_each([&](const Kept& kept, const Acc& part) { aggregate_.merge(*beginning_.put_kept(kept).value, part); });
    }
    beginning_to_ = first + slices_;
    const bool both = beginning_.size() > 0;
    end_.for_each([&](const Kept& kept, const Acc& part) {
      const Acc* const later = both ? beginning_.find_kept(kept) : nullptr;
      if (later == nullptr) return visit(kept, part);
      Acc all = part;
      aggregate_.merge(all, *later);
      visit(kept, all);
    });
    beginning_.for_each([&](const Kept& kept, const Acc& part) {
      if (end_.size() == 0 || end_.find_kept(kept) == nullptr) visit(kept, part);
    });
  }
  template <class Value>
  void late(const One& slice, const Key& key, KeyGroup group, const Value& value, bool) {
    const std::int64_t number = windows_.number(slice.bounds.start);
    if (beginning_block_ != kNone && number >= beginning_block_ * slices_ && number < beginning_to_) {
      (void)aggregate_.add(*beginning_.put(key, group).value, value);
    } else {
      end_block_ = kNone;  // Its notes hang on one another: made anew for the next window.
    }
  }
  void gone(const One&) {}

 private:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();
  struct Before {
    std::int64_t slice;
    Kept kept;
    std::optional<Acc> was;
  };
  void build_end(SliceState<Key, Acc>& state, std::int64_t from, std::int64_t to) {
    end_.clear();
    undo_.clear();
    for (auto at = state.slices().rbegin(); at != state.slices().rend(); ++at) {
      One& slice = **at;
      const std::int64_t number = windows_.number(slice.bounds.start);
      if (number < from || number >= to) continue;
      slice.for_each([&](const Kept& kept, const Acc& part) {
        const auto [there, made] = end_.put_kept(kept);
        Acc all = part;
        if (!made) aggregate_.merge(all, *there);
        undo_.push_back({number, kept, made ? std::nullopt : std::optional<Acc>(std::move(*there))});
        *there = std::move(all);
      });
    }
  }
  void undo() {
    Before& before = undo_.back();
    if (before.was) {
      *end_.find_kept(before.kept) = std::move(*before.was);
    } else {
      end_.erase_kept(before.kept);
    }
    undo_.pop_back();
  }

  const A& aggregate_;
  const Sliding windows_;
  const std::int64_t slices_;  // Of a window.
  GroupedTable<Key, Acc> end_, beginning_;
  std::vector<Before> undo_;
  std::int64_t end_block_ = kNone, beginning_block_ = kNone, beginning_to_ = 0;
};

template <class Key, class A, bool kSliding>
struct Combining {
  using Type = std::monostate;
};
template <class Key, Mergeable A>
struct Combining<Key, A, true> {
  using Type = Blocks<Key, A>;
};
template <class Key, Retractable A>
struct Combining<Key, A, true> {
  using Type = Totals<Key, A>;
};

}  // namespace sluice::internal
