// Goal: windows and triggers by the job's clock speak when it says so, once, on quiet streams too, wherever and however long the job was
// stopped in between.
// Method: the operator of a pipeline with a clock by hand; whole pipelines in virtual time, where a stop is a wall clock that goes on.
#include "window_fixture.h"

#include <sluice/engine/testing/test_driver.h>

#include <set>

namespace sluice {
namespace {

using namespace std::chrono_literals;
using namespace window_test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Rows = std::vector<Row<std::uint64_t>>;
constexpr std::int64_t kNone = -1;  // No event time.

class ByTheClock : public testing::TestWithParam<int> {
 protected:
  [[nodiscard]] std::uint16_t shards() const { return static_cast<std::uint16_t>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Shards, ByTheClock, testing::Values(1, 8));

// ---- windows ----

TEST_P(ByTheClock, ARecordIsInTheWindowThatIsOpenWhenItComes) {
  auto windows = rig<int>(processing_time(tumbling(10s)), count(), shards());
  windows.pass(1'000);
  windows.send("k", 86'400'000);  // Whatever its own time.
  windows.pass(8'999);
  windows.send("k", 0);
  EXPECT_THAT(windows.rows(), IsEmpty());
  windows.watermark(1'000'000);  // Watermarks are nothing to it.
  EXPECT_THAT(windows.rows(), IsEmpty());
  windows.pass(1);
  EXPECT_EQ(windows.rows(), (Rows{{"k", 0, 10'000, 2, kNone}}));
  EXPECT_EQ(windows.open(), 0u);
  windows.pass(20'000);
  windows.send("k", 0);
  windows.end();
  EXPECT_EQ(windows.rows(), (Rows{{"k", 0, 10'000, 2, kNone}, {"k", 30'000, 40'000, 1, kNone}}));
  EXPECT_EQ(windows.late(), 0u);
  EXPECT_TRUE(windows.status().ok()) << windows.status().to_string();
}

// What is due speaks in front of a record, though nobody called the deadline yet.
TEST_P(ByTheClock, ARecordBehindTheEndIsInTheNextWindow) {
  auto windows = rig<int>(processing_time(tumbling(10s)), count(), shards());
  windows.send("k", 0);
  windows.pass(10'000, 99);
  windows.send("k", 0);
  EXPECT_EQ(windows.rows(), (Rows{{"k", 0, 10'000, 1, kNone}}));
  windows.pass(10'000);
  EXPECT_EQ(windows.rows(), (Rows{{"k", 0, 10'000, 1, kNone}, {"k", 10'000, 20'000, 1, kNone}}));
}

TEST_P(ByTheClock, SlidingWindowsShareTheirSlices) {
  auto counts = rig<std::uint64_t>(processing_time(sliding(10s, 5s)), count(), shards());
  counts.pass(1'000);
  counts.send("k", 0, 7);
  counts.pass(3'999);
  EXPECT_THAT(counts.rows(), IsEmpty());
  counts.pass(1);
  counts.send("k", 0, 3);
  counts.restart(static_cast<std::uint16_t>(shards() % 3 + 1));
  for (int i = 0; i < 4; ++i) counts.pass(5'000);
  EXPECT_EQ(counts.rows(), (Rows{{"k", -5'000, 5'000, 1, kNone}, {"k", 0, 10'000, 2, kNone}, {"k", 5'000, 15'000, 1, kNone}}));
  EXPECT_EQ(counts.open(), 0u);
}

TEST_P(ByTheClock, ASessionEndsOneGapBehindItsLastRecord) {
  auto sessions = rig<int>(processing_time(session(10s)), count(), shards());
  sessions.pass(1'000);
  sessions.send("k", 0);
  for (int i = 0; i < 5; ++i) {
    sessions.pass(2'000);
    sessions.send("k", 0);
    sessions.restart(static_cast<std::uint16_t>(i % 3 + 1));
  }
  for (int i = 0; i < 9; ++i) sessions.pass(1'000);
  sessions.send("m", 0);
  EXPECT_THAT(sessions.rows(), IsEmpty());
  sessions.pass(1'000);
  EXPECT_EQ(sessions.rows(), (Rows{{"k", 1'000, 21'000, 6, kNone}}));
  sessions.send("k", 0);  // Exactly one gap later: a session of its own.
  for (int i = 0; i < 40; ++i) sessions.pass(500);
  EXPECT_EQ(sessions.rows(), (Rows{{"k", 1'000, 21'000, 6, kNone}, {"k", 21'000, 31'000, 1, kNone}, {"m", 20'000, 30'000, 1, kNone}}));
  EXPECT_EQ(sessions.open(), 0u);
  EXPECT_EQ(sessions.late(), 0u);
}

// ---- restores ----

// Goal: the instances of an operator are not equally far when a barrier comes, and snapshots are written piece by piece: no window is
// lost or comes twice all the same, on whatever number of shards.
template <class Windows>
void each_window_once(Windows of, std::int64_t end) {
  for (const std::uint16_t after : {1, 3, 8}) {
    auto windows = rig<int>(of, count(), 4);
    std::vector<std::tuple<std::string, std::int64_t, int>> batch;
    for (int i = 0; i < 100; ++i) batch.emplace_back("k" + std::to_string(i), 0, 0);
    windows.send(batch);
    windows.checkpoint();
    windows.pass(end, 2);  // One of four.
    windows.pass(1, 0);
    const std::size_t some = windows.rows().size();
    EXPECT_GT(some, 0u);
    EXPECT_LT(some, 100u);
    windows.restart(after);
    EXPECT_EQ(windows.rows().size(), some);
    windows.pass(3'600'000);  // It was due long ago.
    EXPECT_EQ(windows.rows().size(), 100u) << after;
    windows.pass(3'600'000);
    windows.end();
    EXPECT_EQ(windows.rows().size(), 100u) << after;
    std::set<std::string> keys;
    for (const auto& row : windows.rows()) {
      keys.insert(row.key);
      EXPECT_EQ(row.value, 1u);
    }
    EXPECT_EQ(keys.size(), 100u);
    EXPECT_TRUE(windows.status().ok()) << windows.status().to_string();
    EXPECT_EQ(windows.open(), 0u);
  }
}
TEST(ByTheClockRestores, TumblingWindowsSpeakOnceThoughInstancesDiffer) { each_window_once(processing_time(tumbling(10s)), 10'000); }
TEST(ByTheClockRestores, SlidingWindowsSpeakOnceThoughInstancesDiffer) { each_window_once(processing_time(sliding(10s, 10s)), 10'000); }
TEST(ByTheClockRestores, SessionsSpeakOnceThoughInstancesDiffer) { each_window_once(processing_time(session(10s)), 10'001); }

// The end of a bounded run is not the end of the clock: a later run opens windows again, and what the first has said stays said.
TEST_P(ByTheClock, ALaterRunGoesOnWithTheClock) {
  const auto check = [&](auto of) {
    auto windows = rig<int>(of, count(), shards());
    windows.pass(1'000);
    windows.send("k", 0);
    windows.checkpoint();
    windows.end();
    EXPECT_EQ(windows.rows().size(), 1u);
    windows.restart(2);
    windows.pass(1'000);
    windows.send("k", 0);
    for (int i = 0; i < 20; ++i) windows.pass(1'000);
    EXPECT_EQ(windows.rows().size(), 2u);
    for (const auto& row : windows.rows()) EXPECT_EQ(row.value, 1u);
    EXPECT_EQ(windows.open(), 0u);
  };
  check(processing_time(tumbling(10s)));
  check(processing_time(session(10s)));
}

// ---- whole pipelines ----

struct Event {
  std::string key;
  EventTime time;
};
Event event(std::string key, std::int64_t ms) { return {std::move(key), at(ms)}; }
using Count = Windowed<std::string, std::uint64_t>;

std::vector<std::tuple<std::string, std::int64_t, std::uint64_t>> taken(TestOutput<Count>& out) {
  std::vector<std::tuple<std::string, std::int64_t, std::uint64_t>> rows;
  for (const Count& row : out.take()) rows.emplace_back(row.key, row.window.start.time_since_epoch().count(), row.value);
  std::ranges::sort(rows);
  return rows;
}
using OneRow = std::tuple<std::string, std::int64_t, std::uint64_t>;

template <class Windows, class Trigger = AtEnd>
Job counting(const TestInput<Event>& in, const TestOutput<Count>& out, Windows windows, Trigger trigger = {}) {
  Job job{"counting"};
  job.from(in.source(), "in")
      .watermarks(monotonous<Event>(&Event::time), "time")
      .key_by([](const Event& one) { return one.key; }, "by-key")
      .window(windows)
      .trigger(trigger)
      .aggregate(count(), "counts")
      .to(out.sink());
  return job;
}
std::unique_ptr<TestDriver> started(const Job& job, std::uint16_t shards, std::int64_t wall_ms, std::optional<CheckpointData> from = {}) {
  Result<std::unique_ptr<TestDriver>> driver =
      TestDriver::start(job, {.shards = shards, .wall = io::WallTime(EventDuration(wall_ms))}, std::move(from));
  if (driver.ok()) return *std::move(driver);
  ADD_FAILURE() << driver.status().to_string();
  return nullptr;
}
#define ASSERT_FINE(...)                                            \
  do {                                                              \
    const Status fine_status = (__VA_ARGS__);                       \
    ASSERT_TRUE(fine_status.ok()) << fine_status.to_string();       \
  } while (false)

// Goal: a quiet stream's windows speak, whoever is stopped meanwhile; what was due while the job was down comes once, when it is up.
TEST_P(ByTheClock, WhatWasDueWhileTheJobWasDownComesOnce) {
  for (const std::uint16_t after : {1, 3, 8}) {
    TestInput<Event> in({.splits = 2});
    TestOutput<Count> out;
    const Job job = counting(in, out, processing_time(tumbling(10s)));
    auto driver = started(job, shards(), 100'000);
    ASSERT_TRUE(driver);
    in.give(0, {event("a", 1), event("b", 2)});
    in.give(1, {event("a", 1'000'000)});
    ASSERT_FINE(driver->advance(9'999ms));
    EXPECT_THAT(taken(out), IsEmpty());
    ASSERT_FINE(driver->advance(1ms));
    EXPECT_THAT(taken(out), ElementsAre(OneRow{"a", 100'000, 2}, OneRow{"b", 100'000, 1}));
    in.give(0, {event("b", 3), event("c", 4)});
    ASSERT_FINE(driver->advance(1s));
    Result<CheckpointData> checkpoint = driver->checkpoint();
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().to_string();
    // Down for an hour, in which the window's end was.
    driver = started(job, after, 3'711'000, *std::move(checkpoint));
    ASSERT_TRUE(driver);
    EXPECT_THAT(taken(out), ElementsAre(OneRow{"b", 110'000, 1}, OneRow{"c", 110'000, 1}));
    ASSERT_FINE(driver->advance(1h));
    EXPECT_THAT(taken(out), IsEmpty());
    in.give(0, {event("b", 5)});
    ASSERT_FINE(driver->run());
    // And up again within the window, by a clock that was set back an hour: it goes on from where it was.
    checkpoint = driver->checkpoint();
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().to_string();
    driver = started(job, shards(), 3'711'000, *std::move(checkpoint));
    ASSERT_TRUE(driver);
    in.give(1, {event("b", 2'000'000)});
    ASSERT_FINE(driver->advance(8'999ms));
    EXPECT_THAT(taken(out), IsEmpty());
    ASSERT_FINE(driver->advance(1ms));
    EXPECT_THAT(taken(out), ElementsAre(OneRow{"b", 7'310'000, 2}));
    in.give(0, {event("d", 6)});
    ASSERT_FINE(driver->run());
    in.end();
    ASSERT_FINE(driver->run());
    ASSERT_TRUE(driver->ended());
    EXPECT_THAT(taken(out), ElementsAre(OneRow{"d", 7'320'000, 1}));
    EXPECT_EQ(driver->metric("sluice_operator_late_dropped_total"), 0u);
  }
}

// S36: intervals go by the clock that nobody sets.
TEST_P(ByTheClock, ASystemClockThatIsSetChangesNoInterval) {
  TestInput<Event> in;
  TestOutput<Count> out;
  auto driver = started(counting(in, out, processing_time(tumbling(1s))), shards(), 100'000'000);
  ASSERT_TRUE(driver);
  std::size_t rows = 0;
  for (int second = 0; second < 30; ++second) {
    if (second == 10) driver->set_wall(io::WallTime(EventDuration(100'010'000 - 3'600'000)));
    if (second == 20) driver->set_wall(io::WallTime(EventDuration(100'010'000 + 3'600'000)));
    for (int i = 0; i < 100; ++i) in.give(0, {event("k", second)});
    ASSERT_FINE(driver->advance(1s));
    for (const auto& [key, start, value] : taken(out)) {
      EXPECT_EQ(start, 100'000'000 + second * 1'000);
      EXPECT_EQ(value, 100u);
      ++rows;
    }
  }
  EXPECT_EQ(rows, 30u);
}

// ---- triggers by the clock ----

TEST_P(ByTheClock, ATriggerByTheClockSaysWhatIsNew) {
  const auto check = [&](auto windows, std::int64_t end) {
    TestInput<Event> in;
    TestOutput<Count> out;
    const Job job = counting(in, out, windows, processing_time(early(5s)));
    auto driver = started(job, shards(), 0);
    ASSERT_TRUE(driver);
    ASSERT_FINE(driver->advance(3s));
    in.give(0, {event("a", 1'000), event("b", 1'000), event("a", 2'000)});
    ASSERT_FINE(driver->advance(1'999ms));
    EXPECT_THAT(taken(out), IsEmpty());
    ASSERT_FINE(driver->advance(1ms));
    EXPECT_EQ(taken(out).size(), 2u);
    ASSERT_FINE(driver->advance(1h));
    EXPECT_THAT(taken(out), IsEmpty()) << "nothing new";
    in.give(0, {event("a", 2'500)});
    ASSERT_FINE(driver->advance(1s));
    Result<CheckpointData> checkpoint = driver->checkpoint();
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().to_string();
    // It was due while the job was down: said once, when it is up; of `b` there is nothing new.
    driver = started(job, static_cast<std::uint16_t>(shards() % 3 + 1), 7'200'000, *std::move(checkpoint));
    ASSERT_TRUE(driver);
    auto rows = taken(out);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(std::get<0>(rows[0]), "a");
    EXPECT_EQ(std::get<2>(rows[0]), 3u);
    ASSERT_FINE(driver->advance(1h));
    EXPECT_THAT(taken(out), IsEmpty());
    in.give(0, {event("z", end)});
    ASSERT_FINE(driver->run());
    rows = taken(out);  // At the end all of them, new or not.
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(std::get<2>(rows[0]), 3u);
    EXPECT_EQ(std::get<2>(rows[1]), 1u);
    in.end();
    ASSERT_FINE(driver->run());
    EXPECT_EQ(taken(out).size(), 1u);
  };
  check(tumbling(60s), 60'000);
  check(sliding(60s, 60s), 60'000);
  check(session(60s), 90'000);
}

TEST_P(ByTheClock, WindowsOfTheClockHaveEarlyResultsByTheClock) {
  TestInput<Event> in;
  TestOutput<Count> out;
  auto driver = started(counting(in, out, processing_time(tumbling(10s)), processing_time(early(4s))), shards(), 0);
  ASSERT_TRUE(driver);
  in.give(0, {event("a", 1)});
  ASSERT_FINE(driver->advance(4s));
  EXPECT_THAT(taken(out), ElementsAre(OneRow{"a", 0, 1}));
  in.give(0, {event("a", 1)});
  ASSERT_FINE(driver->advance(5s));
  EXPECT_THAT(taken(out), ElementsAre(OneRow{"a", 0, 2}));
  ASSERT_FINE(driver->advance(1s));
  EXPECT_THAT(taken(out), ElementsAre(OneRow{"a", 0, 2}));
  ASSERT_FINE(driver->advance(1h));
  EXPECT_THAT(taken(out), IsEmpty());
}

TEST_P(ByTheClock, AGlobalWindowSpeaksByTheClock) {
  TestInput<Event> in;
  TestOutput<Count> out;
  auto driver = started(counting(in, out, global(), processing_time(early(5s))), shards(), 0);
  ASSERT_TRUE(driver);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    in.give(0, {event("a", 1)});
    ASSERT_FINE(driver->advance(5s));
    auto rows = taken(out);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(std::get<2>(rows[0]), i);
  }
}

TEST(ByTheClockErrors, LatenessIsRefusedWithTheReason) {
  TestInput<Event> in;
  TestOutput<Count> out;
  Job job{"refused"};
  job.from(in.source(), "in")
      .key_by([](const Event& one) { return one.key; }, "by-key")
      .window(processing_time(tumbling(10s)))
      .allowed_lateness(1s)
      .aggregate(count(), "counts")
      .to(out.sink());
  const auto driver = TestDriver::start(job, TestDriver::Options{});
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.status().code(), Code::kInvalid);
  EXPECT_THAT(std::string(driver.status().message()), testing::AllOf(HasSubstr("\"counts\""), HasSubstr("none is late")));
  EXPECT_EQ(processing_time(early(0s)).check().code(), Code::kInvalid);
  EXPECT_EQ(processing_time(tumbling(0s)).check().code(), Code::kInvalid);
}

}  // namespace
}  // namespace sluice
