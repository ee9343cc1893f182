// Goal: a record is late, or is not, by what the records before it said, on any number of shards, wherever batches begin, and behind
// a restore; silence, wrong clocks and missing times do what time.md says.
// Method: the cases S22 to S27, S35 and S36 of the list, on whole pipelines in virtual time.
#include "time_fixture.h"

#include <random>

namespace sluice::time_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class WatermarksOn : public OnShards {};
ON_ONE_SHARD_AND_ON_EIGHT(WatermarksOn);

Watermarks<Event> in_order() { return monotonous<Event>(&Event::time); }

// ---- silence ----

void give_s22(TestInput<Event>& in) {
  in.give(0, {event("a", 1000), event("a", 30000), event("a", 61000), event("a", 125000)});
  in.give(1, {event("b", 2000)});
}

TEST_P(WatermarksOn, S22AQuietSplitDoesNotHoldTheOthers) {
  TestInput<Event> in({.splits = 2});
  TestOutput<Row> out;
  const auto driver = started(counting(in, out, in_order().idle_after(2s), 60s), GetParam());
  ASSERT_TRUE(driver);
  give_s22(in);
  ASSERT_FINE(driver->run());
  EXPECT_THAT(out.take(), IsEmpty());
  ASSERT_FINE(driver->advance(6s));
  EXPECT_THAT(sorted(out.take()), ElementsAre(Row{"a", 0, 2}, Row{"a", 60000, 1}, Row{"b", 0, 1}));
  in.give(1, {event("b", 3000)});
  ASSERT_FINE(driver->advance(6s));
  EXPECT_THAT(out.take(), IsEmpty());
  EXPECT_EQ(driver->metric("late"), 1u);
}

TEST_P(WatermarksOn, S22WithoutATimeoutNothingComesAndTheStatusNamesTheSplit) {
  TestInput<Event> in({.splits = 2});
  TestOutput<Row> out;
  const auto driver = started(counting(in, out, in_order(), 60s), GetParam());
  ASSERT_TRUE(driver);
  in.give(0, {event("a", 1000), event("a", 30000), event("a", 61000), event("a", 125000)});
  ASSERT_FINE(driver->advance(10min));
  EXPECT_EQ(driver->holder("time")->split.partition, 1);  // It holds before it has spoken, too.
  EXPECT_EQ(driver->holder("time")->watermark, EventTime::min());
  in.give(1, {event("b", 2000)});
  ASSERT_FINE(driver->advance(10min));
  EXPECT_THAT(out.take(), IsEmpty());
  const auto holder = driver->holder("time");
  ASSERT_TRUE(holder);
  EXPECT_EQ(holder->split, (Split{"input", 1}));
  EXPECT_EQ(holder->watermark, at(2000));
}

TEST_P(WatermarksOn, WhoFallsSilentLastDoesNotMatter) {
  for (const int last : {0, 1}) {
    TestInput<Event> in({.splits = 2});
    TestOutput<Row> out;
    const auto driver = started(counting(in, out, in_order().idle_after(2s), 60s), GetParam());
    ASSERT_TRUE(driver);
    in.give(1 - last, {1 - last == 0 ? event("a", 125000) : event("b", 2000)});
    ASSERT_FINE(driver->advance(1s));
    in.give(last, {last == 0 ? event("a", 125000) : event("b", 2000)});
    ASSERT_FINE(driver->advance(6s));
    EXPECT_THAT(out.take(), ElementsAre(Row{"b", 0, 1})) << "last: " << last;
  }
}

TEST_P(WatermarksOn, S23AfterASilenceOfAllTimeGoesOnFromWhereItWas) {
  TestInput<Event> in({.splits = 1});
  TestOutput<Row> out;
  const auto driver = started(counting(in, out, in_order().idle_after(2s), 10s), GetParam());
  ASSERT_TRUE(driver);
  in.give(0, {event("a", 1000), event("a", 2000), event("a", 3000)});
  ASSERT_FINE(driver->advance(6s));
  EXPECT_FALSE(driver->holder("time"));
  in.give(0, {event("a", 4000), event("a", 5000)});
  ASSERT_FINE(driver->advance(1s));
  EXPECT_THAT(out.take(), IsEmpty());
  in.give(0, {event("a", 20000)});
  ASSERT_FINE(driver->run());
  EXPECT_THAT(out.take(), ElementsAre(Row{"a", 0, 5}));
  EXPECT_EQ(driver->metric("late"), 0u);
}

