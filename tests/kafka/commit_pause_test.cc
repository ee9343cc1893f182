#include <sluice/kafka/internal/commit_pause.h>

#include <gtest/gtest.h>

namespace sluice::kafka::internal {
namespace {

using namespace std::chrono_literals;
using Clock = CommitPause::Clock;

struct CommitPauseTest : testing::Test {
  CommitPause pause;
  Clock::time_point now{1h};

  /// A transaction whose partitions are added by `requests` requests, `apart` from answer to request.
  std::chrono::microseconds transaction(int requests, Clock::duration apart) {
    for (int i = 0; i < requests; ++i) {
      if (i > 0) now += apart;
      pause.sent(now);
      pause.answered(now += 1ms);
    }
    now += 5ms;
    return pause.next();
  }
};

TEST_F(CommitPauseTest, GrowsWithARefusalAndShrinksSlowlyWithoutOne) {
  const auto first = transaction(1, 0ms);
  EXPECT_EQ(first, 1'998us);
  const auto refused = transaction(2, 20ms);
  EXPECT_EQ(refused, 2'497us);
  EXPECT_LT(transaction(1, 0ms), refused);
}

TEST_F(CommitPauseTest, PartitionsThatComeLaterAreNoRefusal) {
  const auto before = transaction(1, 0ms);
  EXPECT_LT(transaction(3, 2ms), before);
  EXPECT_LT(transaction(3, 70ms), before);
}

TEST_F(CommitPauseTest, OnlyTheFirstAnswerCanBeARefusal) {
  const auto before = transaction(1, 0ms);
  pause.sent(now);
  pause.answered(now += 1ms);
  pause.sent(now += 3ms);
  pause.answered(now += 1ms);
  pause.sent(now += 20ms);
  EXPECT_LT(pause.next(), before);
}

TEST_F(CommitPauseTest, ATransactionWithoutPartitionsTeachesNothing) {
  const auto before = transaction(1, 0ms);
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(transaction(0, 0ms), before);
}

TEST_F(CommitPauseTest, AnAnswerOfTheLastTransactionCountsForNothing) {
  const auto before = transaction(1, 0ms);
  now += 15ms;  // The next one's first request is 20 ms behind the last one's answer.
  EXPECT_LT(transaction(1, 0ms), before);
}

TEST_F(CommitPauseTest, StaysWithinItsBounds) {
  std::chrono::microseconds last{};
  for (int i = 0; i < 50; ++i) last = transaction(2, 20ms);
  EXPECT_EQ(last, CommitPause::kLongest);
  for (int i = 0; i < 10'000; ++i) last = transaction(1, 0ms);
  EXPECT_EQ(last, CommitPause::kShortest);
}

}  // namespace
}  // namespace sluice::kafka::internal
