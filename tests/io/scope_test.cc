// Goal: nothing outlives its scope, and a request to stop reaches every wait exactly once: now, later, or behind a shield.
// Method: one loop on the test's own thread, turned by hand.
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <boost/asio/steady_timer.hpp>

#include <sluice/io/event.h>
#include <sluice/io/scope.h>

#include "loop.h"

namespace sluice::io {
namespace {

asio::awaitable<Status> wait_for(Event* event, std::vector<std::string>* seen, std::string name) {
  const Status woken = co_await event->wait();
  seen->push_back(name + ":" + std::string(to_string(woken.code())));
  co_return woken;
}
asio::awaitable<Status> end_with(Code code) {
  co_return code == Code::kOk ? Status() : Status(code, "as the test asked");
}

class ScopeTest : public testing::Test {
 protected:
  Loop loop;
  Event event{loop.executor()};
  std::vector<std::string> seen;
};

TEST_F(ScopeTest, NeverUsedNeedsNoJoin) { Scope scope(loop.executor()); }

TEST_F(ScopeTest, JoinWaitsForTheLastChild) {
  Scope scope(loop.executor());
  scope.spawn(wait_for(&event, &seen, "a"));
  scope.spawn(wait_for(&event, &seen, "b"));
  loop.drain();
  EXPECT_TRUE(seen.empty());
  event.set();
  EXPECT_EQ(loop.run(scope.join()).to_string(), "ok");
  EXPECT_EQ(seen, (std::vector<std::string>{"a:ok", "b:ok"}));
}

TEST_F(ScopeTest, SpawnDoesNotRunTheChildBeforeItsCallerGoesOn) {
  Scope scope(loop.executor());
  auto parent = [](Scope* in, Event* on, std::vector<std::string>* log) -> asio::awaitable<Status> {
    in->spawn(wait_for(on, log, "child"));
    log->push_back("parent");
    co_return Status();
  };
  event.set();
  scope.spawn(parent(&scope, &event, &seen));
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"parent", "child:ok"}));
}

TEST_F(ScopeTest, StopReachesAWaitThatHasBegun) {
  Scope scope(loop.executor());
  scope.spawn(wait_for(&event, &seen, "a"));
  loop.drain();
  scope.stop();
  EXPECT_TRUE(scope.stopping());
  EXPECT_TRUE(loop.run(scope.join()).ok()) << "being asked to stop is no failure";
  EXPECT_EQ(seen, (std::vector<std::string>{"a:cancelled"}));
}

TEST_F(ScopeTest, StopReachesAChildThatHasNotRunYet) {
  Scope scope(loop.executor());
  scope.spawn(wait_for(&event, &seen, "a"));
  scope.stop();
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"a:cancelled"}));
}

TEST_F(ScopeTest, AStopThatComesAsTheChildEndsFindsNothingToStop) {
  // From outside of the loop, which is how asio's own way of passing it on reaches into a child that is gone.
  Scope scope(loop.executor());
  scope.spawn(wait_for(&event, &seen, "a"));
  loop.drain();
  event.set();
  scope.stop();
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_EQ(seen.size(), 1u);
}

TEST_F(ScopeTest, StopReachesAChildThatIsSpawnedBehindIt) {
  Scope scope(loop.executor());
  scope.stop();
  scope.spawn(wait_for(&event, &seen, "a"));
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"a:cancelled"}));
}

TEST_F(ScopeTest, EveryWaitBehindAStopEndsAtOnceEvenWhenWhatItWaitsForIsThere) {
  Scope scope(loop.executor());
  auto child = [](Scope* in, Event* on, std::vector<std::string>* log) -> asio::awaitable<Status> {
    in->stop();
    on->set();
    for (int i = 0; i < 3; ++i) {
      const Status woken = co_await on->wait();
      log->push_back(std::string(to_string(woken.code())));
    }
    co_return Status();
  };
  scope.spawn(child(&scope, &event, &seen));
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"cancelled", "cancelled", "cancelled"}));
}

