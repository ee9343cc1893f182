// Goal: waits grow to the limit and not beyond, jitter stays within its share, and a seed gives the same waits again.
// Method: the waits are drawn without waiting; one real wait on the fake clock.
#include <vector>

#include <gtest/gtest.h>

#include <sluice/io/backoff.h>
#include <sluice/io/scope.h>

#include "loop.h"

namespace sluice::io {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

std::vector<nanoseconds> draw(Backoff::Options options, std::uint64_t seed, int count) {
  FakeClock clock;
  Random random(seed);
  Backoff backoff(options, clock, random);
  std::vector<nanoseconds> waits;
  for (int at = 0; at < count; ++at) waits.push_back(backoff.next());
  return waits;
}

TEST(Backoff, GrowsByItsFactorUpToItsLimit) {
  const auto waits = draw({.first = 10ms, .limit = 60ms, .factor = 2.0, .jitter = 0.0}, 1, 5);
  EXPECT_EQ(waits, (std::vector<nanoseconds>{10ms, 20ms, 40ms, 60ms, 60ms}));
}

TEST(Backoff, AFirstWaitAboveTheLimitIsTheLimit) {
  const auto waits = draw({.first = 1s, .limit = 60ms, .factor = 2.0, .jitter = 0.0}, 1, 2);
  EXPECT_EQ(waits, (std::vector<nanoseconds>{60ms, 60ms}));
}

TEST(Backoff, AHugeFactorDoesNotOverflow) {
  const auto waits = draw({.first = 1h, .limit = 24h * 365, .factor = 1e30, .jitter = 0.0}, 1, 3);
  EXPECT_EQ(waits, (std::vector<nanoseconds>{1h, 24h * 365, 24h * 365}));
}

TEST(Backoff, JitterTakesAtMostItsShareAway) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (const nanoseconds wait : draw({.first = 100ms, .limit = 100ms, .factor = 2.0, .jitter = 0.2}, seed, 20)) {
      EXPECT_LE(wait, 100ms);
      EXPECT_GE(wait, 80ms);
    }
  }
}

TEST(Backoff, TheSameSeedGivesTheSameWaitsAndAnotherSeedOthers) {
  const Backoff::Options options;
  EXPECT_EQ(draw(options, 7, 20), draw(options, 7, 20));
  EXPECT_NE(draw(options, 7, 20), draw(options, 8, 20));
}

TEST(Backoff, ResetBeginsAgainWithTheFirstWait) {
  FakeClock clock;
  Random random(1);
  Backoff backoff({.first = 10ms, .limit = 1s, .factor = 2.0, .jitter = 0.0}, clock, random);
  EXPECT_EQ(backoff.next(), 10ms);
  EXPECT_EQ(backoff.next(), 20ms);
  backoff.reset();
  EXPECT_EQ(backoff.next(), 10ms);
}

TEST(Backoff, WaitsOnTheClockItWasGivenAndHearsAStop) {
  Loop loop;
  FakeClock clock;
  Random random(1);
  Backoff backoff({.first = 10ms, .limit = 1s, .factor = 2.0, .jitter = 0.0}, clock, random);
  std::vector<Code> codes;
  auto waiter = [](Backoff* on, std::vector<Code>* into) -> asio::awaitable<Status> {
    for (int at = 0; at < 2; ++at) {
      const Status waited = co_await on->wait();
      into->push_back(waited.code());
    }
    co_return Status();
  };
  Scope scope(loop.executor());
  scope.spawn(waiter(&backoff, &codes));
  loop.drain();
  clock.advance(10ms);
  loop.drain();
  scope.stop();
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_EQ(codes, (std::vector<Code>{Code::kOk, Code::kCancelled}));
}

}  // namespace
}  // namespace sluice::io
