#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/container/deque.hpp>
#include <boost/sort/pdqsort/pdqsort.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include <sluice/engine/event_time.h>
#include <sluice/engine/key_hash.h>

namespace sluice::internal {

/// A timer, or that there is none: in order of its coming, the last word on a time and key counts.
template <class Key>
struct Timer {
  std::uint64_t at = 0;  ///< 2 * tick_of(its time), and 1 more where it is erased
  Key key{};
  [[nodiscard]] std::uint64_t tick() const noexcept { return at >> 1; }
  [[nodiscard]] bool erased() const noexcept { return (at & 1) != 0; }
};

/// Growing moves none of them.
template <class Key>
using ManyTimers =
    boost::container::deque<Timer<Key>, void, boost::container::deque_options_t<boost::container::block_bytes<1024u>>>;

/// Milliseconds in the order of numbers without a sign, with a bit to spare: the ends of time are 146 million years away.
inline constexpr std::int64_t kTickOfEpoch = std::int64_t{1} << 62;
[[nodiscard]] constexpr std::uint64_t tick_of(EventTime time) noexcept {
  const std::int64_t ms = time.time_since_epoch().count();
  return static_cast<std::uint64_t>(std::clamp(ms, 1 - kTickOfEpoch, kTickOfEpoch - 1) + kTickOfEpoch);
}
inline constexpr std::uint64_t kLastTick = tick_of(EventTime::max());
[[nodiscard]] constexpr EventTime time_of(std::uint64_t tick) noexcept {
  return tick == kLastTick ? EventTime::max() : EventTime(EventDuration(static_cast<std::int64_t>(tick) - kTickOfEpoch));
}

/// Keys in an order that is the same in every run.
template <class Key>
[[nodiscard]] bool key_before(const Key& one, const Key& two) {
  if constexpr (std::totally_ordered<Key>) {
    return one < two;
  } else {
    const std::uint64_t first = KeyHash<Key>::hash(one, 0), second = KeyHash<Key>::hash(two, 0);
    if (first != second) return first < second;
    std::string one_bytes, two_bytes;
    Codec<Key>::write(one, one_bytes);
    Codec<Key>::write(two, two_bytes);
    return one_bytes < two_bytes;
  }
}

/// By time and key; of several words on one the last, where that is a timer.
template <class Key>
void settle(std::vector<Timer<Key>>& all, bool any_erased) {
  const auto before = [](const Timer<Key>& one, const Timer<Key>& two) {
    return one.tick() != two.tick() ? one.tick() < two.tick() : key_before(one.key, two.key);
  };
  const auto same = [](const Timer<Key>& one, const Timer<Key>& two) { return one.tick() == two.tick() && one.key == two.key; };
  if (!any_erased) {
    if (all.size() < 2) return;
    if constexpr (std::is_arithmetic_v<Key>) {
      boost::sort::pdqsort_branchless(all.begin(), all.end(), before);
    } else {
      boost::sort::pdqsort(all.begin(), all.end(), before);
    }
    all.erase(std::unique(all.begin(), all.end(), same), all.end());
    return;
  }
  std::stable_sort(all.begin(), all.end(), before);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i + 1 < all.size() && same(all[i], all[i + 1])) continue;
    if (all[i].erased()) continue;
    if (kept != i) all[kept] = std::move(all[i]);
    ++kept;
  }
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(kept), all.end());
}

