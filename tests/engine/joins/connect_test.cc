// Goal: two keyed streams meet in one operator: all records of a key on its shard, each once, the watermark the lower of both sides,
// side outputs, state that survives; and what is wrong with a connection is said before the job runs.
// Method: whole jobs on one shard and on eight.
#include "job_fixture.h"

#include <thread>

#include <gmock/gmock.h>

namespace sluice {
namespace {

using namespace std::chrono_literals;
using namespace joins_test;
using ::testing::HasSubstr;

struct Text {
  std::string key;
};
struct Count {
  std::string key;
  int left = 0, right = 0;
};

/// Counts both sides of a key; a key of another shard throws.
struct CountBoth {
  void declare(StateSet& states) { states.add("counts", counts); }
  void left(const Keyed<std::string, Text>& record, EventTime, Collector<Count>& out) {
    auto& count = counts[record.key];
    out.emit({record.key, ++count.first, count.second});
  }
  void right(const Keyed<std::string, Text>& record, EventTime, Collector<Count>& out) {
    auto& count = counts[record.key];
    out.emit({record.key, count.first, ++count.second});
  }
  ValueState<std::string, std::pair<int, int>> counts{};
};

class Connect : public testing::TestWithParam<std::uint16_t> {};
INSTANTIATE_TEST_SUITE_P(Shards, Connect, testing::Values(1, 8));

TEST_P(Connect, AllRecordsOfBothSidesComeOnceAndWhereTheirKeyIs) {
  Collected<Count> out;
  Collected<std::string> beside;
  Directory directory;
  Job job{"both"};
  job.checkpoint({.interval = 1ms, .directory = directory.path}).shards(GetParam());
  const auto text = [](int split, int n, Arena&) { return Text{"a key of more than fifteen bytes " + std::to_string((n + split) % 333)}; };
  const auto key = [](const Text& record) { return record.key; };
  auto left = job.from(splits<Text>({.splits = 3, .count = 3'330, .batch = 77}, text), "left").key_by(key);
  auto right = job.from(splits<Text>({.splits = 7, .count = 999}, text), "right").key_by(key);
  left.connect(right).process<Count>("count", CountBoth{}).to(out.sink());
  // Another reader of the same exchange.
  left.records().map([](const Keyed<std::string, Text>& record) { return record.value.key; }).to(beside.sink());
  const Status ended = run_to_end(std::move(job));
  ASSERT_TRUE(ended.ok()) << ended.to_string();
  std::map<std::string, std::pair<int, int>> highest;
  for (const Count& count : out.take()) {
    auto& most = highest[count.key];
    most = {std::max(most.first, count.left), std::max(most.second, count.right)};
  }
  EXPECT_EQ(out.take().size(), 3 * 3'330u + 7 * 999u);
  EXPECT_EQ(beside.take().size(), 3 * 3'330u);
  EXPECT_EQ(highest.size(), 333u);
  for (const auto& [name, counts] : highest) EXPECT_EQ(counts, std::pair(30, 21)) << name;
}

struct Seen {
  std::int64_t watermark, left, right;  // Records that came before it.
};
/// What an operator knows when it is told of a watermark.
struct Watch {
  void left(const Keyed<std::int64_t, Event>& event, EventTime time, Collector<Seen>&, Collector<Event>& side) {
    ++lefts;
    if (event.value.id % 10 == 0) side.emit(event.value, time);
  }
  void right(const Keyed<std::int64_t, Event>&, EventTime, Collector<Seen>&, Collector<Event>&) { ++rights; }
  void on_watermark(EventTime time, Collector<Seen>& out) { out.emit({time.time_since_epoch().count(), lefts, rights}, time); }
  std::int64_t lefts = 0, rights = 0;
};

TEST(Connect, TheWatermarkIsTheLowerOfBothSidesUntilOneHasEnded) {
  Collected<Seen> out;
  Collected<Event> aside;
  Directory directory;
  Job job{"watermarks"};
  job.checkpoint({.interval = 1ms, .directory = directory.path}).shards(1);
  auto left = timed<Event>(job, "left", {.splits = 1, .count = 100, .batch = 10}, 0ms, [](int, int n, Arena&) {
    return Event{n % 7, n, n * 100};
  });
  auto right = timed<Event>(job, "right", {.splits = 1, .count = 50, .batch = 10}, 0ms, [](int, int n, Arena&) {
    return Event{n % 7, n, n * 100};
  });
  auto both = left.key_by(&Event::key).connect(right.key_by(&Event::key)).process<Seen, Event>("watch", Watch{});
  both.to(out.sink());
  both.side().to(aside.sink());
  const Status ended = run_to_end(std::move(job));
  ASSERT_TRUE(ended.ok()) << ended.to_string();
  std::int64_t before = INT64_MIN;
  std::int64_t last = INT64_MIN;
  for (const Seen& seen : out.take()) {
    EXPECT_GT(seen.watermark, last);
    last = seen.watermark;
    if (last == INT64_MAX) continue;  // The end of time, behind the last record.
    before = seen.watermark;
    // Records are hundred milliseconds apart: all those before the watermark are there, of either side.
    EXPECT_GE(seen.left, std::min<std::int64_t>(seen.watermark / 100, 100));
    EXPECT_GE(seen.right, std::min<std::int64_t>(seen.watermark / 100, 50));
  }
  EXPECT_EQ(before, 10'000) << "when right has ended, left goes on alone";
  EXPECT_EQ(last, INT64_MAX);
  EXPECT_EQ(aside.take().size(), 10u);
}

/// An operator of its own: adds up what both sides say.
class Sums final : public CoOperator<std::int64_t, Event, Event, std::int64_t> {
 public:
  void declare(StateSet& states) override { states.add("sums", sums_); }
  Status process_left(const Batch<Keyed<std::int64_t, Event>>& batch, Collector<std::int64_t>& out) override { return add(batch, 1, out); }
  Status process_right(const Batch<Keyed<std::int64_t, Event>>& batch, Collector<std::int64_t>& out) override { return add(batch, -1, out); }

 private:
  Status add(const Batch<Keyed<std::int64_t, Event>>& batch, std::int64_t sign, Collector<std::int64_t>& out) {
    for (const auto& record : batch) {
      if ((sums_[record.key] += sign * record.value.id) == 0) out.emit(record.key);
    }
    return {};
  }
  ValueState<std::int64_t, std::int64_t> sums_;
};

// Barriers reach the operator in front of the same records of both sides, or sums would not come out even behind a restart.
TEST(Connect, StateIsThatOfOneBarrierOfBothSides) {
  Directory directory;
  Collected<std::int64_t> out;
  constexpr int kCount = 30'000;
  const std::uint16_t shards[] = {2, 1, 4};
  for (std::size_t run = 0; run < std::size(shards); ++run) {
    Job job{"sums"};
    job.checkpoint({.interval = 1ms, .directory = directory.path}).shards(shards[run]);
    auto polled = std::make_shared<std::atomic<std::int64_t>>(0);
    const auto make = [](int, int n, Arena&) { return Event{n % 100, n, 0}; };
    auto left = job.from(splits<Event>({.splits = 2, .count = kCount, .batch = 50, .polled = polled}, make), "left").key_by(&Event::key);
    auto right = job.from(splits<Event>({.splits = 2, .count = kCount, .batch = 30}, make), "right").key_by(&Event::key);
    left.connect(right).process<std::int64_t>("sums", [] { return std::make_unique<Sums>(); }).to(out.sink());
    auto running = Engine().start(std::move(job));
    ASSERT_TRUE(running.ok()) << running.status().to_string();
    while (run + 1 < std::size(shards) && !running->done() && *polled < kCount / 2) std::this_thread::sleep_for(1ms);
    const std::size_t before = out.take().size();
    if (run + 1 < std::size(shards)) running->stop();
    const Status ended = running->wait();
    ASSERT_TRUE(ended.ok()) << ended.to_string();
    if (run + 1 < std::size(shards)) continue;
    // All is said of both: each key's sum has come to nought at last.
    std::set<std::int64_t> even;
    const std::vector<std::int64_t> zeros = out.take();
    for (std::size_t i = before; i < zeros.size(); ++i) even.insert(zeros[i]);
    even.insert(zeros.begin(), zeros.end());
    EXPECT_EQ(even.size(), 100u);
  }
}

// ---- what is wrong with it ----

TEST(Connect, StreamsOfTwoJobsAreRefused) {
  Job one{"one"}, two{"two"};
  Collected<std::pair<Event, Event>> out;
  auto a = one.from(from_values<Event>({}), "a").key_by(&Event::key);
  auto b = two.from(from_values<Event>({}), "b").key_by(&Event::key);
  a.join(b).between(-1s, 1s).inner("j").to(out.sink());
  EXPECT_EQ(one.check().code(), Code::kInvalid);
  EXPECT_THAT(one.check().to_string(), HasSubstr("two jobs"));
}

TEST(Connect, AnIntervalWithItsBoundsTheWrongWayRoundIsRefused) {
  Job job{"job"};
  Collected<std::pair<Event, Event>> out;
  auto a = job.from(from_values<Event>({}), "a").key_by(&Event::key);
  a.join(job.from(from_values<Event>({}), "b").key_by(&Event::key)).between(3s, -3s).inner("j").to(out.sink());
  EXPECT_EQ(job.check().code(), Code::kInvalid);
  EXPECT_THAT(job.check().to_string(), HasSubstr("the lower bound comes first"));
}

TEST(Connect, TwoJoinsOfOneNameAreRefused) {
  Job job{"job"};
  Collected<std::pair<Event, Event>> out;
  auto a = job.from(from_values<Event>({}), "a").key_by(&Event::key);
  auto b = job.from(from_values<Event>({}), "b").key_by(&Event::key);
  a.join(b).between(-1s, 1s).inner("twice").to(out.sink());
  b.join(a).between(-1s, 1s).inner("twice").to(out.sink());
  EXPECT_THAT(job.check().to_string(), HasSubstr("\"twice\""));
}

}  // namespace
}  // namespace sluice
