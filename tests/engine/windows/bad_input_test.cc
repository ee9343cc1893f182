// Goal: what cannot be counted, and what would grow without bound, is said with its place and what to do; nothing is lost in silence.
// Method: whole pipelines in virtual time, on one shard and on eight. Late, future and missing times are in time_cases_test.cc, joins in
// ../joins/.
#include "counting.h"

#include "../../support/log_lines.h"

#include <sluice/engine/collection.h>
#include <sluice/engine/operators/deduplicate.h>
#include <sluice/engine/operators/running.h>
#include <sluice/engine/record.h>

namespace sluice::time_test {
namespace {

using ::sluice::support::LogLines;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class BadInput : public OnShards {};
ON_ONE_SHARD_AND_ON_EIGHT(BadInput);

TEST_P(BadInput, TimesBefore1970AreTimesLikeAnyOther) {
  for (const bool restore : {false, true}) {
    Counting minutes(GetParam(), bounded_out_of_orderness<Event>(1h, &Event::time), tumbling(60s));
    Counting sessions(GetParam(), bounded_out_of_orderness<Event>(1h, &Event::time), session(10s));
    Counting slides(GetParam(), bounded_out_of_orderness<Event>(1h, &Event::time), sliding(60s, 30s));
    Counting days(GetParam(), bounded_out_of_orderness<Event>(1h, &Event::time), tumbling(std::chrono::days(1), "America/New_York"));
    for (auto* run : {&minutes, &sessions, &slides, &days}) {
      run->in.give(0, {event("k", -1), event("k", -60'000)});
      run->run();
      if (restore) run->restore(other(GetParam()));
      run->in.give(0, {event("k", -60'001), event("k", 0)});
      run->end();
      EXPECT_EQ(run->late(), 0u);
    }
    EXPECT_THAT(minutes.rows(), ElementsAre(Row{"k", -120'000, 1}, Row{"k", -60'000, 2}, Row{"k", 0, 1}));
    EXPECT_EQ(sessions.spans(), (Spans{{"k", -60'001, -50'000, 2}, {"k", -1, 10'000, 2}}));
    EXPECT_THAT(slides.rows(),
                ElementsAre(Row{"k", -120'000, 1}, Row{"k", -90'000, 2}, Row{"k", -60'000, 2}, Row{"k", -30'000, 2}, Row{"k", 0, 1}));
    EXPECT_EQ(days.spans(), (Spans{{"k", -19 * 3'600'000, 5 * 3'600'000, 4}}));
  }
}

TEST_P(BadInput, NegativeTimesCanBeLateToo) {
  Counting run(GetParam(), in_order(), tumbling(60s));
  run.in.give(0, {event("k", -60'001), event("k", -1), event("k", -60'002)});
  run.end();
  EXPECT_THAT(run.rows(), ElementsAre(Row{"k", -120'000, 1}, Row{"k", -60'000, 1}));
  EXPECT_EQ(run.late(), 1u);
}

// Case S54's keys: null three times, empty twice, "a" once.
TEST_P(BadInput, ANullKeyHasWindowsOfItsOwn) {
  TestInput<Record> in;
  TestOutput<Windowed<Bytes, std::uint64_t>> out;
  Job job{"keys"};
  job.from(in.source(), "in")
      .watermarks(bounded_out_of_orderness<Record>(0s), "time")
      .key_by([](const Record& record) { return record.key; }, "by-key")
      .window(tumbling(60s))
      .aggregate(count(), "count")
      .to(out.sink());
  const auto give = [&](const Bytes& key) {
    Record record;
    record.key = key;
    record.time = at(1'000);
    in.give(0, {record});
  };
  for (const Bytes& key : {Bytes(), Bytes(std::string_view("")), Bytes(), Bytes(std::string_view("a"))}) give(key);
  auto driver = started(job, GetParam());
  ASSERT_TRUE(driver);
  Result<CheckpointData> checkpoint = driver->checkpoint();
  ASSERT_TRUE(checkpoint.ok());
  driver = started(job, other(GetParam()), *std::move(checkpoint));
  ASSERT_TRUE(driver);
  give(Bytes());
  give(Bytes(std::string_view("")));
  in.end();
  ASSERT_FINE(driver->run());
  std::map<std::string, std::uint64_t> counts;
  for (const auto& row : out.take()) {
    const std::string key = row.key.null() ? "null" : "\"" + std::string(row.key.view()) + "\"";
    EXPECT_TRUE(counts.emplace(key, row.value).second) << key;
  }
  EXPECT_EQ(counts, (std::map<std::string, std::uint64_t>{{"null", 3}, {"\"\"", 2}, {"\"a\"", 1}}));
}

// ---- what a job is refused for, or a restore ----

std::string refused(const std::function<void(KeyedStream<std::string, Event>, const TestOutput<Counted>&)>& build) {
  TestInput<Event> in;
  TestOutput<Counted> out;
  Job job{"refused"};
  build(job.from(in.source(), "in").watermarks(in_order(), "time").key_by(KeyOf(), "by-key"), out);
  const Status checked = job.check();
  EXPECT_EQ(checked.code(), Code::kInvalid);
  return std::string(checked.message());
}

TEST(BadPipeline, TwoWindowsWithOneIdAreRefusedByName) {
  const std::string message = refused([](const auto& keyed, const auto& out) {
    keyed.window(tumbling(1min)).aggregate(count(), "per-key").to(out.sink());
    keyed.window(tumbling(1h)).aggregate(count(), "per-key").to(out.sink());
  });
  EXPECT_THAT(message, AllOf(HasSubstr("two parts"), HasSubstr("\"per-key\""), HasSubstr("give each its own")));
}

TEST(BadPipeline, AZoneThatNobodyKnowsNamesTheOperatorAndOneThatExists) {
  const std::string message = refused([](const auto& keyed, const auto& out) {
    keyed.window(tumbling(std::chrono::days(1), "America/NewYork")).aggregate(count(), "days").to(out.sink());
  });
  EXPECT_THAT(message, AllOf(HasSubstr("\"days\""), HasSubstr("\"America/NewYork\""), HasSubstr("America/New_York")));
}

/// What another program says to a checkpoint of minutes that are counted.
template <class Windows, class Aggregate>
std::string restored_by(std::uint16_t shards, Windows windows, Aggregate aggregate) {
  Counting written(shards, in_order(), tumbling(60s));
  written.in.give(0, {event("k", 1'000)});
  written.run();
  Result<CheckpointData> checkpoint = written.driver().checkpoint();
  EXPECT_TRUE(checkpoint.ok());
  TestInput<Event> in;
  Job job{"counting"};
  job.from(in.source(), "in")
      .watermarks(in_order(), "time")
      .key_by(KeyOf(), "by-key")
      .window(windows)
      .aggregate(aggregate, "count")
      .to(for_each<Windowed<std::string, std::int64_t>>([](const auto&) {}), "out");
  auto driver = TestDriver::start(job, {.shards = other(shards)}, *std::move(checkpoint));
  EXPECT_EQ(driver.status().code(), Code::kCorrupt);
  EXPECT_EQ(driver.status().exit_status(), ExitStatus::kData);
  // The program that wrote it goes on.
  written.restore(other(shards));
  written.end();
  EXPECT_THAT(written.rows(), ElementsAre(Row{"k", 0, 1}));
  return std::string(driver.status().message());
}

TEST_P(BadInput, StateOfOtherWindowsOrAnotherAggregateNamesBoth) {
  const auto time = sum([](const Event& one) { return one.time.time_since_epoch().count(); });
  EXPECT_THAT(restored_by(GetParam(), tumbling(60s), time), AllOf(HasSubstr("\"count\""), HasSubstr("\"slices\""), HasSubstr("u64"),
                                                                 HasSubstr("i64"), HasSubstr("--reset-decision")));
  EXPECT_THAT(restored_by(GetParam(), tumbling(30s), time),
              AllOf(HasSubstr("\"count\""), HasSubstr("tumbling 60000 ms"), HasSubstr("tumbling 30000 ms")));
  // Sessions keep theirs under another name: what they do not read must not be lost in silence.
  EXPECT_THAT(restored_by(GetParam(), session(60s), time), AllOf(HasSubstr("\"count\""), HasSubstr("\"slices\""), HasSubstr("\"sessions\""),
                                                                 HasSubstr("tumbling 60000 ms"), HasSubstr("--reset-decision")));
}

// ---- what would grow without bound ----

/// Ten keys are open where ten is the limit: a warning once there were eight, an error at the eleventh.
void check_limit(TestInput<Event>& in, const Job& job, std::uint16_t shards, const std::string& id, const std::string& limit) {
  const LogLines lines;
  auto driver = started(job, shards);
  ASSERT_TRUE(driver);
  // All of one shard, of which there are the bounds.
  std::vector<std::string> keys;
  for (int n = 0; keys.size() < 11; ++n) {
    std::string key = "key-" + std::to_string(n);
    if (KeyGroups().owner(KeyGroups().of<std::string>(key), shards) == ShardId(0)) keys.push_back(std::move(key));
  }
  std::int64_t ms = 0;
  for (std::size_t n = 0; n < 10; ++n) {
    if (n == 7) {
      EXPECT_EQ(lines.count("80 %"), 0) << lines.text();
    }
    in.give(0, {event(keys[n], ++ms)});
    ASSERT_FINE(driver->run());
  }
  EXPECT_EQ(lines.count("80 %"), 1) << lines.text();
  EXPECT_THAT(lines.text(), AllOf(HasSubstr("\"" + id + "\""), HasSubstr(limit + " (now 10)"), HasSubstr("the job fails")));
  // It is as full behind a restore.
  Result<CheckpointData> checkpoint = driver->checkpoint();
  ASSERT_TRUE(checkpoint.ok());
  driver = started(job, shards, *std::move(checkpoint));
  ASSERT_TRUE(driver);
  EXPECT_EQ(lines.count("80 %"), 2) << lines.text();
  in.give(0, {event(keys[10], ++ms)});
  const Status full = driver->run();
  EXPECT_EQ(full.code(), Code::kExhausted);
  EXPECT_THAT(std::string(full.message()), AllOf(HasSubstr("\"" + id + "\""), HasSubstr("more than 10"), HasSubstr("raise " + limit)));
}

TEST_P(BadInput, WindowsHaveALimitThatIsNamedAndWarnedOf) {
  const auto check = [&](auto windows) {
    TestInput<Event> in;
    Job job{"limited"};
    job.from(in.source(), "in")
        .watermarks(in_order(), "time")
        .key_by(KeyOf(), "by-key")
        .window(windows)
        .limit_keys(10)
        .aggregate(count(), "limited")
        .to(for_each<Counted>([](const auto&) {}));
    check_limit(in, job, GetParam(), "limited", "limit_keys()");
  };
  check(tumbling(60s));
  check(sliding(60s, 30s));
  check(session(60s));
  check(global());
}

TEST_P(BadInput, SoHaveRunningAggregatesAndDeduplicate) {
  TestInput<Event> in;
  const auto keyed = [&](Job& job) { return job.from(in.source(), "in").watermarks(in_order(), "time").key_by(KeyOf(), "by-key"); };
  Job sums{"sums"};
  running(keyed(sums), count(), "sums", {.keys_max = 10}).to(for_each<Updated<std::string, std::uint64_t>>([](const auto&) {}));
  check_limit(in, sums, GetParam(), "sums", "keys_max");
  in = TestInput<Event>();
  Job once{"once"};
  deduplicate(keyed(once), "once", {.keys_max = 10}).to(for_each<Event>([](const auto&) {}));
  check_limit(in, once, GetParam(), "once", "keys_max");
  in = TestInput<Event>();
  Job lately{"lately"};
  deduplicate(keyed(lately), "lately", {.within = 1h, .keys_max = 10}).to(for_each<Event>([](const auto&) {}));
  check_limit(in, lately, GetParam(), "lately", "keys_max");
  in = TestInput<Event>();
  Job never{"never"};
  deduplicate(keyed(never), "never", {.within = -1s}).to(for_each<Event>([](const auto&) {}));
  auto refused = TestDriver::start(never, {.shards = GetParam()});
  EXPECT_EQ(refused.status().code(), Code::kInvalid);
  EXPECT_THAT(std::string(refused.status().message()), AllOf(HasSubstr("\"never\""), HasSubstr("within is -1000 ms")));
}

}  // namespace
}  // namespace sluice::time_test
