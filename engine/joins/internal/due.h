#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <sluice/engine/event_time.h>
#include <sluice/io/base/assert.h>

namespace sluice::internal {

/// A sum that stays at an end of time instead of running over it.
[[nodiscard]] constexpr EventTime sum_within(EventTime time, EventDuration by) noexcept {
  const std::int64_t from = time.time_since_epoch().count();
  std::int64_t sum = 0;
  if (__builtin_add_overflow(from, by.count(), &sum)) return by.count() < 0 ? EventTime::min() : EventTime::max();
  return EventTime(EventDuration(sum));
}
/// Times that sums of a few of them cannot run over; none is within 70 million years.
inline constexpr EventTime kFirstTime{EventDuration(INT64_MIN / 4)}, kLastTime{EventDuration(INT64_MAX / 4)};
inline constexpr EventDuration kLongest{INT64_MAX / 16};

/// Stretches of time of one length, one after the other from `origin`. The last one is remembered: the next time is most often in it
/// too, and a division costs more than the rest of a look-up.
class Steps {
 public:
  Steps(EventDuration step, EventDuration origin) noexcept : step_(step), origin_(origin) {}
  /// Where the one that holds `time` begins.
  [[nodiscard]] EventTime down(EventTime time) noexcept {
    if (time < from_ || time >= to_) [[unlikely]] {
      const std::int64_t since = sum_within(std::max(time, kFirstTime), -origin_).time_since_epoch().count();
      const std::int64_t rest = since % step_.count();
      from_ = EventTime(EventDuration(since - (rest < 0 ? rest + step_.count() : rest)) + origin_);
      to_ = sum_within(from_, step_);
    }
    return from_;
  }

 private:
  EventDuration step_, origin_;
  EventTime from_ = EventTime::max(), to_ = EventTime::min();
};

/// Keys by the time when they are to be looked at, in buckets of time: what a bucket holds is put in order only when the watermark
/// stands within it. A key may be there several times; the one who asks knows which one counts.
template <class Key>
class Due {
 public:
  /// `exact`: a key is handed out by the first watermark behind its time; otherwise with its bucket. Buckets begin at `origin`.
  Due(EventDuration width, EventDuration origin, bool exact) : steps_(width, origin), exact_(exact) {
    SLUICE_ASSERT(width > EventDuration::zero());
  }

  void add(EventTime time, const Key& key) {
    const EventTime bucket = steps_.down(time);
    if (bucket <= current_bucket_) {
      current_.push_back({time, key});
      std::ranges::push_heap(current_, later_first);
      return;
    }
    if (last_ == nullptr || last_bucket_ != bucket) {
      last_ = &buckets_.try_emplace(bucket).first->second;
      last_bucket_ = bucket;
      if (last_->capacity() == 0 && !spare_.empty()) {
        last_->swap(spare_.back());
        spare_.pop_back();
      }
    }
    last_->push_back({time, key});
  }
  /// `visit(key, time)` for all times before `watermark`; it may add others, none before `watermark`.
  template <class Visit>
  void pass(EventTime watermark, Visit&& visit) {
    const EventTime reached = steps_.down(watermark);
    if (!current_.empty() && current_bucket_ < reached) visit_all(std::exchange(current_, {}), visit);
    while (!buckets_.empty() && buckets_.begin()->first < reached) {
      std::vector<Entry> passed = take_first();
      visit_all(std::move(passed), visit);
    }
    if (!exact_) return;
    if (!buckets_.empty() && buckets_.begin()->first == reached) {
      std::vector<Entry> now = take_first();
      std::ranges::move(now, std::back_inserter(current_));
      std::ranges::make_heap(current_, later_first);
    }
    current_bucket_ = std::max(current_bucket_, reached);
    while (!current_.empty() && current_.front().time < watermark) {
      std::ranges::pop_heap(current_, later_first);
      const Entry entry = std::move(current_.back());
      current_.pop_back();
      visit(entry.key, entry.time);
    }
  }
  void clear() {
    current_.clear();
    buckets_.clear();
    last_ = nullptr;
  }

 private:
  struct Entry {
    EventTime time;
    Key key;
  };
  static bool later_first(const Entry& a, const Entry& b) { return a.time > b.time; }

  std::vector<Entry> take_first() {
    std::vector<Entry> taken = std::move(buckets_.begin()->second);
    buckets_.erase(buckets_.begin());
    last_ = nullptr;
    return taken;
  }
  template <class Visit>
  void visit_all(std::vector<Entry> entries, Visit& visit) {
    for (const Entry& entry : entries) visit(entry.key, entry.time);
    entries.clear();
    if (spare_.size() < 4) spare_.push_back(std::move(entries));  // The next bucket need not grow again.
  }

  Steps steps_;
  const bool exact_;
  std::map<EventTime, std::vector<Entry>> buckets_;  // By their beginning.
  std::vector<Entry>* last_ = nullptr;  // The bucket that was added to last: most often the next one too.
  EventTime last_bucket_{};
  std::vector<Entry> current_;  // A heap: the bucket that the watermark stands in.
  EventTime current_bucket_ = EventTime::min();
  std::vector<std::vector<Entry>> spare_;
};

}  // namespace sluice::internal