TEST_P(WatermarksOn, AnEndedSplitDoesNotHoldTheOthersAndTheEndOfOneIsNotTheEndOfTime) {
  TestInput<Event> in({.splits = 2});
  TestOutput<Row> out;
  const auto driver = started(counting(in, out, in_order(), 10s), GetParam());
  ASSERT_TRUE(driver);
  in.give(0, {event("a", 1000)});
  in.end(0);
  in.give(1, {event("b", 2000), event("b", 11000)});
  ASSERT_FINE(driver->run());
  EXPECT_THAT(sorted(out.take()), ElementsAre(Row{"a", 0, 1}, Row{"b", 0, 1}));
  in.give(1, {event("b", 12000)});
  in.end();
  ASSERT_FINE(driver->run());
  EXPECT_TRUE(driver->ended());
  EXPECT_THAT(out.take(), ElementsAre(Row{"b", 10000, 2}));
  EXPECT_EQ(driver->metric("late"), 0u);
}

TEST_P(WatermarksOn, ASplitThatIsFoundLaterHoldsTheWatermarkFromThen) {
  TestInput<Event> in({.splits = 1});
  TestOutput<Row> out;
  const auto driver = started(counting(in, out, in_order().idle_after(1min), 10s), GetParam());
  ASSERT_TRUE(driver);
  in.give(0, {event("a", 1000)});
  ASSERT_FINE(driver->run());
  const std::int32_t found = in.add_split();
  ASSERT_FINE(driver->discover());
  ASSERT_TRUE(driver->checkpoint().ok());  // Shards that were idle are waited for from the next barrier on.
  in.give(0, {event("a", 30000)});
  ASSERT_FINE(driver->advance(30s));
  EXPECT_THAT(out.take(), IsEmpty());
  in.give(found, {event("b", 5000)});
  ASSERT_FINE(driver->run());
  EXPECT_THAT(out.take(), IsEmpty());
  in.give(found, {event("b", 10000)});
  ASSERT_FINE(driver->run());
  EXPECT_THAT(sorted(out.take()), ElementsAre(Row{"a", 0, 1}, Row{"b", 0, 1}));
  EXPECT_EQ(driver->metric("late"), 0u);
}

TEST_P(WatermarksOn, S36ASystemClockThatIsSetChangesNoTimeout) {
  TestInput<Event> in({.splits = 2});
  TestOutput<Row> out;
  const auto driver = started(counting(in, out, in_order().idle_after(2s), 1s), GetParam());
  ASSERT_TRUE(driver);
  driver->set_wall(io::WallTime(24h));
  in.give(1, {event("b", 0)});
  std::int64_t ms = 0;
  std::size_t rows = 0;
  const auto stretch = [&](std::chrono::seconds length) {
    for (const auto until = driver->now() + length; driver->now() < until; ms += 10) {
      in.give(0, {event("a", ms)});
      const Status went = driver->advance(10ms);
      if (!went.ok()) return went;
    }
    rows = out.take().size();
    return Status();
  };
  ASSERT_FINE(stretch(10s));
  EXPECT_EQ(rows, 9u + 1u);  // Of a: [0,1s) to [8s,9s). Of b: one.
  driver->set_wall(io::WallTime(23h));
  in.give(1, {event("b", ms)});
  ASSERT_FINE(stretch(10s));
  EXPECT_EQ(rows, 10u + 1u);  // The second silence of b is as long as the first.
  driver->set_wall(io::WallTime(25h));
  ASSERT_FINE(stretch(10s));
  EXPECT_EQ(rows, 10u);
  EXPECT_EQ(driver->metric("late"), 0u);
}

// ---- wrong clocks, missing times ----

void give_s24(TestInput<Event>& in) {
  in.give(0, {event("d1", 0), event("d1", 120000), event("d2", 86520000)});
  std::vector<Event> rest;
  for (int n = 0; n < 10; ++n) rest.push_back(event("d1", 180000 + 60000 * n));
  in.give(0, std::move(rest));
  in.end();
}