TEST_F(ScopeTest, FirstFailureStopsTheSiblingsAndIsWhatJoinReturns) {
  Scope scope(loop.executor());
  scope.spawn(wait_for(&event, &seen, "sibling"));
  loop.drain();
  scope.spawn(end_with(Code::kFenced));
  scope.spawn(end_with(Code::kCorrupt));
  EXPECT_EQ(loop.run(scope.join()).code(), Code::kFenced);
  EXPECT_EQ(seen, (std::vector<std::string>{"sibling:cancelled"}));
}

TEST_F(ScopeTest, AChildThatEndsCancelledDoesNotStopItsSiblings) {
  Scope scope(loop.executor());
  scope.spawn(wait_for(&event, &seen, "sibling"));
  scope.spawn(end_with(Code::kCancelled));
  loop.drain();
  EXPECT_FALSE(scope.stopping());
  event.set();
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"sibling:ok"}));
}

TEST_F(ScopeTest, AnEscapedExceptionBecomesInvalidWithItsText) {
  Scope scope(loop.executor());
  auto child = []() -> asio::awaitable<Status> {
    throw std::runtime_error("the user's own");
    co_return Status();
  };
  scope.spawn(child());
  const Status ended = loop.run(scope.join());
  EXPECT_EQ(ended.code(), Code::kInvalid);
  EXPECT_NE(ended.message().find("the user's own"), std::string::npos) << ended.message();
}

TEST_F(ScopeTest, RunningOutOfMemoryAsksForARecovery) {
  Scope scope(loop.executor());
  auto child = []() -> asio::awaitable<Status> {
    throw std::bad_alloc();
    co_return Status();
  };
  scope.spawn(child());
  EXPECT_EQ(loop.run(scope.join()).code(), Code::kRecover);
}

TEST_F(ScopeTest, AnOperationOfTheNetworkingLibraryThatIsStoppedIsNoFailure) {
  Scope scope(loop.executor());
  auto child = [](Executor here) -> asio::awaitable<Status> {
    asio::steady_timer timer(here, std::chrono::hours(1));
    co_await timer.async_wait(asio::use_awaitable);
    co_return Status();
  };
  scope.spawn(child(loop.executor()));
  loop.drain();
  scope.stop();
  EXPECT_EQ(loop.run(scope.join()).to_string(), "ok");
}

TEST_F(ScopeTest, CancellingTheJoinerIsPassedToTheChildrenAndStillWaitsForThem) {
  Scope outer(loop.executor());
  auto parent = [](Executor here, Event* on, std::vector<std::string>* log) -> asio::awaitable<Status> {
    Scope inner(here);
    inner.spawn(wait_for(on, log, "grandchild"));
    const Status ended = co_await inner.join();
    log->push_back("joined:" + std::string(to_string(ended.code())));
    co_return ended;
  };
  outer.spawn(parent(loop.executor(), &event, &seen));
  loop.drain();
  outer.stop();
  EXPECT_TRUE(loop.run(outer.join()).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"grandchild:cancelled", "joined:ok"}));
}

TEST_F(ScopeTest, AJoinThatBeginsBehindTheStopPassesItOn) {
  Scope outer(loop.executor());
  auto parent = [](Scope* around, Executor here, Event* on,
                   std::vector<std::string>* log) -> asio::awaitable<Status> {
    Scope inner(here);
    inner.spawn(wait_for(on, log, "grandchild"));
    around->stop();
    co_return co_await inner.join();
  };
  outer.spawn(parent(&outer, loop.executor(), &event, &seen));
  EXPECT_TRUE(loop.run(outer.join()).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"grandchild:cancelled"}));
}

TEST_F(ScopeTest, JoinAlsoWaitsForWhatAChildSpawnsMeanwhile) {
  Scope scope(loop.executor());
  auto parent = [](Scope* in, Event* on, std::vector<std::string>* log) -> asio::awaitable<Status> {
    in->spawn(wait_for(on, log, "late"));
    co_return Status();
  };
  scope.spawn(parent(&scope, &event, &seen));
  event.set();
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"late:ok"}));
}

