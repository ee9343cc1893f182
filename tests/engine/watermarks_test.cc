// Goal: a record is late, or is not, by what the records before it said, on any number of shards, wherever batches begin, and behind
// a restore; silence, wrong clocks and missing times do what time.md says.
// Method: whole pipelines in virtual time, with the smallest operator that time matters to. The cases S22 to S36 of the list, with real
// windows, are in windows/time_cases_test.cc.
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

// ---- wrong clocks ----

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

// ---- lateness record by record ----

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