TEST_P(WatermarksOn, S24OneClockADayAheadMakesTheOthersLate) {
  TestInput<Event> in;
  TestOutput<Row> out;
  give_s24(in);  // All in one batch: what is late does not depend on it.
  const auto driver = started(counting(in, out, bounded_out_of_orderness<Event>(60s, &Event::time), 60s), GetParam());
  ASSERT_TRUE(driver && driver->ended());
  EXPECT_EQ(out.take().size(), 3u);
  EXPECT_EQ(driver->metric("late"), 10u);
}

TEST_P(WatermarksOn, S24TheGuardDoesNotFollowIt) {
  TestInput<Event> in;
  TestOutput<Row> out;
  give_s24(in);
  const auto driver =
      started(counting(in, out, bounded_out_of_orderness<Event>(60s, &Event::time).ignore_jumps_over(1h), 60s), GetParam());
  ASSERT_TRUE(driver && driver->ended());
  const Rows rows = out.take();
  EXPECT_EQ(rows.size(), 13u);
  EXPECT_TRUE(std::ranges::all_of(rows, [](const Row& row) { return row.count == 1; }));
  EXPECT_EQ(driver->metric("late"), 0u);
  EXPECT_EQ(driver->metric("sluice_event_time_jumps_ignored_total"), 1u);
}

TEST(Watermarks, TheGuardFollowsAStreamThatHasMovedOn) {
  TestInput<Event> in;
  TestOutput<Row> out;
  const auto driver = started(counting(in, out, in_order().ignore_jumps_over(1h, 3), 60s), 1);
  ASSERT_TRUE(driver);
  driver->set_wall(io::WallTime(24h));
  in.give(0, {event("a", 0), event("a", 86400000), event("a", 1000), event("a", 86400000), event("a", 86400001)});
  ASSERT_FINE(driver->run());
  EXPECT_THAT(out.take(), IsEmpty());
  in.give(0, {event("a", 86400002)});
  ASSERT_FINE(driver->run());
  EXPECT_THAT(out.take(), ElementsAre(Row{"a", 0, 2}));
  EXPECT_EQ(driver->metric("sluice_event_time_jumps_ignored_total"), 3u);
}

TEST(Watermarks, TheGuardMeasuresAFirstRecordByTheMachinesClock) {
  TestInput<Event> in;
  TestOutput<Row> out;
  const auto driver = started(counting(in, out, in_order().ignore_jumps_over(1h), 60s), 1);
  ASSERT_TRUE(driver);
  in.give(0, {event("a", 86400000), event("a", 0), event("a", 60000)});  // The clock is at 0.
  ASSERT_FINE(driver->run());
  EXPECT_THAT(out.take(), ElementsAre(Row{"a", 0, 1}));
  EXPECT_EQ(driver->metric("late"), 0u);
}

/// Records with Kafka's timestamps, three of 1000 and two of -1 among them.
struct Timestamps {
  TestInput<Record> in;
  TestOutput<Row> out;
  Timestamps() {
    const EventTime times[] = {at(1000), at(1000), kNoEventTime, at(1000), kNoEventTime};
    std::vector<Record> records;
    for (int n = 0; n < 5; ++n) {
      Record& record = records.emplace_back();
      record.value = Bytes("v");
      record.time = times[n];
      record.offset = Offset(n);
    }
    in.give(0, std::move(records));
    in.end();
  }
  Job job(MissingTime policy) const {
    // The time is the batch's from there on: the record's own is that of the source, missing or not.
    class Rename final : public Operator<Record, Event> {
      Status process(const Batch<Record>& batch, Collector<Event>& out) override {
        for (std::size_t i = 0; i < batch.size(); ++i) {
          out.set_time(batch.times()[i]);
          out.emit({"k", batch.times()[i]});
        }
        return {};
      }
    };
    Job job{"timestamps"};
    job.from(in.source(), "in")
        .watermarks(bounded_out_of_orderness<Record>(0s).on_missing(policy), "time")
        .process<Event>("rename", [] { return std::make_unique<Rename>(); })
        .key_by([](const Event& one) { return one.key; }, "by-key")
        .process<Row>("count", [] { return std::make_unique<CountWindows>(60s); })
        .to(out.sink());
    return job;
  }
};

TEST_P(WatermarksOn, S25ARecordWithoutATimestampFailsWithItsPlace) {
  Timestamps given;
  Result<std::unique_ptr<TestDriver>> driver = TestDriver::start(given.job(MissingTime::kFail), {.shards = GetParam()});
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.status().code(), Code::kInvalid);
  EXPECT_THAT(std::string(driver.status().message()), HasSubstr("input partition 0 offset 2"));
  EXPECT_THAT(std::string(driver.status().message()), HasSubstr("on_missing"));
}

