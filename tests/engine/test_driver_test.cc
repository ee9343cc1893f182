// Goal: the test driver is what it says: whole pipelines, one thread, virtual time, the same each time. Method: it drives, we look.
#include "time_fixture.h"

#include <thread>

namespace sluice::time_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Watermarks<Event> in_order() { return monotonous<Event>(&Event::time); }

TEST(TestDriver, TwoRunsAreTheSameToTheOrderOfTheirOutput) {
  const auto run = [] {
    TestInput<Event> in({.splits = 5, .batch_max = 3});
    TestOutput<Row> out;
    for (int n = 0; n < 2'000; ++n) in.give(n % 5, {event("k" + std::to_string(n % 37), 13 * n)});
    in.end();
    const auto driver = started(counting(in, out, in_order(), 1s), 4);
    std::vector<std::pair<Row, int>> came;
    for (auto& one : out.take_arrived()) came.emplace_back(one.value, one.shard.value());
    return came;
  };
  const auto first = run();
  EXPECT_GT(first.size(), 500u);
  for (int again = 0; again < 3; ++again) EXPECT_EQ(run(), first);
}

TEST(TestDriver, EverythingRunsOnTheCallersThread) {
  TestInput<Event> in;
  TestOutput<Event> out;
  const auto here = std::this_thread::get_id();
  int seen = 0;
  Job job{"threads"};
  job.from(in.source(), "in").rebalance("spread").peek([&seen, here](const Event&) {
    EXPECT_EQ(std::this_thread::get_id(), here);
    ++seen;
  }).to(out.sink());
  const auto driver = started(job, 3);
  ASSERT_TRUE(driver);
  in.give(0, {event("a", 1), event("b", 2)});
  ASSERT_FINE(driver->run());
  EXPECT_EQ(seen, 2);
}

TEST(TestDriver, TimeStandsStillUntilItIsTurned) {
  TestInput<Event> in;
  TestOutput<Row> out;
  const auto driver = started(counting(in, out, in_order().idle_after(1h), 10s), 2);
  ASSERT_TRUE(driver);
  const io::Monotonic before = driver->now();
  in.give(0, {event("a", 1)});
  ASSERT_FINE(driver->run());
  EXPECT_EQ(driver->now(), before);
  ASSERT_FINE(driver->advance(90min));
  EXPECT_EQ(driver->now(), before + 90min);
  EXPECT_FALSE(driver->holder("time"));
}

TEST(TestDriver, OutputHasItsTimesAndShards) {
  TestInput<Event> in;
  TestOutput<Row> out;
  const auto driver = started(counting(in, out, in_order(), 10s), 1);
  ASSERT_TRUE(driver);
  in.give(0, {event("a", 1000), event("a", 10000)});
  ASSERT_FINE(driver->run());
  const auto came = out.take_arrived();
  ASSERT_EQ(came.size(), 1u);
  EXPECT_EQ(came[0].value, (Row{"a", 0, 1}));
  EXPECT_EQ(came[0].time, at(9999));  // S32: of the window, not of today.
  EXPECT_EQ(came[0].shard, ShardId(0));
}

TEST(TestDriver, ACheckpointGoesOnFromWhereItWasOnAnotherNumberOfShards) {
  TestInput<Event> in({.splits = 3});
  TestOutput<Row> out;
  const Job job = counting(in, out, in_order(), 10s);
  auto driver = started(job, 2);
  ASSERT_TRUE(driver);
  for (int split = 0; split < 3; ++split) in.give(split, {event("a", 1000), event("b", 2000)});
  ASSERT_FINE(driver->run());
  Result<CheckpointData> checkpoint = driver->checkpoint();
  ASSERT_TRUE(checkpoint.ok());
  EXPECT_EQ(checkpoint->positions.size(), 3u);
  // What comes behind it is forgotten with the driver, and read again.
  in.give(0, {event("a", 3000)});
  ASSERT_FINE(driver->run());
  for (const std::uint16_t shards : {1, 3, 8}) {
    driver = started(job, shards, *checkpoint);
    ASSERT_TRUE(driver);
    if (shards == 1) in.end();
    ASSERT_FINE(driver->run());
    EXPECT_TRUE(driver->ended());
    EXPECT_THAT(sorted(out.take()), ElementsAre(Row{"a", 0, 4}, Row{"b", 0, 3})) << shards;
  }
}

TEST(TestDriver, AJobThatIsWrongIsSaidSoAndCanBeLetGo) {
  TestInput<Event> in;
  TestOutput<Row> out;
  const Job job = counting(in, out, in_order().max_drift(-1ms), 10s);
  const auto driver = TestDriver::start(job, {.shards = 2});
  ASSERT_FALSE(driver.ok());
  EXPECT_THAT(std::string(driver.status().message()), HasSubstr("max_drift"));
  EXPECT_FALSE(TestDriver::start(counting(in, out, in_order(), 10s), {.shards = 0}).ok());
}

TEST(TestDriver, AFailureOfTheJobIsTheAnswerOfWhateverLetItRun) {
  TestInput<Event> in;
  TestOutput<Event> out;
  Job job{"fails"};
  job.from(in.source(), "in").map([](const Event& one) -> Result<Event> {
    if (one.key == "bad") return Status(Code::kInvalid, "a bad one");
    return one;
  }).to(out.sink());
  const auto driver = started(job, 2);
  ASSERT_TRUE(driver);
  in.give(0, {event("good", 1)});
  ASSERT_FINE(driver->run());
  in.give(0, {event("bad", 2)});
  EXPECT_THAT(std::string(driver->run().message()), HasSubstr("a bad one"));
  EXPECT_FALSE(driver->checkpoint().ok());
}

TEST(TestDriver, APipelineThatNeverRestsIsAnErrorAndNotATestThatHangs) {
  TestInput<Event> in({.batch_max = 1});
  TestOutput<Event> out;
  Job job{"busy"};
  job.from(in.source(), "in").to(out.sink());
  std::vector<Event> many(10'000, event("a", 1));
  Result<std::unique_ptr<TestDriver>> driver = TestDriver::start(job, {.shards = 1, .steps_max = 1'000});
  ASSERT_TRUE(driver.ok());
  in.give(0, std::move(many));
  EXPECT_EQ((*driver)->run().code(), Code::kExhausted);
}

}  // namespace
}  // namespace sluice::time_test
