#pragma once

#include <sluice/engine/joins/joined_streams.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/describe/class.hpp>
#include <gtest/gtest.h>

namespace sluice::joins_test {

using namespace std::chrono_literals;

inline EventTime at(std::int64_t ms) { return EventTime(EventDuration(ms)); }

/// One record of either side: its number, so that a result says who it was.
struct Row {
  std::int64_t key = 0, id = 0;
  auto operator<=>(const Row&) const = default;
};
BOOST_DESCRIBE_STRUCT(Row, (), (key, id))

/// A result: both ids, 0 for a side that is missing.
using Pair = std::pair<std::int64_t, std::int64_t>;
struct Ids {
  static std::int64_t id(const Row& item) { return item.id; }
  static std::int64_t id(const Row* item) { return item == nullptr ? 0 : item->id; }
  template <class L, class R>
  Pair operator()(const L& left, const R& right) const { return {id(left), id(right)}; }
  Pair operator()(const Row& left) const { return {left.id, 0}; }  // Of a semi join.
};

struct Made {
  Pair ids;
  EventTime time;      // Of the result.
  EventTime from, to;  // The watermark before and with the call that made it; equal for a record's call.
};

/// A two-input operator on any number of shards, called directly: no threads, the watermark by hand. restart() takes the states of all
/// shards and begins anew with them.
template <class L, class R>
class Harness {
 public:
  using Op = CoOperator<std::int64_t, L, R, Pair>;
  using Make = std::function<std::unique_ptr<Op>()>;
  Harness(Make make, std::uint16_t shards) : make_(std::move(make)) { begin(shards, {}); }

  Status left(const L& item, EventTime time) { return feed<true>(item.key, item, time); }
  Status right(const Row& item, EventTime time) { return feed<false>(item.key, R(item), time); }
  /// For what is no Row: a key without a row.
  Status right(std::int64_t key, const R& value, EventTime time) { return feed<false>(key, value, time); }
  Status watermark(EventTime time) {
    const EventTime before = std::exchange(watermark_, std::max(watermark_, time));
    for (Shard& shard : shards_) {
      Collector<Pair> out;
      SLUICE_TRY(shard.op->on_watermark(time, out));
      take(out, before);
    }
    return {};
  }
  Status end() {
    for (Shard& shard : shards_) {
      Collector<Pair> out;
      SLUICE_TRY(shard.op->end_of_input(out));
      take(out, watermark_);
    }
    return {};
  }
  void restart(std::uint16_t shards) {
    std::vector<Saved> saved;
    for (Shard& shard : shards_) {
      for (const auto& [name, state] : shard.states.all()) {
        saved.push_back({name, state->type(), {}});
        state->save(saved.back().bytes);
      }
    }
    begin(shards, saved);
  }
  std::vector<Made> results;
  Metrics metrics;
  [[nodiscard]] std::uint64_t late() const { return metrics.value("sluice_operator_late_dropped_total"); }
  [[nodiscard]] std::map<Pair, int> counted() const {
    std::map<Pair, int> counted;
    for (const Made& result : results) ++counted[result.ids];
    return counted;
  }

 private:
  struct Saved {
    std::string name, type, bytes;
  };
  struct Shard {
    std::unique_ptr<Op> op;
    StateSet states;
  };
  void begin(std::uint16_t shards, const std::vector<Saved>& saved) {
    shards_.clear();
    for (std::uint16_t i = 0; i < shards; ++i) {
      Context context;
      context.operator_id = "join";
      context.shard = ShardId(i);
      context.parallelism = shards;
      context.metrics = &metrics;
      Shard shard{make_(), {}};
      shard.op->declare(shard.states);
      for (const auto& [name, state] : shard.states.all()) {
        state->open(context);
        for (const Saved& one : saved) {
          if (one.name != name) continue;
          ASSERT_TRUE(state->reads(one.type));
          const Status restored = state->restore(one.bytes, context);
          ASSERT_TRUE(restored.ok()) << restored.to_string();
        }
      }
      const Status opened = shard.op->open(context);
      ASSERT_TRUE(opened.ok()) << opened.to_string();
      shards_.push_back(std::move(shard));
    }
  }
  template <bool kLeft, class T>
  Status feed(std::int64_t key, const T& item, EventTime time) {
    const KeyGroup group = groups_.of(key);
    Batch<Keyed<std::int64_t, T>> batch;
    batch.records().push_back({key, item, group});
    if (time != kNoEventTime || timed) batch.times().push_back(time);
    using Both = Either<Keyed<std::int64_t, L>, Keyed<std::int64_t, R>>;
    Batch<Both> both;
    if constexpr (kLeft) {
      both = Batch<Both>::of_left(std::move(batch));
    } else {
      both = Batch<Both>::of_right(std::move(batch));
    }
    Shard& shard = shards_[groups_.owner(group, static_cast<std::uint16_t>(shards_.size())).value()];
    Collector<Pair> out(both);
    SLUICE_TRY(shard.op->process(both, out));
    take(out, watermark_);
    return {};
  }
  void take(Collector<Pair>& out, EventTime before) {
    for (const Batch<Pair>& batch : out.take()) {
      for (std::size_t i = 0; i < batch.size(); ++i) {
        results.push_back({batch[i], batch.times().empty() ? kNoEventTime : batch.times()[i], before, watermark_});
      }
    }
  }

  const Make make_;
  const KeyGroups groups_;
  std::vector<Shard> shards_;
  EventTime watermark_ = EventTime::min();

 public:
  bool timed = false;  // Records without a time are in a stream that has times.
};

template <JoinKind kKind>
auto interval_join(EventDuration lower, EventDuration upper, JoinOptions options = {}) {
  return [=] { return std::make_unique<IntervalJoin<std::int64_t, Row, Row, kKind, Ids>>(lower, upper, Ids(), options); };
}
template <JoinKind kKind>
auto window_join(EventDuration size, EventDuration slide, EventDuration offset = {}, JoinOptions options = {}) {
  const internal::JoinWindows windows{size, slide, offset};
  return [=] { return std::make_unique<WindowJoin<std::int64_t, Row, Row, kKind, Ids>>(windows, Ids(), options); };
}

}  // namespace sluice::joins_test