TEST_P(WatermarksOn, S25SuchRecordsCanBeLeftOut) {
  Timestamps given;
  const auto driver = started(given.job(MissingTime::kSkip), GetParam());
  ASSERT_TRUE(driver && driver->ended());
  EXPECT_THAT(given.out.take(), ElementsAre(Row{"k", 0, 3}));
  EXPECT_EQ(driver->metric("sluice_event_time_missing_total"), 2u);
  EXPECT_EQ(driver->metric("sluice_event_time_skipped_total"), 2u);
}

TEST_P(WatermarksOn, S25OrTheTimeOfTheirArrivalIsTaken) {
  Timestamps given;
  Result<std::unique_ptr<TestDriver>> driver =
      TestDriver::start(given.job(MissingTime::kArrival), {.shards = GetParam(), .wall = io::WallTime(24h)});
  ASSERT_TRUE(driver.ok() && (*driver)->ended());
  // The third 1000 comes behind a day ahead of it: that is what this policy is.
  EXPECT_THAT(sorted(given.out.take()), ElementsAre(Row{"k", 0, 2}, Row{"k", 86400000, 2}));
  EXPECT_EQ((*driver)->metric("late"), 1u);
  EXPECT_EQ((*driver)->metric("sluice_event_time_missing_total"), 2u);
}

TEST_P(WatermarksOn, S35Second60IsInItsMinuteAndWhatIsNoTimeIsCounted) {
  TestInput<std::string> in;
  TestOutput<Row> out;
  Job job{"texts"};
  class Rename final : public Operator<std::string, Event> {
    Status process(const Batch<std::string>& batch, Collector<Event>& to) override {
      for (std::size_t i = 0; i < batch.size(); ++i) to.emit({"k", batch.times()[i]}, batch.times()[i]);
      return {};
    }
  };
  job.from(in.source(), "in")
      .watermarks(monotonous<std::string>(text_time([](const std::string& text) { return text; })).on_missing(MissingTime::kSkip), "time")
      .process<Event>("rename", [] { return std::make_unique<Rename>(); })
      .key_by([](const Event& one) { return one.key; }, "by-key")
      .process<Row>("count", [] { return std::make_unique<CountWindows>(60s); })
      .to(out.sink());
  in.give(0, {"2016-12-31T23:59:59Z", "2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z", "not-a-time"});
  in.end();
  const auto driver = started(job, GetParam());
  ASSERT_TRUE(driver && driver->ended());
  EXPECT_THAT(sorted(out.take()), ElementsAre(Row{"k", 1483228740000, 2}, Row{"k", 1483228800000, 1}));
  EXPECT_EQ(driver->metric("late"), 0u);
  EXPECT_EQ(driver->metric("sluice_event_time_skipped_total"), 1u);
}

// ---- lateness record by record ----

TEST_P(WatermarksOn, S26EqualToTheWatermarkIsOnTimeAndTheOldWindowIsClosed) {
  for (const std::size_t batch : {1u, 2u, 3u, 4u}) {
    TestInput<Event> in({.batch_max = batch});
    TestOutput<Row> out;
    in.give(0, {event("k", 59999), event("k", 60000), event("k", 60000), event("k", 59999)});
    in.end();
    const auto driver = started(counting(in, out, in_order(), 60s), GetParam());
    ASSERT_TRUE(driver && driver->ended());
    EXPECT_THAT(sorted(out.take()), ElementsAre(Row{"k", 0, 1}, Row{"k", 60000, 2})) << batch;
    EXPECT_EQ(driver->metric("late"), 1u) << batch;
  }
}

/// What a split of events gives, one at a time.
std::pair<Rows, std::uint64_t> counted_one_by_one(const std::vector<Event>& events, std::int64_t disorder, std::int64_t size) {
  std::map<Row, std::uint64_t> counts;
  std::uint64_t late = 0;
  std::int64_t watermark = std::numeric_limits<std::int64_t>::min();
  for (const Event& one : events) {
    const std::int64_t ms = one.time.time_since_epoch().count();
    const std::int64_t start = ms / size * size;
    if (start + size <= watermark) ++late;
    else ++counts[{one.key, start, 0}];
    watermark = std::max(watermark, ms - disorder);
  }
  Rows rows;
  for (auto [row, count] : counts) rows.push_back({row.key, row.start, count});
  return {rows, late};
}