TEST_F(ScopeTest, IsUsedAgainAfterAJoin) {
  Scope scope(loop.executor());
  for (int i = 0; i < 2; ++i) {
    scope.spawn(end_with(Code::kOk));
    EXPECT_TRUE(loop.run(scope.join()).ok());
  }
}

TEST(ScopeDeathTest, LeavingAScopeThatWasNotJoinedIsOurMistake) {
  EXPECT_DEATH(
      {
        Loop loop;
        Scope scope(loop.executor());
        scope.spawn(end_with(Code::kOk));
        loop.drain();
      },
      "joined");
}

// What follows is about shield(): the work runs to its end, and the request to stop is not lost on the way.

asio::awaitable<Status> shielded_then(Event* in_shield, Event* behind, std::vector<std::string>* log) {
  const Status inside = co_await shield(wait_for(in_shield, log, "inside"));
  log->push_back("shield:" + std::string(to_string(inside.code())));
  const Status after = co_await behind->wait();
  log->push_back("after:" + std::string(to_string(after.code())));
  co_return Status();
}

class ShieldTest : public ScopeTest {
 protected:
  Event behind{loop.executor()};
};

TEST_F(ShieldTest, AStopDuringTheShieldIsSeenByTheNextWaitOnly) {
  Scope scope(loop.executor());
  scope.spawn(shielded_then(&event, &behind, &seen));
  loop.drain();
  scope.stop();
  loop.drain();
  EXPECT_TRUE(seen.empty()) << "the shielded wait goes on";
  event.set();
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"inside:ok", "shield:ok", "after:cancelled"}));
}

TEST_F(ShieldTest, AStopBeforeTheShieldDoesNotReachTheWork) {
  Scope scope(loop.executor());
  scope.spawn(shielded_then(&event, &behind, &seen));
  scope.stop();
  loop.drain();
  EXPECT_TRUE(seen.empty());
  event.set();
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"inside:ok", "shield:ok", "after:cancelled"}));
}

TEST_F(ShieldTest, AStopBehindTheShieldReachesTheNextWait) {
  Scope scope(loop.executor());
  scope.spawn(shielded_then(&event, &behind, &seen));
  event.set();
  loop.drain();
  EXPECT_EQ(seen, (std::vector<std::string>{"inside:ok", "shield:ok"}));
  scope.stop();
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_EQ(seen.back(), "after:cancelled");
}

TEST_F(ShieldTest, ShieldsNest) {
  Scope scope(loop.executor());
  auto nested = [](Event* on, Event* next, std::vector<std::string>* log) -> asio::awaitable<Status> {
    const Status inside = co_await shield(shield(wait_for(on, log, "inside")));
    const Status after = co_await next->wait();
    log->push_back("after:" + std::string(to_string(after.code())));
    co_return inside;
  };
  scope.spawn(nested(&event, &behind, &seen));
  loop.drain();
  scope.stop();
  event.set();
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"inside:ok", "after:cancelled"}));
}

TEST_F(ShieldTest, AnExceptionComesThrough) {
  Scope scope(loop.executor());
  auto thrower = []() -> asio::awaitable<Status> {
    throw std::runtime_error("from inside");
    co_return Status();
  };
  auto child = [](asio::awaitable<Status> work) -> asio::awaitable<Status> {
    co_return co_await shield(std::move(work));
  };
  scope.spawn(child(thrower()));
  EXPECT_NE(loop.run(scope.join()).message().find("from inside"), std::string::npos);
}

TEST_F(ShieldTest, WorkWithoutAResultIsShieldedToo) {
  Scope scope(loop.executor());
  auto work = [](Event* on, std::vector<std::string>* log) -> asio::awaitable<void> {
    const Status woken = co_await on->wait();
    log->push_back(std::string(to_string(woken.code())));
  };
  auto child = [](asio::awaitable<void> inside) -> asio::awaitable<Status> {
    co_await shield(std::move(inside));
    co_return Status();
  };
  scope.spawn(child(work(&event, &seen)));
  loop.drain();
  scope.stop();
  event.set();
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"ok"}));
}

}  // namespace
}  // namespace sluice::io