/// Timers in buckets: by the highest byte in which a timer's tick differs from `base_`, and by that byte. A bucket is taken
/// apart when time comes to it, into those of the bytes below: each timer is moved a few times, none is compared with others before
/// its millisecond has come. What is set twice, or erased, is sorted out then, and in a bucket that is mostly such.
///
/// Shard      its operator's.
/// Units      ticks: see tick_of().
/// Errors     none. What fire()'s callback throws passes through: the attempt ends, the wheel is not used again.
/// Ownership  the callback may add timers while they fire.
template <class Key>
class TimerWheel {
 public:
  void add(Timer<Key> timer) {
    if (timer.tick() > done_) [[likely]] {
      ++size_;
      place(std::move(timer));
    } else if (timer.erased()) {
      erase_overdue(std::move(timer));
    } else {
      ++size_;
      overdue_.push_back(std::move(timer));
    }
  }
  /// Calls `fired(tick, key)` for every timer up to `until`, in order of time and then key, also for those that it adds meanwhile.
  template <class F>
  void fire(std::uint64_t until, F&& fired) {
    for (;;) {
      if (!overdue_.empty()) {
        scratch_.swap(overdue_);
        fire_scratch(std::exchange(overdue_erased_, false), fired);
        continue;
      }
      const int level = lowest_level();
      if (level == kLevels) break;
      const unsigned slot = lowest_slot(level);
      if (level > 0) {
        Bucket& bucket = (*levels_[level])[slot];
        if (bucket.first > until) break;
        take_apart(level, slot, bucket.first);
        continue;
      }
      const std::uint64_t tick = (base_ & ~std::uint64_t{255}) | slot;
      if (tick > until) break;
      base_ = done_ = tick;
      Row& row = rows_[slot];
      scratch_.swap(row.timers);
      clear_bit(0, slot);
      fire_scratch(std::exchange(row.erased, false), fired);
      if (row.timers.capacity() == 0 && scratch_.capacity() < kRowMax) row.timers.swap(scratch_);  // Its memory is used again.
    }
    done_ = std::max(done_, until);
    move_base(done_ + 1);
  }
  /// No timer is earlier than this; kLastTick + 1 where there is none.
  [[nodiscard]] std::uint64_t next() const noexcept {
    if (!overdue_.empty()) return 0;
    const int level = lowest_level();
    if (level == kLevels) return kLastTick + 1;
    const unsigned slot = lowest_slot(level);
    return level == 0 ? (base_ & ~std::uint64_t{255}) | slot : (*levels_[level])[slot].first;
  }
  template <class F>
  void for_each_overdue(F&& visit) const {
    for (const Timer<Key>& timer : overdue_) visit(timer);
  }
  template <class F>
  void for_each(F&& visit) const {
    for_each_overdue(visit);
    for (const Row& row : rows_) {
      for (const Timer<Key>& timer : row.timers) visit(timer);
    }
    for (const auto& level : levels_) {
      if (!level) continue;
      for (const Bucket& bucket : *level) {
        for (const Timer<Key>& timer : bucket.timers) visit(timer);
      }
    }
  }
  /// What it holds, with what is there twice or erased and not sorted out yet.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Everything up to here has fired, but for what was added behind it.
  [[nodiscard]] std::uint64_t done() const noexcept { return done_; }

 private:
  static constexpr int kLevels = 8;
  static constexpr std::size_t kRowMax = 4'096, kCheckFirst = 1'024;
  struct Row {  // Of one tick.
    std::vector<Timer<Key>> timers;
    bool erased = false;  // Some of them.
  };
  struct Bucket {  // Of many: no growth moves them all.
    ManyTimers<Key> timers;
    std::uint64_t first = ~std::uint64_t{0};
    std::size_t erased = 0, check_at = kCheckFirst;
  };
  using Level = std::array<Bucket, 256>;