TEST_P(WatermarksOn, BatchesDoNotDecideWhatIsLate) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    std::vector<Event> events;
    std::int64_t now = 0;
    for (int n = 0; n < 500; ++n) {
      now += static_cast<std::int64_t>(random() % 20);
      const std::int64_t back = random() % 4 == 0 ? static_cast<std::int64_t>(random() % 200) : 0;
      events.push_back(event("k" + std::to_string(random() % 5), std::max<std::int64_t>(0, now - back)));
    }
    const auto [rows, late] = counted_one_by_one(events, 50, 40);
    EXPECT_GT(late, 0u);
    for (const std::size_t batch : {1u, 7u, 100u, 1024u}) {
      TestInput<Event> in({.batch_max = batch});
      TestOutput<Row> out;
      in.give(0, events);
      in.end();
      const auto driver = started(counting(in, out, bounded_out_of_orderness<Event>(50ms, &Event::time), 40ms), GetParam());
      ASSERT_TRUE(driver && driver->ended());
      EXPECT_EQ(sorted(out.take()), rows) << "round " << round << " batch " << batch;
      EXPECT_EQ(driver->metric("late"), late) << "round " << round << " batch " << batch;
    }
  }
}

/// Says what reaches it.
class Told final : public Operator<Event, std::string> {
  Status process(const Batch<Event>& batch, Collector<std::string>& out) override {
    std::string line;
    for (const Event& one : batch) line += one.key;
    out.emit(std::move(line));
    return {};
  }
  Status on_watermark(EventTime time, Collector<std::string>& out) override {
    out.emit(time == EventTime::max() ? "end" : std::to_string(time.time_since_epoch().count()));
    return {};
  }
};
std::vector<std::string> told(Watermarks<Event> watermarks, std::vector<Event> events) {
  TestInput<Event> in;
  TestOutput<std::string> out;
  Job job{"told"};
  job.from(in.source(), "in")
      .watermarks(std::move(watermarks), "time")
      .process<std::string>("told", [] { return std::make_unique<Told>(); })
      .to(out.sink());
  in.give(0, std::move(events));
  in.end();
  const auto driver = started(job, 1);
  return driver ? out.take() : std::vector<std::string>{};
}

TEST(Watermarks, ABatchIsCutOnlyWhereARecordIsBehind) {
  EXPECT_THAT(told(in_order(), {event("a", 1), event("b", 2), event("c", 3)}), ElementsAre("abc", "3", "end"));
  EXPECT_THAT(told(in_order(), {event("a", 1), event("b", 3), event("c", 2), event("d", 2), event("e", 4)}),
              ElementsAre("ab", "3", "cde", "4", "end"));
  EXPECT_THAT(told(bounded_out_of_orderness<Event>(1ms, &Event::time), {event("a", 1), event("b", 3), event("c", 2), event("d", 4)}),
              ElementsAre("abcd", "3", "end"));
}

TEST(Watermarks, EveryRecordAnnouncesBehindEachThatMovesIt) {
  EXPECT_THAT(told(in_order().every_record(), {event("a", 1), event("b", 2), event("c", 2), event("d", 3)}),
              ElementsAre("a", "1", "b", "2", "cd", "3", "end"));
}

TEST(Watermarks, APunctuatedOneMovesWithItsMarkersOnly) {
  const auto marker = [](const Event& one, EventTime time) {
    return one.key == "m" ? std::optional<EventTime>(time) : std::nullopt;
  };
  EXPECT_THAT(told(punctuated<Event>(marker, &Event::time), {event("a", 10), event("m", 7), event("b", 8), event("c", 6), event("m", 5)}),
              ElementsAre("amb", "7", "cm", "end"));
}

/// One record behind.
struct TheOneBefore {
  EventTime last = EventTime::min();
  EventTime operator()(const Event&, EventTime time) { return std::exchange(last, time); }
  void restore(EventTime largest, EventTime) { last = largest; }
};

