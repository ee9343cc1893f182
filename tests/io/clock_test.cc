// Goal: a sleep ends when its time comes or when it is asked to stop, and a clock that is set back changes no interval.
// Method: the fake clock, turned by hand; the machine's clock only with times that have come already or never come.
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <sluice/io/clock.h>
#include <sluice/io/scope.h>
#include <sluice/io/shards.h>

#include "loop.h"

namespace sluice::io {
namespace {

using namespace std::chrono_literals;

asio::awaitable<Status> sleep_and_tell(Clock* clock, std::chrono::nanoseconds how_long, std::string name,
                                       std::vector<std::string>* seen) {
  const Status slept = co_await clock->sleep(how_long);
  seen->push_back(name + ":" + std::string(to_string(slept.code())));
  co_return slept;
}

class FakeClockTest : public testing::Test {
 protected:
  Loop loop;
  FakeClock clock;
  std::vector<std::string> seen;
};

TEST_F(FakeClockTest, SleepersWakeInTheOrderOfTheirTimes) {
  Scope scope(loop.executor());
  scope.spawn(sleep_and_tell(&clock, 30ms, "late", &seen));
  scope.spawn(sleep_and_tell(&clock, 10ms, "early", &seen));
  loop.drain();
  EXPECT_EQ(clock.sleepers(), 2u);
  clock.advance(9ms);
  loop.drain();
  EXPECT_TRUE(seen.empty());
  clock.advance(1ms);
  loop.drain();
  EXPECT_EQ(seen, (std::vector<std::string>{"early:ok"}));
  clock.advance(1h);
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_EQ(seen.back(), "late:ok");
}

TEST_F(FakeClockTest, ATimeThatHasComeNeedsNoAdvance) {
  EXPECT_TRUE(loop.run(clock.sleep(0ns)).ok());
  EXPECT_TRUE(loop.run(clock.sleep(-1s)).ok());
}

TEST_F(FakeClockTest, AStopWakesTheSleeperAndForgetsIt) {
  Scope scope(loop.executor());
  scope.spawn(sleep_and_tell(&clock, 1s, "a", &seen));
  loop.drain();
  scope.stop();
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"a:cancelled"}));
  EXPECT_EQ(clock.sleepers(), 0u);
}

TEST_F(FakeClockTest, ASleepThatBeginsBehindAStopDoesNotSleep) {
  Scope scope(loop.executor());
  scope.spawn(sleep_and_tell(&clock, 1s, "a", &seen));
  scope.stop();
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"a:cancelled"}));
}

TEST_F(FakeClockTest, AStopBehindTheAdvanceComesTooLate) {
  Scope scope(loop.executor());
  scope.spawn(sleep_and_tell(&clock, 1s, "a", &seen));
  loop.drain();
  clock.advance(1s);
  scope.stop();
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"a:ok"}));
}

TEST_F(FakeClockTest, SettingTheWallClockWakesNobody) {
  Scope scope(loop.executor());
  scope.spawn(sleep_and_tell(&clock, 1s, "a", &seen));
  loop.drain();
  const Monotonic before = clock.now();
  clock.set_wall(WallTime(24h));
  loop.drain();
  EXPECT_TRUE(seen.empty());
  EXPECT_EQ(clock.now(), before);
  clock.advance(1s);
  EXPECT_EQ(clock.wall(), WallTime(24h) + 1s);
  EXPECT_TRUE(loop.run(scope.join()).ok());
}

TEST_F(FakeClockTest, AnAdvanceFromAForeignThreadWakesOnTheSleepersOwn) {
  auto shards = *Shards::start({.count = 1, .pin = {}, .file_faults = {}, .thread_name = "test"});
  const Executor there = shards->shard(ShardId(0)).executor();
  auto sleeper = [clock = &clock] {
    auto sleep = [](FakeClock* on) -> asio::awaitable<bool> {
      const std::thread::id before = std::this_thread::get_id();
      const Status slept = co_await on->sleep(1s);
      co_return slept.ok() && std::this_thread::get_id() == before;
    };
    return sleep(clock);
  };
  std::thread advancer([clock = &clock] {
    while (clock->sleepers() == 0) std::this_thread::yield();
    clock->advance(1s);
  });
  EXPECT_TRUE(loop.run(run_on(there, sleeper)));
  advancer.join();
}

TEST(SystemClock, ASleepEndsWhenItsTimeHasCome) {
  Loop loop;
  EXPECT_TRUE(loop.run(system_clock().sleep(-1s)).ok());
  EXPECT_TRUE(loop.run(system_clock().sleep(1us)).ok());
}

TEST(SystemClock, AStopEndsASleepOfAYear) {
  Loop loop;
  std::vector<std::string> seen;
  Scope scope(loop.executor());
  scope.spawn(sleep_and_tell(&system_clock(), 365 * 24h, "year", &seen));
  loop.drain();
  scope.stop();
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"year:cancelled"}));
}

TEST(SystemClock, ASleepThatBeginsBehindAStopDoesNotSleep) {
  Loop loop;
  std::vector<std::string> seen;
  Scope scope(loop.executor());
  scope.spawn(sleep_and_tell(&system_clock(), 365 * 24h, "year", &seen));
  scope.stop();
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"year:cancelled"}));
}

TEST(SystemClock, RunsForward) {
  const Monotonic before = system_clock().now();
  EXPECT_GE(system_clock().now(), before);
  EXPECT_GT(system_clock().wall(), WallTime(24h * 365 * 50));
}

}  // namespace
}  // namespace sluice::io
