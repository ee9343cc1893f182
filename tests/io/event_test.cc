// Goal: a set() is never lost and never counted twice, whoever sets and whenever.
// Method: one loop turned by hand; then setters on foreign threads against a waiter that counts.
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <sluice/io/event.h>
#include <sluice/io/scope.h>
#include <sluice/io/shards.h>

#include "loop.h"
#include "race.h"

namespace sluice::io {
namespace {

asio::awaitable<Status> count_wakes(Event* event, int* wakes, int until) {
  while (*wakes < until) {
    const Status woken = co_await event->wait();
    if (!woken.ok()) co_return woken;
    ++*wakes;
  }
  co_return Status();
}

class EventTest : public testing::Test {
 protected:
  Loop loop;
  Event event{loop.executor()};
  int wakes = 0;
};

TEST_F(EventTest, RemembersASetUntilAWaitTakesIt) {
  event.set();
  EXPECT_TRUE(loop.run(event.wait()).ok());
  Scope scope(loop.executor());
  scope.spawn(count_wakes(&event, &wakes, 1));
  loop.drain();
  EXPECT_EQ(wakes, 0) << "the first wait took it";
  event.set();
  EXPECT_TRUE(loop.run(scope.join()).ok());
}

TEST_F(EventTest, ManySetsBeforeAWakeAreOne) {
  Scope scope(loop.executor());
  scope.spawn(count_wakes(&event, &wakes, 2));
  loop.drain();
  for (int i = 0; i < 100; ++i) event.set();
  loop.drain();
  EXPECT_EQ(wakes, 1);
  event.set();
  EXPECT_TRUE(loop.run(scope.join()).ok());
}

TEST_F(EventTest, ASetWhileSomebodyWaitsPostsOnce) {
  Scope scope(loop.executor());
  scope.spawn(count_wakes(&event, &wakes, 1));
  loop.drain();
  for (int i = 0; i < 100; ++i) event.set();
  loop.context().restart();
  EXPECT_EQ(loop.context().poll_one(), 1u);
  EXPECT_EQ(wakes, 1);
  EXPECT_TRUE(loop.run(scope.join()).ok());
}

TEST_F(EventTest, WakesAllWhoWait) {
  Scope scope(loop.executor());
  int others = 0;
  scope.spawn(count_wakes(&event, &wakes, 1));
  scope.spawn(count_wakes(&event, &others, 1));
  loop.drain();
  event.set();
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_EQ(wakes + others, 2);
}

TEST_F(EventTest, AWaitThatTakesTheFlagBeforeTheBellIsHeardWakesTheOthersToo) {
  Scope scope(loop.executor());
  Event go(loop.executor());
  auto second = [](Event* first_on, Event* then_on, int* count) -> asio::awaitable<Status> {
    const Status went = co_await first_on->wait();
    if (!went.ok()) co_return went;
    const Status woken = co_await then_on->wait();
    ++*count;
    co_return woken;
  };
  int others = 0;
  scope.spawn(count_wakes(&event, &wakes, 1));
  scope.spawn(second(&go, &event, &others));
  loop.drain();
  go.set();  // Its bell stands before the other, so the second coroutine takes the flag that is meant for both.
  event.set();
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_EQ(wakes + others, 2);
}

TEST_F(EventTest, AStoppedWaitLeavesTheFlagForTheNext) {
  Scope scope(loop.executor());
  scope.spawn(count_wakes(&event, &wakes, 1));
  loop.drain();
  scope.stop();
  loop.drain();
  event.set();
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_EQ(wakes, 0);
  EXPECT_TRUE(loop.run(event.wait()).ok());
}

TEST_F(EventTest, OneOfTwoWaitersMayBeStoppedByWhatTheOtherDoes) {
  Scope victim(loop.executor()), scope(loop.executor());
  auto stopper = [](Event* on, Scope* of) -> asio::awaitable<Status> {
    const Status woken = co_await on->wait();
    of->stop();
    co_return woken;
  };
  scope.spawn(stopper(&event, &victim));
  loop.drain();
  victim.spawn(count_wakes(&event, &wakes, 2));
  loop.drain();
  event.set();
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_TRUE(loop.run(victim.join()).ok());
  EXPECT_EQ(wakes, 1) << "it had been woken before it was stopped";
}

TEST_F(EventTest, MayGoWhileARingIsOnItsWay) {
  {
    Event short_lived(loop.executor());
    Scope scope(loop.executor());
    scope.spawn(count_wakes(&short_lived, &wakes, 1));
    loop.drain();
    scope.stop();
    EXPECT_TRUE(loop.run(scope.join()).ok());
    short_lived.set();
  }
  loop.drain();
}

TEST_F(EventTest, DropsWhoStillWaitsWhenItGoes) {
  auto token = std::make_shared<int>();
  auto waiter = [](Event* on, std::shared_ptr<int>) -> asio::awaitable<void> {
    const Status woken = co_await on->wait();
    EXPECT_TRUE(woken.ok());
  };
  {
    Event short_lived(loop.executor());
    asio::co_spawn(loop.context(), waiter(&short_lived, token), [](std::exception_ptr) {});
    loop.drain();
    EXPECT_EQ(token.use_count(), 2);
  }
  loop.drain();
  EXPECT_EQ(token.use_count(), 1);
}

TEST(EventAcross, EverySetFromAForeignThreadIsSeen) {
  constexpr int kThreads = 2, kSets = 5'000;
  Loop loop;
  auto shards = *Shards::start({.count = 1, .pin = {}, .file_faults = {}, .thread_name = "test"});
  Event event(shards->shard(ShardId(0)).executor());
  std::atomic<int> written{0};
  // The waiter ends when it has seen all that was written: a lost set leaves it asleep for ever.
  auto waiter = [&event, &written]() {
    auto wait = [](Event* on, std::atomic<int>* count) -> asio::awaitable<Status> {
      while (count->load(std::memory_order_relaxed) < kThreads * kSets) {
        const Status woken = co_await on->wait();
        if (!woken.ok()) co_return woken;
      }
      co_return Status();
    };
    return wait(&event, &written);
  };
  std::vector<std::thread> setters;
  for (int thread = 0; thread < kThreads; ++thread) {
    setters.emplace_back([&event, &written] {
      for (int i = 0; i < kSets; ++i) {
        written.fetch_add(1, std::memory_order_relaxed);
        event.set();
      }
    });
  }
  EXPECT_TRUE(loop.run(run_on(shards->shard(ShardId(0)).executor(), waiter)).ok());
  for (std::thread& setter : setters) setter.join();
}

TEST(EventAcross, ASetThatMeetsTheBeginningOfAWaitIsNotLost) {
  constexpr std::uint64_t kRounds = 5'000;
  Loop loop;
  auto shards = *Shards::start({.count = 1, .pin = {}, .file_faults = {}, .thread_name = "test"});
  const Executor there = shards->shard(ShardId(0)).executor();
  Event event(there);
  Race race;
  auto waiter = [&event, &race] {
    auto wait = [](Event* on, Race* against) -> asio::awaitable<Status> {
      for (std::uint64_t round = 1; round <= kRounds; ++round) {
        against->begin(round);
        const Status woken = co_await on->wait();
        if (!woken.ok()) co_return woken;
      }
      co_return Status();
    };
    return wait(&event, &race);
  };
  std::thread setter([&event, &race] {
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      race.meet(round);
      event.set();
    }
  });
  EXPECT_TRUE(loop.run(run_on(there, waiter)).ok());
  setter.join();
}

TEST(EventAcross, WhatWasWrittenBeforeASetIsSeenBehindTheWait) {
  Loop loop;
  auto shards = *Shards::start({.count = 1, .pin = {}, .file_faults = {}, .thread_name = "test"});
  const Executor there = shards->shard(ShardId(0)).executor();
  Event event(there), back(loop.executor());
  int plain = 0;  // The thread sanitizer looks at this.
  std::thread writer([&event, &plain] {
    plain = 7;
    event.set();
  });
  auto reader = [&event, &plain] {
    auto read = [](Event* on, int* value) -> asio::awaitable<int> {
      const Status woken = co_await on->wait();
      co_return woken.ok() ? *value : -1;
    };
    return read(&event, &plain);
  };
  EXPECT_EQ(loop.run(run_on(there, reader)), 7);
  writer.join();
}

}  // namespace
}  // namespace sluice::io
