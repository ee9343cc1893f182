// Goal: a blocking call runs on its own thread, once, in order; its caller goes on where it was.
// Method: calls that record where they ran; a latch instead of a sleep where a call has to take long.
#include <pthread.h>

#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <sluice/io/event.h>
#include <sluice/io/offload.h>
#include <sluice/io/scope.h>

#include "loop.h"

namespace sluice::io {
namespace {

TEST(Offload, RunsOnItsThreadAndTheCallerGoesOnWhereItWas) {
  Loop loop;
  OffloadThread thread("test-offload");
  auto caller = [](OffloadThread* on) -> asio::awaitable<bool> {
    const std::thread::id here = std::this_thread::get_id();
    auto work = [] { return std::this_thread::get_id(); };
    const std::thread::id there = co_await offload(*on, work);
    co_return there != here && std::this_thread::get_id() == here;
  };
  EXPECT_TRUE(loop.run(caller(&thread)));
}

TEST(Offload, NamesItsThread) {
  Loop loop;
  OffloadThread thread("a-name-that-is-too-long");
  auto work = [] {
    char name[32] = {};
    ::pthread_getname_np(::pthread_self(), name, sizeof name);
    return std::string(name);
  };
  EXPECT_EQ(loop.run(offload(thread, work)), "a-name-that-is-");
}

TEST(Offload, MovesResultsThatCanNotBeCopiedOrMadeFromNothing) {
  struct Answer {
    explicit Answer(int number) : value(std::make_unique<int>(number)) {}
    std::unique_ptr<int> value;
  };
  Loop loop;
  OffloadThread thread("test-offload");
  auto work = [] { return Answer(7); };
  EXPECT_EQ(*loop.run(offload(thread, work)).value, 7);
}

TEST(Offload, RunsWorkThatReturnsNothing) {
  Loop loop;
  OffloadThread thread("test-offload");
  int ran = 0;
  auto caller = [](OffloadThread* on, int* count) -> asio::awaitable<bool> {
    auto work = [count] { ++*count; };
    co_await offload(*on, work);
    co_return true;
  };
  EXPECT_TRUE(loop.run(caller(&thread, &ran)));
  EXPECT_EQ(ran, 1);
}

TEST(Offload, AnExceptionReachesTheCaller) {
  Loop loop;
  OffloadThread thread("test-offload");
  auto work = []() -> int { throw std::runtime_error("from the thread"); };
  EXPECT_THROW((void)loop.run(offload(thread, work)), std::runtime_error);
}

TEST(Offload, AStopDoesNotInterruptTheCallAndIsSeenBehindIt) {
  Loop loop;
  std::promise<void> release;
  OffloadThread thread("test-offload");
  Event event(loop.executor());
  std::vector<std::string> seen;
  auto child = [](OffloadThread* on, std::shared_future<void> gate, Event* behind,
                  std::vector<std::string>* log) -> asio::awaitable<Status> {
    auto work = [gate] {
      gate.wait();
      return 7;
    };
    const int answer = co_await offload(*on, std::move(work));
    log->push_back(std::to_string(answer));
    const Status woken = co_await behind->wait();
    log->push_back(std::string(to_string(woken.code())));
    co_return Status();
  };
  Scope scope(loop.executor());
  scope.spawn(child(&thread, release.get_future().share(), &event, &seen));
  loop.drain();
  scope.stop();
  loop.drain();
  EXPECT_TRUE(seen.empty());
  release.set_value();
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"7", "cancelled"}));
}

TEST(Offload, TheLoopDoesNotRunOutOfWorkMeanwhile) {
  Loop loop;
  std::promise<void> release;
  OffloadThread thread("test-offload");
  bool answered = false;
  auto caller = [](OffloadThread* on, std::shared_future<void> gate, bool* done) -> asio::awaitable<void> {
    auto work = [gate] {
      gate.wait();
      return true;
    };
    *done = co_await offload(*on, std::move(work));
  };
  asio::co_spawn(loop.context(), caller(&thread, release.get_future().share(), &answered), [](std::exception_ptr) {});
  loop.drain();
  release.set_value();
  loop.context().restart();
  loop.context().run();  // Returns when there is nothing left to do: with the answer.
  EXPECT_TRUE(answered);
}

TEST(Offload, TheDestructorRunsWhatWasQueuedInOrder) {
  std::vector<int> ran;
  {
    OffloadThread thread("test-offload");
    for (int at = 0; at < 100; ++at) thread.post([&ran, at] { ran.push_back(at); });
  }
  ASSERT_EQ(ran.size(), 100u);
  for (int at = 0; at < 100; ++at) EXPECT_EQ(ran[static_cast<std::size_t>(at)], at);
}

}  // namespace
}  // namespace sluice::io