  void place(Timer<Key> timer) {
    const std::uint64_t tick = timer.tick();
    const std::uint64_t differs = tick ^ base_;
    const int level = differs < 256 ? 0 : (63 - std::countl_zero(differs)) / 8;
    const auto slot = static_cast<unsigned>(tick >> (8 * level)) & 255;
    bits_[level][slot / 64] |= std::uint64_t{1} << slot % 64;
    if (level == 0) {
      Row& row = rows_[slot];
      row.erased |= timer.erased();
      row.timers.push_back(std::move(timer));
      return;
    }
    if (!levels_[level]) [[unlikely]] levels_[level] = std::make_unique<Level>();
    Bucket& bucket = (*levels_[level])[slot];
    if (bucket.timers.size() >= bucket.check_at) [[unlikely]] tidy(bucket);
    bucket.first = std::min(bucket.first, tick);
    bucket.erased += timer.erased();
    bucket.timers.push_back(std::move(timer));
  }
  /// With a base that is not behind any timer, and within this bucket: all others of its level and of those above lie as far off as before.
  void take_apart(int level, unsigned slot, std::uint64_t base) {
    Bucket taken = std::exchange((*levels_[level])[slot], {});
    clear_bit(level, slot);
    base_ = base;
    for (Timer<Key>& timer : taken.timers) place(std::move(timer));
  }
  /// To where what is set next lies near, as nothing is earlier. The bucket that it comes to is taken apart.
  void move_base(std::uint64_t base) {
    if (base <= base_) return;
    const int level = lowest_level();
    if (level > 0 && level < kLevels) {
      const std::uint64_t above = level == kLevels - 1 ? 0 : ~std::uint64_t{0} << 8 * (level + 1);
      const unsigned slot = lowest_slot(level);
      if (((base_ & above) | std::uint64_t{slot} << 8 * level) <= base) return take_apart(level, slot, base);
    }
    base_ = base;
  }
  /// A bucket that holds many words on few timers is sorted; whether it does is told from a sample.
  void tidy(Bucket& bucket) {
    const std::size_t size = bucket.timers.size();
    const std::uint64_t one_in = std::bit_floor(size / 512);
    boost::unordered_flat_set<std::uint64_t> different;
    std::size_t sampled = 0;
    for (const Timer<Key>& timer : bucket.timers) {
      const std::uint64_t hash = hash_number(KeyHash<Key>::hash(timer.key, 0), timer.tick() * 0xc4ceb9fe1a85ec53ull);
      if ((hash >> 32 & (one_in - 1)) != 0) continue;
      ++sampled;
      different.insert(hash);
    }
    if (different.size() * 2 < sampled || bucket.erased * 4 > size) {
      std::vector<Timer<Key>> all(std::make_move_iterator(bucket.timers.begin()), std::make_move_iterator(bucket.timers.end()));
      settle(all, bucket.erased > 0);
      size_ -= size - all.size();
      bucket.timers.assign(std::make_move_iterator(all.begin()), std::make_move_iterator(all.end()));
      bucket.erased = 0;
    }
    bucket.check_at = std::max(kCheckFirst, bucket.timers.size() * 2);
  }
  template <class F>
  void fire_scratch(bool any_erased, F& fired) {
    size_ -= scratch_.size();
    settle(scratch_, any_erased);
    size_ += scratch_.size();
    for (fired_ = 0; fired_ < scratch_.size(); ++fired_, --size_) {
      if (!scratch_[fired_].erased()) fired(scratch_[fired_].tick(), std::as_const(scratch_[fired_].key));
    }
    scratch_.clear();
    if (scratch_.capacity() > kRowMax) scratch_ = {};
  }
  /// One that is sorted and on its way, or that was added behind its time.
  void erase_overdue(Timer<Key> timer) {
    const auto before = [](const Timer<Key>& one, const Timer<Key>& two) {
      return one.tick() != two.tick() ? one.tick() < two.tick() : key_before(one.key, two.key);
    };
    if (fired_ + 1 < scratch_.size()) {
      const auto first = scratch_.begin() + static_cast<std::ptrdiff_t>(fired_) + 1;
      const auto found = std::lower_bound(first, scratch_.end(), timer, before);
      if (found != scratch_.end() && found->tick() == timer.tick() && found->key == timer.key) found->at |= 1;
    }
    if (overdue_.empty()) return;
    ++size_;
    overdue_erased_ = true;
    overdue_.push_back(std::move(timer));
  }

  [[nodiscard]] int lowest_level() const noexcept {
    int level = 0;
    while (level < kLevels && (bits_[level][0] | bits_[level][1] | bits_[level][2] | bits_[level][3]) == 0) ++level;
    return level;
  }
  [[nodiscard]] unsigned lowest_slot(int level) const noexcept {
    unsigned word = 0;
    while (bits_[level][word] == 0) ++word;
    return word * 64 + static_cast<unsigned>(std::countr_zero(bits_[level][word]));
  }
  void clear_bit(int level, unsigned slot) noexcept { bits_[level][slot / 64] &= ~(std::uint64_t{1} << slot % 64); }

  std::array<std::array<std::uint64_t, 4>, kLevels> bits_{};  // Which buckets hold something.
  std::array<Row, 256> rows_;                                 // Level 0.
  std::array<std::unique_ptr<Level>, kLevels> levels_;        // From level 1.
  std::vector<Timer<Key>> overdue_, scratch_;
  std::uint64_t base_ = 0, done_ = 0;                         // base_ <= every timer that is in a bucket.
  std::size_t fired_ = 0, size_ = 0;
  bool overdue_erased_ = false;
};

}  // namespace sluice::internal