TEST(Watermarks, AnOwnStrategyKnowsItsPastBehindARestore) {
  TestInput<Event> in;
  TestOutput<Row> out;
  const Job job = counting(in, out, punctuated<Event>(TheOneBefore{}, &Event::time), 10s);
  auto driver = started(job, 1);
  ASSERT_TRUE(driver);
  in.give(0, {event("a", 30000)});
  ASSERT_FINE(driver->run());
  Result<CheckpointData> checkpoint = driver->checkpoint();
  ASSERT_TRUE(checkpoint.ok());
  driver = started(job, 8, *checkpoint);
  ASSERT_TRUE(driver);
  in.give(0, {event("a", 40000)});
  ASSERT_FINE(driver->run());
  EXPECT_EQ(driver->holder("time")->watermark, at(30000));
}

// ---- restore ----

/// The steps of S22 and what follows, with a restore after each, on other numbers of shards.
TEST(Watermarks, ARestoreMakesNobodyLateAndBringsNoWindowTwice) {
  for (const std::uint16_t before : {1, 8}) {
    for (const std::uint16_t after : {1, 8}) {
      for (const int restored_at : {0, 1, 2, 3}) {
        TestInput<Event> in({.splits = 2});
        TestOutput<Row> out;
        const Job job = counting(in, out, in_order().idle_after(2s), 60s);
        auto driver = started(job, before);
        ASSERT_TRUE(driver);
        Rows rows;
        std::uint64_t late = 0;
        const auto step = [&](int number) {
          ASSERT_TRUE(driver);
          ASSERT_FINE(driver->advance(6s));
          if (number == restored_at) {
            Result<CheckpointData> checkpoint = driver->checkpoint();
            ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().to_string();
            late += driver->metric("late");
            driver = started(job, after, *std::move(checkpoint));
            ASSERT_TRUE(driver);
          }
          for (Row& row : out.take()) rows.push_back(std::move(row));
        };
        give_s22(in);
        step(0);
        in.give(1, {event("b", 3000), event("b", 121000)});  // Late, and on time.
        step(1);
        in.give(0, {event("a", 119999), event("a", 179999)});  // Late, and on time.
        step(2);
        in.give(0, {event("a", 180000)});
        in.give(1, {event("b", 200000)});
        step(3);
        in.end();
        step(4);
        EXPECT_THAT(sorted(rows), ElementsAre(Row{"a", 0, 2}, Row{"a", 60000, 1}, Row{"a", 120000, 2}, Row{"a", 180000, 1},
                                              Row{"b", 0, 1}, Row{"b", 120000, 1}, Row{"b", 180000, 1}))
            << before << " to " << after << " shards, restored at " << restored_at;
        EXPECT_EQ(late + driver->metric("late"), 2u) << before << " to " << after << " shards, restored at " << restored_at;
      }
    }
  }
}

// ---- alignment ----

