#pragma once

#include <sluice/engine/keyed_stream.h>
#include <sluice/engine/testing/test_driver.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::time_test {

using namespace std::chrono_literals;

inline EventTime at(std::int64_t ms) { return EventTime(EventDuration(ms)); }

struct Event {
  std::string key;
  EventTime time;
};
inline Event event(std::string key, std::int64_t ms) { return {std::move(key), at(ms)}; }

struct Row {
  std::string key;
  std::int64_t start;
  std::uint64_t count;
  auto operator<=>(const Row&) const = default;
};
inline void PrintTo(const Row& row, std::ostream* out) { *out << '(' << row.key << ',' << row.start << ',' << row.count << ')'; }
using Rows = std::vector<Row>;

/// Open windows, by end and key.
class OpenWindows final : public State {
 public:
  std::map<std::pair<EventTime, std::string>, std::uint64_t> counts;
  std::string type() const override { return "open-windows"; }
  void save(std::string& out) const override {
    for (const auto& [place, count] : counts) {
      Codec<EventTime>::write(place.first, out);
      Codec<std::string>::write(place.second, out);
      Codec<std::uint64_t>::write(count, out);
    }
  }
  Status restore(std::string_view bytes, const Context& context) override {
    while (!bytes.empty()) {
      EventTime end;
      std::string key;
      std::uint64_t count = 0;
      if (!Codec<EventTime>::read(bytes, end) || !Codec<std::string>::read(bytes, key) || !Codec<std::uint64_t>::read(bytes, count)) {
        return Status(Code::kCorrupt, "open windows end in the middle");
      }
      const KeyGroup group = context.key_groups.of<std::string>(key);
      if (context.key_groups.owner(group, context.parallelism) == context.shard) counts[{end, key}] += count;
    }
    return {};
  }
};

/// The watermark that an operator has seen. All instances agree at a barrier, or the restore says so.
class SeenWatermark final : public State {
 public:
  EventTime time = EventTime::min();
  std::string type() const override { return "seen-watermark"; }
  void save(std::string& out) const override { Codec<EventTime>::write(time, out); }
  Status restore(std::string_view bytes, const Context&) override {
    EventTime read;
    if (!Codec<EventTime>::read(bytes, read)) return Status(Code::kCorrupt, "a watermark ends in the middle");
    if (std::exchange(restored_, true) && read != time) {
      return Status(Code::kCorrupt, "two instances had not seen the same watermark at a barrier");
    }
    time = read;
    return {};
  }

 private:
  bool restored_ = false;
};

/// Counts by key in tumbling windows: the smallest thing that lateness and the watermark matter to.
class CountWindows final : public Operator<Keyed<std::string, Event>, Row> {
 public:
  struct Peak {
    std::size_t open = 0;
  };
  explicit CountWindows(EventDuration size, std::shared_ptr<Peak> peak = {}) : size_(size), peak_(std::move(peak)) {}
  void declare(StateSet& states) override {
    states.add("open", open_);
    states.add("watermark", seen_);
  }
  Status open(const Context& context) override {
    late_ = context.metrics->counter("late");
    return {};
  }
  Status process(const Batch<Keyed<std::string, Event>>& batch, Collector<Row>&) override {
    if (batch.times().size() != batch.size()) return Status(Code::kInvalid, "records without a time");
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const EventTime time = batch.times()[i];
      if (time != batch[i].value.time) return Status(Code::kInvalid, "a record has the time of another");
      const EventTime end = at((floor_div(time.time_since_epoch().count(), size_.count()) + 1) * size_.count());
      if (end <= seen_.time) late_->add(1);
      else ++open_.counts[{end, batch[i].key}];
    }
    if (peak_) peak_->open = std::max(peak_->open, open_.counts.size());
    return {};
  }
  Status on_watermark(EventTime time, Collector<Row>& out) override {
    if (time <= announced_) return Status(Code::kInvalid, "the watermark moved back, or not at all");
    announced_ = time;
    seen_.time = std::max(seen_.time, time);  // What was restored may be ahead of what the sources have caught up with.
    auto& counts = open_.counts;
    while (!counts.empty() && counts.begin()->first.first <= time) {
      const auto& [place, count] = *counts.begin();
      out.emit({place.second, (place.first - size_).time_since_epoch().count(), count}, place.first - EventDuration(1));
      counts.erase(counts.begin());
    }
    return {};
  }

 private:
  static std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
  const EventDuration size_;
  const std::shared_ptr<Peak> peak_;
  OpenWindows open_;
  SeenWatermark seen_;
  EventTime announced_ = EventTime::min();
  std::shared_ptr<Counter> late_;
};

/// Events through a strategy and a key_by into counted windows.
inline Job counting(const TestInput<Event>& in, const TestOutput<Row>& out, Watermarks<Event> watermarks, EventDuration size,
                    std::shared_ptr<CountWindows::Peak> peak = {}) {
  Job job{"counting"};
  job.from(in.source(), "in")
      .watermarks(std::move(watermarks), "time")
      .key_by([](const Event& one) { return one.key; }, "by-key")
      .process<Row>("count", [size, peak] { return std::make_unique<CountWindows>(size, peak); })
      .to(out.sink());
  return job;
}

inline std::unique_ptr<TestDriver> started(const Job& job, std::uint16_t shards, std::optional<CheckpointData> from = {}) {
  Result<std::unique_ptr<TestDriver>> driver = TestDriver::start(job, {.shards = shards}, std::move(from));
  if (!driver.ok()) {
    ADD_FAILURE() << driver.status().to_string();
    return nullptr;
  }
  return *std::move(driver);
}
inline Rows sorted(Rows rows) {
  std::ranges::sort(rows);
  return rows;
}
#define ASSERT_FINE(...)                                            \
  do {                                                              \
    const Status fine_status = (__VA_ARGS__);                       \
    ASSERT_TRUE(fine_status.ok()) << fine_status.to_string();       \
  } while (false)

class OnShards : public testing::TestWithParam<std::uint16_t> {};
#define ON_ONE_SHARD_AND_ON_EIGHT(suite) \
  INSTANTIATE_TEST_SUITE_P(Shards, suite, testing::Values(1, 8), [](const auto& shards) { return "on_" + std::to_string(shards.param); })

}  // namespace sluice::time_test
