#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <sluice/engine/event_time.h>
#include <sluice/engine/windows/assigners.h>

namespace sluice::internal {

/// Keys by when to look at them: in buckets of time, of which only the one that is due is put in order.
template <class Kept>
class DueQueue {
 public:
  struct Due {
    EventTime time;
    Kept key;
  };
  explicit DueQueue(EventDuration bucket) : bucket_(std::max(bucket, EventDuration(1))) {}

  void add(EventTime time, const Kept& key) {
    const EventTime bucket = floor_to(time, bucket_, EventDuration(0));
    if (bucket <= current_) {
      heap_.push_back({time, key});
      std::ranges::push_heap(heap_, later);
    } else {
      buckets_[bucket].push_back({time, key});
    }
  }
  /// Hands out all that is due at `now`, in order of time but where a bucket is due as a whole; more may be added meanwhile.
  template <class F>
  void take(EventTime now, F&& visit) {
    while (!heap_.empty() || !buckets_.empty()) {
      while (!heap_.empty() && heap_.front().time <= now) {
        std::ranges::pop_heap(heap_, later);
        const Due due = std::move(heap_.back());
        heap_.pop_back();
        visit(due);
      }
      if (buckets_.empty() || buckets_.begin()->first > now) return;
      current_ = buckets_.begin()->first;
      std::vector<Due> bucket = std::move(buckets_.begin()->second);
      buckets_.erase(buckets_.begin());
      heap_.insert(heap_.end(), std::make_move_iterator(bucket.begin()), std::make_move_iterator(bucket.end()));
      std::ranges::make_heap(heap_, later);
    }
  }

 private:
  static constexpr auto later = [](const Due& a, const Due& b) { return a.time > b.time; };
  const EventDuration bucket_;
  EventTime current_ = EventTime::min();  // What is due up to the end of this bucket is in the heap.
  std::vector<Due> heap_;
  std::map<EventTime, std::vector<Due>> buckets_;
};

}  // namespace sluice::internal