TEST_P(WatermarksOn, S27ASplitThatIsFarAheadWaits) {
  TestInput<Event> in({.splits = 2});
  TestOutput<Row> out;
  const auto peak = std::make_shared<CountWindows::Peak>();
  const auto driver = started(counting(in, out, in_order().max_drift(2h), 60s, peak), GetParam());
  ASSERT_TRUE(driver);
  std::vector<Event> day;
  for (int second = 0; second < 86'400; ++second) day.push_back(event("k", 1000 * second));
  in.give(0, day);
  ASSERT_FINE(driver->run());
  EXPECT_TRUE(in.paused(0));
  EXPECT_EQ(driver->watermarks()[0].state, SplitWatermark::State::kPaused);
  in.give(1, std::move(day));
  in.end();
  ASSERT_FINE(driver->run());
  ASSERT_TRUE(driver->ended());
  const Rows rows = out.take();
  EXPECT_EQ(rows.size(), 1440u);
  EXPECT_TRUE(std::ranges::all_of(rows, [](const Row& row) { return row.count == 120; }));
  EXPECT_EQ(driver->metric("late"), 0u);
  EXPECT_LE(peak->open, 200u);
}

TEST_P(WatermarksOn, APausedSplitGoesOnWhenTheLastOneFallsSilent) {
  TestInput<Event> in({.splits = 2});
  TestOutput<Row> out;
  const auto driver = started(counting(in, out, in_order().max_drift(1min).idle_after(2s), 60s), GetParam());
  ASSERT_TRUE(driver);
  in.give(1, {event("b", 0)});
  in.give(0, {event("a", 3'600'000)});
  ASSERT_FINE(driver->run());
  EXPECT_TRUE(in.paused(0));
  in.give(0, {event("a", 7'200'000)});
  ASSERT_FINE(driver->advance(1s));
  EXPECT_TRUE(in.paused(0));
  ASSERT_FINE(driver->advance(2s));
  EXPECT_FALSE(in.paused(0));
  ASSERT_FINE(driver->advance(1s));
  EXPECT_THAT(sorted(out.take()), ElementsAre(Row{"a", 3'600'000, 1}, Row{"b", 0, 1}));
}

TEST_P(WatermarksOn, APausedSplitGoesOnWhenTheLastOneEnds) {
  TestInput<Event> in({.splits = 2});
  TestOutput<Row> out;
  const auto driver = started(counting(in, out, in_order().max_drift(1min), 60s), GetParam());
  ASSERT_TRUE(driver);
  in.give(0, {event("a", 3'600'000)});
  ASSERT_FINE(driver->run());
  EXPECT_TRUE(in.paused(0)) << "the other has said nothing yet";
  in.give(0, {event("a", 7'200'000)});
  in.give(1, {event("b", 0)});
  ASSERT_FINE(driver->run());
  EXPECT_TRUE(in.paused(0));
  EXPECT_EQ(driver->watermark_status().at(0).drift, EventDuration(3'600'000));
  in.end(1);
  ASSERT_FINE(driver->run());
  EXPECT_FALSE(in.paused(0));
  EXPECT_THAT(sorted(out.take()), ElementsAre(Row{"a", 3'600'000, 1}, Row{"b", 0, 1}));
  in.end();
  ASSERT_FINE(driver->run());
  ASSERT_TRUE(driver->ended());
  EXPECT_THAT(sorted(out.take()), ElementsAre(Row{"a", 7'200'000, 1}));
}

// Goal: the bound holds at every barrier and behind every restore, on other numbers of shards too, and no record is lost or late.
TEST(Watermarks, PausedSplitsPassCheckpointsAndWaitAgainBehindARestore) {
  TestInput<Event> in({.splits = 5, .batch_max = 10});
  TestOutput<Row> out;
  const Job job = counting(in, out, in_order().max_drift(30s), 10s);
  for (int second = 0; second < 300; ++second) {
    for (int split = 0; split < 4; ++split) in.give(split, {event("k" + std::to_string(split), 1000 * second)});
  }
  std::optional<CheckpointData> checkpoint;
  int given = 0;
  for (const std::uint16_t shards : {1, 8, 2, 8, 1}) {
    const auto driver = started(job, shards, checkpoint);
    ASSERT_TRUE(driver);
    for (int second = 0; second < 20; ++second, ++given) in.give(4, {event("k4", 1000 * given)});
    ASSERT_FINE(driver->run());
    for (const SplitWatermark& one : driver->watermarks()) {
      if (one.split.partition == 4) continue;
      EXPECT_EQ(one.state, SplitWatermark::State::kPaused) << shards << " shards, split " << one.split.partition;
      EXPECT_LE(one.watermark, at(1000 * (given - 1)) + 30s + 10s) << "one batch further than the bound at most";
      EXPECT_GT(one.watermark, at(1000 * (given - 1)) + 30s);
    }
    Result<CheckpointData> taken = driver->checkpoint();
    ASSERT_TRUE(taken.ok()) << taken.status().to_string();
    EXPECT_EQ(driver->metric("late"), 0u);
    checkpoint = *std::move(taken);
  }
  const auto driver = started(job, 8, checkpoint);
  ASSERT_TRUE(driver);
  for (; given < 300; ++given) in.give(4, {event("k4", 1000 * given)});
  in.end();
  ASSERT_FINE(driver->run());
  ASSERT_TRUE(driver->ended());
  EXPECT_EQ(driver->metric("late"), 0u);
  const Rows rows = out.take();
  EXPECT_EQ(rows.size(), 5u * 30u);
  EXPECT_TRUE(std::ranges::all_of(rows, [](const Row& row) { return row.count == 10; }));
}

// ---- in the graph ----

TEST(Watermarks, TwoStreamsKeepTheirTimeInAUnion) {
  TestInput<Event> left({.name = "left"}), right({.name = "right"});
  TestOutput<Row> out;
  Job job{"union"};
  job.from(left.source(), "left")
      .watermarks(in_order(), "left-time")
      .union_with(job.from(right.source(), "right").watermarks(in_order(), "right-time"), "both")
      .key_by([](const Event& one) { return one.key; }, "by-key")
      .process<Row>("count", [] { return std::make_unique<CountWindows>(10s); })
      .to(out.sink());
  for (const std::uint16_t shards : {1, 2}) {
    const auto driver = started(job, shards);
    ASSERT_TRUE(driver);
    if (shards == 1) {
      left.give(0, {event("a", 1000), event("a", 60000)});
      right.give(0, {event("b", 5000)});
    }
    ASSERT_FINE(driver->run());
    EXPECT_THAT(out.take(), IsEmpty());
    if (shards == 1) continue;
    left.end();
    right.give(0, {event("b", 15000)});
    ASSERT_FINE(driver->run());
    EXPECT_THAT(sorted(out.take()), ElementsAre(Row{"a", 0, 1}, Row{"b", 0, 1}));
    right.end();
    ASSERT_FINE(driver->run());
    EXPECT_THAT(sorted(out.take()), ElementsAre(Row{"a", 60000, 1}, Row{"b", 10000, 1}));
  }
}

TEST(Watermarks, WhatIsHandedOutAtTheEndOfInputHasATimeToo) {
  class LastWords final : public Operator<Event, Event> {
    Status process(const Batch<Event>& batch, Collector<Event>& out) override {
      for (const Event& one : batch) out.emit(one);
      return {};
    }
    Status end_of_input(Collector<Event>& out) override {
      out.emit(event("last", 7000));
      return {};
    }
  };
  TestInput<Event> in({.splits = 2});
  TestOutput<Row> out;
  Job job{"last-words"};
  job.from(in.source(), "in")
      .process<Event>("words", [] { return std::make_unique<LastWords>(); })
      .watermarks(in_order(), "time")
      .key_by([](const Event& one) { return one.key; }, "by-key")
      .process<Row>("count", [] { return std::make_unique<CountWindows>(10s); })
      .to(out.sink());
  in.give(0, {event("a", 1000)});
  in.end();
  const auto driver = started(job, 1);
  ASSERT_TRUE(driver && driver->ended());
  EXPECT_THAT(sorted(out.take()), ElementsAre(Row{"a", 0, 1}, Row{"last", 0, 1}));
}

TEST(Watermarks, BehindAnExchangeThereAreNoSplitsToMakeThemOf) {
  TestInput<Event> in;
  TestOutput<Event> out;
  Job job{"behind"};
  job.from(in.source(), "in").rebalance("spread").map([](const Event& one) { return one; }).watermarks(in_order(), "time").to(out.sink());
  const Status checked = job.check();
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.code(), Code::kInvalid);
  EXPECT_THAT(std::string(checked.message()), HasSubstr("behind rebalance \"spread\""));
  EXPECT_THAT(std::string(checked.message()), HasSubstr("in front of it"));
}

