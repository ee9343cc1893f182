// Goal: a failed attempt is followed by another one exactly as often, and as late, as the restart strategy says.
// Method: manual time, no sleeping.
#include <sluice/checkpoint/restart.h>

#include <gtest/gtest.h>

namespace sluice::checkpoint {
namespace {

using namespace std::chrono_literals;
using Strategy = RestartOptions::Strategy;

TEST(Restarts, NoneGivesUpAtOnce) {
  io::FakeClock clock;
  Random random(1);
  Restarts restarts({.strategy = Strategy::kNone}, clock, random);
  EXPECT_FALSE(restarts.next(false));
}

TEST(Restarts, FixedDelayCountsFailuresInARow) {
  io::FakeClock clock;
  Random random(1);
  Restarts restarts({.strategy = Strategy::kFixedDelay, .delay = 50ms, .attempts_max = 2}, clock, random);
  EXPECT_EQ(restarts.next(false), std::optional<std::chrono::nanoseconds>(50ms));
  EXPECT_TRUE(restarts.next(false));
  EXPECT_FALSE(restarts.next(false));
}

TEST(Restarts, AnAttemptThatDecidedSomethingStartsTheCountAnew) {
  io::FakeClock clock;
  Random random(1);
  Restarts restarts({.strategy = Strategy::kFixedDelay, .delay = 1ms, .attempts_max = 1}, clock, random);
  EXPECT_TRUE(restarts.next(false));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(restarts.next(true));
  EXPECT_FALSE(restarts.next(false));
}

TEST(Restarts, ExponentialDoublesUpToItsLimitWithAtMostAQuarterOfJitter) {
  io::FakeClock clock;
  Random random(7);
  Restarts restarts({.strategy = Strategy::kExponential, .delay = 100ms, .delay_max = 1s}, clock, random);
  std::chrono::nanoseconds expected = 100ms;
  for (int i = 0; i < 8; ++i) {
    const auto wait = restarts.next(false);
    ASSERT_TRUE(wait);
    EXPECT_GE(*wait, expected);
    EXPECT_LE(*wait, expected + expected / 4);
    expected = std::min<std::chrono::nanoseconds>(expected * 2, 1s);
  }
}

TEST(Restarts, FailureRateForgetsWhatIsOlderThanItsInterval) {
  io::FakeClock clock;
  Random random(1);
  Restarts restarts({.strategy = Strategy::kFailureRate, .failures_max = 2, .interval = 1min}, clock, random);
  EXPECT_TRUE(restarts.next(false));
  EXPECT_TRUE(restarts.next(false));
  clock.advance(2min);
  EXPECT_TRUE(restarts.next(false));
  EXPECT_TRUE(restarts.next(false));
  EXPECT_FALSE(restarts.next(false));
}

}  // namespace
}  // namespace sluice::checkpoint
