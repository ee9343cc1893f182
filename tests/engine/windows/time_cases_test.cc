// Goal: the situations with time and windows that users of such engines meet, with the values of the list of cases.
// Method: whole pipelines of the public parts in virtual time, on one shard and on eight, also with a restore on the other number of
// shards between the steps. S31 and S33 are in ../joins/, what Kafka adds to S25, S32 and S33 in ../../kafka/, S36's checkpoints in
// ../../checkpoint/.
#include "counting.h"

#include "../../support/log_lines.h"

#include <sluice/engine/record.h>

namespace sluice::time_test {
namespace {

using ::sluice::support::LogLines;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

#define CASE_ON_SHARDS(name)    \
  class name : public OnShards {}; \
  ON_ONE_SHARD_AND_ON_EIGHT(name)

// ---- S22: one quiet partition stops all windows ----

CASE_ON_SHARDS(CaseS22);

std::vector<Event> of_s22() { return {event("a", 1'000), event("a", 30'000), event("a", 61'000), event("a", 125'000)}; }

TEST_P(CaseS22, AQuietPartitionIsLeftOutAndWhatItThenSaysIsLate) {
  const Rows three{{"a", 0, 2}, {"a", 60'000, 1}, {"b", 0, 1}};
  for (const int restored_at : {0, 1, 2, 3, 4}) {  // 4: nowhere.
    SCOPED_TRACE(restored_at);
    Counting run(GetParam(), in_order().idle_after(2s), tumbling(60s), {.splits = 2});
    const auto step = [&](int number) {
      if (number == restored_at) run.restore(other(GetParam()));
    };
    run.in.give(0, of_s22());
    run.in.give(1, {event("b", 2'000)});
    run.run();
    EXPECT_THAT(run.rows(), IsEmpty());
    step(0);
    run.pass(6s);
    EXPECT_EQ(run.rows(), three);
    step(1);
    run.in.give(1, {event("b", 3'000)});
    step(2);
    run.pass(6s);
    EXPECT_EQ(run.rows(), three);
    EXPECT_EQ(run.late(), 1u);
    step(3);
    run.pass(6s);
    EXPECT_EQ(run.rows(), three);
    EXPECT_EQ(run.late(), 1u);
  }
}

TEST_P(CaseS22, WithoutAnIdleTimeoutNothingComesAndTheStatusNamesThePartition) {
  Counting run(GetParam(), in_order(), tumbling(60s), {.splits = 2});
  run.in.give(0, of_s22());
  run.in.give(1, {event("b", 2'000)});
  for (const bool restored : {false, true}) {
    if (restored) run.restore(other(GetParam()));
    run.pass(1h);
    EXPECT_THAT(run.rows(), IsEmpty());
    const auto holder = run.driver().holder("time");
    ASSERT_TRUE(holder);
    EXPECT_EQ(holder->split, (Split{"input", 1}));
    EXPECT_EQ(holder->watermark, at(2'000));
  }
}

// ---- S23: all partitions idle, then data again ----

CASE_ON_SHARDS(CaseS23);

TEST_P(CaseS23, ASilenceOfAllSaysNothingAboutTime) {
  for (const int restored_at : {0, 1, 2, 3}) {  // 3: nowhere.
    SCOPED_TRACE(restored_at);
    Counting run(GetParam(), in_order().idle_after(2s), tumbling(10s));
    const auto step = [&](int number) {
      if (number == restored_at) run.restore(other(GetParam()));
    };
    run.in.give(0, {event("a", 1'000), event("a", 2'000), event("a", 3'000)});
    run.run();
    step(0);
    run.pass(6s);
    step(1);
    run.in.give(0, {event("a", 4'000), event("a", 5'000)});
    run.pass(1s);
    EXPECT_THAT(run.rows(), IsEmpty());
    step(2);
    run.in.give(0, {event("a", 20'000)});
    run.run();
    EXPECT_THAT(run.rows(), ElementsAre(Row{"a", 0, 5}));
    EXPECT_EQ(run.late(), 0u);
  }
}

// ---- S24: one clock a day ahead ----

CASE_ON_SHARDS(CaseS24);

std::vector<Event> ten_more_of_s24() {
  std::vector<Event> ten;
  for (int n = 3; n <= 12; ++n) ten.push_back(event("d1", 60'000 * n));
  return ten;
}
std::vector<Event> begin_of_s24() { return {event("d1", 0), event("d1", 120'000), event("d2", 86'520'000)}; }

TEST_P(CaseS24, WithoutAGuardTheOthersAreLateAndItIsSaid) {
  for (const bool restore : {false, true}) {
    const LogLines lines;
    Counting run(GetParam(), bounded_out_of_orderness<Event>(60s, &Event::time), tumbling(1min));
    run.in.give(0, begin_of_s24());
    if (restore) run.restore(other(GetParam()));
    run.in.give(0, ten_more_of_s24());  // Without a restore all in one batch: what is late does not depend on it.
    run.end();
    EXPECT_THAT(run.rows(), ElementsAre(Row{"d1", 0, 1}, Row{"d1", 120'000, 1}, Row{"d2", 86'520'000, 1}));
    EXPECT_EQ(run.late(), 10u);
    EXPECT_EQ(lines.count("it is dropped"), 1) << "one warning, not ten:\n" << lines.text();
    EXPECT_THAT(lines.text(), AllOf(HasSubstr("\"count\""), HasSubstr("key \"d1\""), HasSubstr("event time 180000 ms"),
                                    HasSubstr("reached 86460000 ms"), HasSubstr(kLate), HasSubstr("allowed_lateness()")));
  }
}

TEST_P(CaseS24, AGuardDoesNotFollowIt) {
  for (const bool restore : {false, true}) {
    const LogLines lines;
    Counting run(GetParam(), bounded_out_of_orderness<Event>(60s, &Event::time).ignore_jumps_over(1h), tumbling(1min));
    run.in.give(0, begin_of_s24());
    if (restore) run.restore(other(GetParam()));
    run.in.give(0, ten_more_of_s24());
    run.end();
    const Rows rows = run.rows();
    EXPECT_EQ(rows.size(), 13u);
    EXPECT_TRUE(std::ranges::all_of(rows, [](const Row& row) { return row.count == 1; }));
    EXPECT_EQ(run.late(), 0u);
    EXPECT_THAT(lines.text(), AllOf(HasSubstr("input partition 0"), HasSubstr("1970-01-02T00:02:00"), HasSubstr("does not follow it")));
  }
}

// ---- S25: records without a timestamp ----

CASE_ON_SHARDS(CaseS25);

/// Three records with Kafka's timestamp 1000, two without.
void give_s25(TestInput<Record>& in, int from, int to) {
  const EventTime times[] = {at(1'000), at(1'000), kNoEventTime, at(1'000), kNoEventTime};
  std::vector<Record> records;
  for (int n = from; n < to; ++n) {
    Record& record = records.emplace_back();
    record.value = Bytes("v");
    record.time = times[n];
    record.offset = Offset(n);
  }
  in.give(0, std::move(records));
}
Watermarks<Record> of_the_source(MissingTime policy) { return bounded_out_of_orderness<Record>(0s).on_missing(policy); }

TEST_P(CaseS25, ByDefaultTheJobEndsAndNamesTheRecord) {
  Counting<Record> run(GetParam(), bounded_out_of_orderness<Record>(0s), tumbling(60s));
  give_s25(run.in, 0, 5);
  const Status ended = run.driver().run();
  EXPECT_EQ(ended.code(), Code::kInvalid);
  EXPECT_NE(ended.exit_status(), ExitStatus::kDone);
  EXPECT_THAT(std::string(ended.message()), AllOf(HasSubstr("input partition 0 offset 2"), HasSubstr("on_missing")));
  EXPECT_THAT(run.rows(), IsEmpty());
}

TEST_P(CaseS25, SuchRecordsCanBeLeftOut) {
  Counting<Record> run(GetParam(), of_the_source(MissingTime::kSkip), tumbling(60s));
  give_s25(run.in, 0, 3);
  run.run();
  EXPECT_EQ(run.driver().metric("sluice_event_time_skipped_total"), 1u);
  run.restore(other(GetParam()));
  give_s25(run.in, 3, 5);
  run.end();
  EXPECT_EQ(run.driver().metric("sluice_event_time_skipped_total"), 1u);
  EXPECT_EQ(run.driver().metric("sluice_event_time_missing_total"), 1u);
  EXPECT_THAT(run.rows(), ElementsAre(Row{"k", 0, 3}));
  EXPECT_EQ(run.late(), 0u);
}

TEST_P(CaseS25, OrGetTheTimeOfTheirArrival) {
  // The clock is a day ahead, so the third 1000 is late: that is what this policy is.
  Counting<Record> run(GetParam(), of_the_source(MissingTime::kArrival), tumbling(60s), {}, io::WallTime(24h));
  give_s25(run.in, 0, 5);
  run.end();
  EXPECT_THAT(run.rows(), ElementsAre(Row{"k", 0, 2}, Row{"k", 86'400'000, 2}));
  EXPECT_EQ(run.late(), 1u);
  EXPECT_EQ(run.driver().metric("sluice_event_time_missing_total"), 2u);
}

// ---- S26: exactly on the edge ----

CASE_ON_SHARDS(CaseS26);

TEST_P(CaseS26, EqualToTheWatermarkIsOnTimeAndAtTheEndIsTheNextWindow) {
  for (const std::size_t batch : {1u, 2u, 3u, 4u}) {
    Counting run(GetParam(), in_order(), tumbling(60s), {.batch_max = batch});
    run.in.give(0, {event("k", 59'999), event("k", 60'000), event("k", 60'000), event("k", 59'999)});
    run.end();
    EXPECT_THAT(run.rows(), ElementsAre(Row{"k", 0, 1}, Row{"k", 60'000, 2})) << batch;
    EXPECT_EQ(run.late(), 1u) << batch;
  }
}

TEST_P(CaseS26, AlsoWithARestoreBetweenTheRecords) {
  Counting run(GetParam(), in_order(), tumbling(60s));
  std::uint16_t shards = GetParam();
  for (const std::int64_t ms : {59'999, 60'000, 60'000, 59'999}) {
    run.in.give(0, {event("k", ms)});
    run.run();
    run.restore(shards = other(shards));
  }
  run.end();
  EXPECT_THAT(run.rows(), ElementsAre(Row{"k", 0, 1}, Row{"k", 60'000, 2}));
  EXPECT_EQ(run.late(), 1u);
}

// ---- S27: catching up, one partition far ahead ----

CASE_ON_SHARDS(CaseS27);

/// A record a second, for hours [from, to) of event time.
void give_s27(TestInput<Event>& in, int partition, int from, int to) {
  std::vector<Event> hours;
  for (std::int64_t second = 3'600 * from; second < 3'600 * to; ++second) hours.push_back(event("k", 1'000 * second));
  in.give(partition, std::move(hours));
}

TEST_P(CaseS27, APartitionADayAheadMakesNobodyLate) {
  Counting run(GetParam(), in_order().max_drift(2h), tumbling(1min), {.splits = 2});
  const auto open = [&] { return run.driver().metric("sluice_operator_open_windows"); };
  give_s27(run.in, 0, 0, 24);
  run.run();
  std::uint64_t most = open();
  for (int hour = 0; hour < 24; ++hour) {
    if (hour == 12 && GetParam() == 8) run.restore(4);
    give_s27(run.in, 1, hour, hour + 1);
    run.run();
    most = std::max(most, open());
  }
  run.end();
  const Rows rows = run.rows();
  ASSERT_EQ(rows.size(), 1'440u);
  for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i], (Row{"k", 60'000 * static_cast<std::int64_t>(i), 120}));
  EXPECT_EQ(run.late(), 0u);
  EXPECT_LE(most, 200u);
  EXPECT_EQ(open(), 0u);
}

// ---- S28: final results at the end of input ----

CASE_ON_SHARDS(CaseS28);

TEST_P(CaseS28, TheEndOfTheInputClosesTheLastWindow) {
  for (const bool restore : {false, true}) {
    Counting run(GetParam(), in_order(), tumbling(60s));
    run.in.give(0, {event("k", 1'000), event("k", 2'000), event("k", 61'000)});
    run.run();
    if (restore) run.restore(other(GetParam()));
    run.end();
    EXPECT_THAT(run.rows(), ElementsAre(Row{"k", 0, 2}, Row{"k", 60'000, 1}));
  }
}

TEST_P(CaseS28, WithoutAnEndItWaitsUntilTimeMoves) {
  Counting run(GetParam(), in_order().idle_after(2s), tumbling(60s));
  run.in.give(0, {event("k", 1'000), event("k", 2'000), event("k", 61'000)});
  run.run();
  EXPECT_THAT(run.rows(), ElementsAre(Row{"k", 0, 2}));  // No grace that nobody asked for.
  run.pass(24h);
  run.restore(other(GetParam()));
  run.pass(24h);
  EXPECT_THAT(run.rows(), ElementsAre(Row{"k", 0, 2}));
  run.in.give(0, {event("another key", 120'000)});
  run.run();
  EXPECT_THAT(run.rows(), ElementsAre(Row{"k", 0, 2}, Row{"k", 60'000, 1}));
}

// ---- S29: gap windows must not depend on arrival timing ----

CASE_ON_SHARDS(CaseS29);

TEST_P(CaseS29, TheSameRowsInAllRuns) {
  const Spans expected{{"k", 1'000, 3'000, 1}, {"k", 3'000, 5'000, 1}, {"k", 5'001, 7'001, 1}};  // A session is half-open.
  struct Run {
    std::vector<std::int64_t> times;
    EventDuration disorder;
    bool restores;
  };
  const Run runs[] = {{{1'000, 3'000, 5'001}, 0s, false}, {{1'000, 3'000, 5'001}, 10s, false}, {{5'001, 3'000, 1'000}, 10s, false},
                      {{1'000, 3'000, 5'001}, 0s, true},  {{1'000, 3'000, 5'001}, 10s, true},  {{5'001, 3'000, 1'000}, 10s, true}};
  for (const Run& one : runs) {
    SCOPED_TRACE(testing::Message() << one.times[0] << " first, disorder " << one.disorder.count() << " ms, restores " << one.restores);
    std::uint16_t shards = GetParam();
    Counting run(shards, bounded_out_of_orderness<Event>(one.disorder, &Event::time).every_record(), session(2s));
    for (const std::int64_t ms : one.times) {
      run.in.give(0, {event("k", ms)});
      if (!one.restores) continue;
      run.run();
      run.restore(shards = other(shards));
    }
    run.end();
    EXPECT_EQ(run.spans(), expected);
    EXPECT_EQ(run.late(), 0u);
  }
}

// ---- S30: a late event bridges two gap windows ----

CASE_ON_SHARDS(CaseS30);

TEST_P(CaseS30, ARecordBetweenTwoOpenSessionsMakesThemOne) {
  for (const bool restores : {false, true}) {
    std::uint16_t shards = GetParam();
    Counting run(shards, bounded_out_of_orderness<Event>(30s, &Event::time), session(12s));
    for (const std::int64_t ms : {0, 20'000, 9'000}) {
      run.in.give(0, {event("k", ms)});
      run.run();
      if (restores) run.restore(shards = other(shards));
    }
    run.end();
    EXPECT_EQ(run.spans(), (Spans{{"k", 0, 32'000, 3}}));
    EXPECT_EQ(run.late(), 0u);
  }
}

TEST_P(CaseS30, OneThatReachesIntoASessionWhichHasSpokenIsLate) {
  for (const bool restores : {false, true}) {
    std::uint16_t shards = GetParam();
    Counting run(shards, in_order().every_record(), session(5s));
    for (const Event& one : {event("k", 0), event("other", 6'000), event("k", 3'000)}) {
      run.in.give(0, {one});
      if (!restores) continue;
      run.run();
      run.restore(shards = other(shards));
    }
    run.end();
    EXPECT_EQ(run.spans(), (Spans{{"k", 0, 5'000, 1}, {"other", 6'000, 11'000, 1}}));
    EXPECT_EQ(run.late(), 1u);
  }
}

// ---- S32: old data replayed today ----

CASE_ON_SHARDS(CaseS32);

TEST_P(CaseS32, WindowsAndTheirResultsAreAsOldAsTheData) {
  constexpr std::int64_t kNewYear = 1'577'836'800'000;  // Of 2020.
  const io::WallTime today{std::chrono::milliseconds(1'764'460'800'000)};
  TestInput<Event> in;
  TestOutput<Counted> out;
  Job first{"minutes"};
  first.from(in.source(), "in")
      .watermarks(in_order(), "time")
      .key_by(KeyOf(), "by-key")
      .window(tumbling(1min))
      .aggregate(count(), "count")
      .to(out.sink());
  std::vector<Event> ten;
  for (int n = 0; n < 10; ++n) ten.push_back(event("k", kNewYear + 30'000 * n));
  in.give(0, std::move(ten));
  in.end();
  auto driver = TestDriver::start(first, {.shards = GetParam(), .wall = today});
  ASSERT_TRUE(driver.ok() && (*driver)->ended());
  auto minutes = out.take_arrived();
  std::ranges::sort(minutes, {}, [](const auto& row) { return row.time; });
  ASSERT_EQ(minutes.size(), 5u);
  Counting<Counted> hours(GetParam(), bounded_out_of_orderness<Counted>(0s), tumbling(1h), {}, today);
  for (std::size_t i = 0; i < minutes.size(); ++i) {
    const Window window = minutes[i].value.window;
    EXPECT_EQ(window.start, at(kNewYear + 60'000 * static_cast<std::int64_t>(i)));
    EXPECT_EQ(minutes[i].value.value, 2u);
    EXPECT_TRUE(window.start <= minutes[i].time && minutes[i].time < window.end);
    hours.in.give_timed(0, {{minutes[i].time, minutes[i].value}});
    if (i != 2) continue;
    hours.run();
    hours.restore(other(GetParam()));
  }
  hours.end();
  EXPECT_THAT(hours.rows(), ElementsAre(Row{"k", kNewYear, 5}));
  EXPECT_EQ(hours.late(), 0u);
}

// ---- S34: a day is not 24 hours ----

CASE_ON_SHARDS(CaseS34);

template <class Assigner>
std::vector<std::pair<std::int64_t, std::uint64_t>> days_of_s34(std::uint16_t shards, Assigner days) {
  Counting run(shards, in_order(), std::move(days));
  for (int n = 0; n < 71; ++n) {
    run.in.give(0, {event("k", 1'709'960'400'000 + 3'600'000LL * n)});
    if (n != 30) continue;
    run.run();
    run.restore(other(shards));  // In the middle of the second day.
  }
  run.end();
  EXPECT_EQ(run.late(), 0u);
  std::vector<std::pair<std::int64_t, std::uint64_t>> starts;
  for (const Row& row : run.rows()) starts.emplace_back(row.start, row.count);
  return starts;
}

TEST_P(CaseS34, DaysAreThoseOfTheZone) {
  using Days = std::vector<std::pair<std::int64_t, std::uint64_t>>;
  const std::chrono::days day(1);
  EXPECT_EQ(days_of_s34(GetParam(), tumbling(day, "America/New_York")),
            (Days{{1'709'960'400'000, 24}, {1'710'046'800'000, 23}, {1'710'129'600'000, 24}}));
  const Days utc{{1'709'942'400'000, 19}, {1'710'028'800'000, 24}, {1'710'115'200'000, 24}, {1'710'201'600'000, 4}};
  EXPECT_EQ(days_of_s34(GetParam(), tumbling(24h)), utc);
  EXPECT_EQ(days_of_s34(GetParam(), tumbling(day, "UTC")), utc);
  // From 18:30 UTC to 18:30 UTC.
  EXPECT_EQ(days_of_s34(GetParam(), tumbling(day, "Asia/Kolkata")),
            (Days{{1'709'922'600'000, 14}, {1'710'009'000'000, 24}, {1'710'095'400'000, 24}, {1'710'181'800'000, 9}}));
}

// ---- S35: second 60 ----

CASE_ON_SHARDS(CaseS35);

TEST_P(CaseS35, Second60IsInItsMinuteAndWhatIsNoTimeIsCounted) {
  const std::string texts[] = {"2016-12-31T23:59:59Z", "2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z", "not-a-time"};
  const auto second = parse_event_time(texts[1]);
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(*second >= at(1'483'228'799'000) && *second <= at(1'483'228'800'000));
  for (const bool restores : {false, true}) {
    std::uint16_t shards = GetParam();
    const auto read = text_time([](const std::string& text) { return text; });
    Counting<std::string> run(shards, monotonous<std::string>(read).on_missing(MissingTime::kSkip), tumbling(60s));
    std::uint64_t bad = 0;
    for (const std::string& text : texts) {
      run.in.give(0, {text});
      if (!restores) continue;
      run.run();
      bad += run.driver().metric("sluice_event_time_skipped_total");
      run.restore(shards = other(shards));
    }
    run.end();
    EXPECT_THAT(run.rows(), ElementsAre(Row{"k", 1'483'228'740'000, 2}, Row{"k", 1'483'228'800'000, 1}));
    EXPECT_EQ(run.late(), 0u);
    EXPECT_EQ(bad + run.driver().metric("sluice_event_time_skipped_total"), 1u);
  }
}

// ---- S36: the system's clock is set back an hour ----

CASE_ON_SHARDS(CaseS36);

TEST_P(CaseS36, IdleTimeoutsAreMeasuredWithTheOtherClock) {
  Counting run(GetParam(), in_order().idle_after(2s), tumbling(1s), {.splits = 2}, io::WallTime(24h));
  std::int64_t ms = 0;
  std::size_t before = 0;
  const auto rows_of_ten_seconds = [&] {
    for (const auto until = run.driver().now() + 10s; run.driver().now() < until; ms += 10) {
      run.in.give(0, {event("a", ms)});
      run.pass(10ms);
    }
    return run.rows().size() - std::exchange(before, run.rows().size());
  };
  run.in.give(1, {event("b", 0)});
  EXPECT_EQ(rows_of_ten_seconds(), 9u + 1u);  // Of a: [0,1s) to [8s,9s). Of b: one.
  run.driver().set_wall(io::WallTime(23h));
  run.in.give(1, {event("b", ms)});
  EXPECT_EQ(rows_of_ten_seconds(), 10u + 1u);  // The second silence of b is as long as the first.
  run.driver().set_wall(io::WallTime(25h));
  EXPECT_EQ(rows_of_ten_seconds(), 10u);
  EXPECT_EQ(run.late(), 0u);
}

}  // namespace
}  // namespace sluice::time_test