TEST(Watermarks, SettingsThatCannotBeAreRefused) {
  const std::pair<Watermarks<Event>, const char*> wrong[] = {
      {bounded_out_of_orderness<Event>(-1s, &Event::time), "out-of-orderness of -1000 ms"},
      {in_order().idle_after(-1s), "idle_after"},
      {in_order().ignore_jumps_over(0ms), "ignore_jumps_over(0 ms)"},
      {in_order().ignore_jumps_over(1h, 1), "confirmed_by"},
      {in_order().max_drift(-5ms), "max_drift(-5 ms)"},
  };
  for (const auto& [watermarks, message] : wrong) {
    TestInput<Event> in;
    TestOutput<Row> out;
    const Status checked = counting(in, out, watermarks, 10s).check();
    EXPECT_EQ(checked.code(), Code::kInvalid);
    EXPECT_THAT(std::string(checked.message()), HasSubstr(message));
  }
}

TEST(Watermarks, AnExtractorThatThrowsEndsTheAttempt) {
  TestInput<Event> in;
  TestOutput<Row> out;
  const auto throws = [](const Event&) -> EventTime { throw std::runtime_error("no such field"); };
  in.give(0, {event("a", 1)});
  Result<std::unique_ptr<TestDriver>> driver = TestDriver::start(counting(in, out, monotonous<Event>(throws), 10s), {});
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.status().code(), Code::kRecover);
  EXPECT_THAT(std::string(driver.status().message()), HasSubstr("no such field"));
}

}  // namespace
}  // namespace sluice::time_test
