#include "joins_fixture.h"

#include "../../support/log_lines.h"

#include <gmock/gmock.h>

namespace sluice {
namespace {

using namespace joins_test;
using ::testing::HasSubstr;
using Counted = std::map<Pair, int>;

// Goal: case S31, and who is matched or given up exactly at the bounds.
// Method: the operator called directly, a watermark by hand behind every record.
struct S31 {
  explicit S31(EventDuration within) : join(interval_join<JoinKind::kLeft>(-within, within), 1) {
    left({1, 101}, 0);
    left({2, 102}, 0);
    right({1, 201}, 2'000);
    right({1, 202}, 2'000);
    right({1, 203}, 2'000);
    right({2, 204}, 2'000);
    before_the_rest = join.counted();
    left({9, 109}, 60'000);
    right({9, 209}, 60'000);
    EXPECT_TRUE(join.end().ok());
  }
  void left(Row item, std::int64_t ms) {
    EXPECT_TRUE(join.left(item, at(ms)).ok());
    newest_left = ms;
    EXPECT_TRUE(join.watermark(at(std::min(newest_left, newest_right))).ok());
  }
  void right(Row item, std::int64_t ms) {
    EXPECT_TRUE(join.right(item, at(ms)).ok());
    newest_right = ms;
    EXPECT_TRUE(join.watermark(at(std::min(newest_left, newest_right))).ok());
  }
  std::int64_t newest_left = 0, newest_right = 0;
  Harness<Row, Row> join;
  Counted before_the_rest;
};

TEST(IntervalJoin, S31LeftJoinWithinThreeSecondsHasNoNullRow) {
  S31 run(3s);
  EXPECT_EQ(run.join.counted(), (Counted{{{101, 201}, 1}, {{101, 202}, 1}, {{101, 203}, 1}, {{102, 204}, 1}, {{109, 209}, 1}}));
  EXPECT_EQ(run.join.late(), 0u);
}
TEST(IntervalJoin, S31LeftJoinWithinOneSecondHasNullRowsOnceTheIntervalHasPassed) {
  S31 run(1s);
  EXPECT_EQ(run.before_the_rest, Counted());
  EXPECT_EQ(run.join.counted(), (Counted{{{101, 0}, 1}, {{102, 0}, 1}, {{109, 209}, 1}}));
  for (const Made& result : run.join.results) {
    if (result.ids.second == 0) {
      EXPECT_GT(result.to, at(1'000));
    }
  }
}

TEST(IntervalJoin, BothEndsOfTheIntervalBelongToIt) {
  Harness<Row, Row> join(interval_join<JoinKind::kInner>(-1s, 2s), 1);
  ASSERT_TRUE(join.left({1, 1}, at(10'000)).ok());
  std::int64_t id = 10;
  for (const std::int64_t ms : {8'999, 9'000, 12'000, 12'001}) ASSERT_TRUE(join.right({1, id++}, at(ms)).ok());
  EXPECT_EQ(join.counted(), (Counted{{{1, 11}, 1}, {{1, 12}, 1}}));
  EXPECT_EQ(join.results[0].time, at(10'000));  // The later of both.
  EXPECT_EQ(join.results[1].time, at(12'000));
}

// The watermark at the last partner's time still lets it come; one millisecond later it does not.
TEST(IntervalJoin, ARowIsGivenUpByTheFirstWatermarkBehindItsLastPartner) {
  for (const std::uint16_t shards : {1, 8}) {
    Harness<Row, Row> join(interval_join<JoinKind::kFull>(-1s, 2s), shards);
    ASSERT_TRUE(join.left({1, 1}, at(10'000)).ok());
    ASSERT_TRUE(join.right({2, 2}, at(10'000)).ok());
    ASSERT_TRUE(join.watermark(at(11'000)).ok());
    EXPECT_EQ(join.counted(), Counted());
    ASSERT_TRUE(join.watermark(at(11'001)).ok());  // The right one's last partner would have been at 11,000.
    EXPECT_EQ(join.counted(), (Counted{{{0, 2}, 1}}));
    ASSERT_TRUE(join.watermark(at(12'000)).ok());
    EXPECT_EQ(join.results.size(), 1u);
    ASSERT_TRUE(join.right({1, 3}, at(12'000)).ok());  // In time, just.
    EXPECT_EQ(join.counted(), (Counted{{{0, 2}, 1}, {{1, 3}, 1}}));
    ASSERT_TRUE(join.watermark(at(12'001)).ok());
    ASSERT_TRUE(join.end().ok());
    EXPECT_EQ(join.results.size(), 2u) << "a row that was matched must not come as unmatched too";
  }
}

TEST(IntervalJoin, AnUnmatchedRowIsNotLateForWhatFollows) {
  Harness<Row, Row> join(interval_join<JoinKind::kLeft>(-1s, 60s), 1);
  ASSERT_TRUE(join.left({1, 1}, at(0)).ok());
  ASSERT_TRUE(join.watermark(at(59'000)).ok());
  ASSERT_TRUE(join.watermark(at(61'000)).ok());
  ASSERT_EQ(join.results.size(), 1u);
  EXPECT_EQ(join.results[0].time, at(60'000));
  EXPECT_GE(join.results[0].time, join.results[0].from);
}

TEST(IntervalJoin, ALateRowIsDroppedAndCounted) {
  Harness<Row, Row> join(interval_join<JoinKind::kFull>(-3s, 3s), 1);
  ASSERT_TRUE(join.watermark(at(10'000)).ok());
  ASSERT_TRUE(join.left({1, 1}, at(9'999)).ok());
  EXPECT_EQ(join.late(), 1u);
  ASSERT_TRUE(join.right({1, 2}, at(10'000)).ok());  // At the watermark is in time.
  ASSERT_TRUE(join.end().ok());
  EXPECT_EQ(join.counted(), (Counted{{{0, 2}, 1}}));
  EXPECT_EQ(join.late(), 1u);
}

// An interval that lies behind its row: no partner can come any more when the row does.
TEST(IntervalJoin, AnIntervalInThePast) {
  Harness<Row, Row> join(interval_join<JoinKind::kFull>(-5s, -1s), 1);
  ASSERT_TRUE(join.right({1, 2}, at(9'000)).ok());
  ASSERT_TRUE(join.watermark(at(10'000)).ok());
  ASSERT_TRUE(join.left({1, 1}, at(10'500)).ok());  // 5,500 to 9,500.
  ASSERT_TRUE(join.left({2, 3}, at(10'000)).ok());
  EXPECT_EQ(join.counted(), (Counted{{{1, 2}, 1}, {{3, 0}, 1}}));
  EXPECT_EQ(join.results[1].time, at(10'000));
}

// A restore brings back what the watermark has said, though the inbox in front begins anew.
TEST(IntervalJoin, TheWatermarkIsState) {
  Harness<Row, Row> join(interval_join<JoinKind::kLeft>(-1s, 1s), 2);
  ASSERT_TRUE(join.left({1, 1}, at(0)).ok());
  ASSERT_TRUE(join.watermark(at(5'000)).ok());
  EXPECT_EQ(join.counted(), (Counted{{{1, 0}, 1}}));
  join.restart(3);
  ASSERT_TRUE(join.right({1, 2}, at(500)).ok());
  EXPECT_EQ(join.late(), 1u) << "it would be matched, and its row came as unmatched already";
  ASSERT_TRUE(join.watermark(at(1'000)).ok());
  ASSERT_TRUE(join.end().ok());
  EXPECT_EQ(join.results.size(), 1u);
}

TEST(IntervalJoin, AnotherKindOfJoinIsNotRestoredFrom) {
  const auto inner = interval_join<JoinKind::kInner>(-1s, 1s)();
  const auto outer = interval_join<JoinKind::kLeft>(-1s, 1s)();
  StateSet a, b;
  inner->declare(a);
  outer->declare(b);
  EXPECT_FALSE(b.all()[0].second->reads(a.all()[0].second->type())) << "an inner join does not know who was matched";
}

TEST(IntervalJoin, RecordsWithoutTimeAreRefused) {
  Harness<Row, Row> join(interval_join<JoinKind::kInner>(-1s, 1s), 1);
  EXPECT_THAT(join.left({1, 1}, kNoEventTime).to_string(), HasSubstr("put .watermarks(…) in front of key_by"));
  join.timed = true;
  EXPECT_THAT(join.left({1, 1}, kNoEventTime).to_string(), HasSubstr("has no event time"));
  EXPECT_THAT(join.left({1, 1}, at(INT64_MAX / 2)).to_string(), HasSubstr("another unit"));
}

TEST(IntervalJoin, TooManyRowsEndTheJobByTheNameOfTheBound) {
  const support::LogLines lines;
  Harness<Row, Row> join(interval_join<JoinKind::kInner>(-1s, 1s, {.buffered_rows_max = 10}), 1);
  Status status;
  for (std::int64_t i = 0; i < 10; ++i) {
    if (i == 7) {
      EXPECT_EQ(lines.text(), "");
    }
    ASSERT_TRUE(join.left({i, i}, at(1'000 * i)).ok());
  }
  EXPECT_EQ(lines.count("keeps 8 left and 0 right rows on shard 0, buffered_rows_max is 10"), 1) << lines.text();
  EXPECT_EQ(lines.count("buffered_rows_max"), 1) << lines.text();
  status = join.right({1, 1}, at(0));
  EXPECT_EQ(status.code(), Code::kExhausted);
  EXPECT_THAT(status.to_string(), HasSubstr("keeps 10 left and 1 right rows on shard 0, buffered_rows_max is 10"));
  // What the watermark takes away makes room.
  Harness<Row, Row> moving(interval_join<JoinKind::kInner>(-1s, 1s, {.buffered_rows_max = 1'000}), 1);
  for (std::int64_t i = 0; i < 20'000; ++i) {
    ASSERT_TRUE(moving.left({i, i}, at(10 * i)).ok());
    ASSERT_TRUE(moving.watermark(at(10 * i)).ok());
  }
}

TEST(IntervalJoin, TooManyResultsOfOneRecordEndTheJobByTheNameOfTheBound) {
  const support::LogLines lines;
  Harness<Row, Row> join(interval_join<JoinKind::kInner>(-1s, 1s, {.results_at_once_max = 50}), 1);
  for (std::int64_t i = 1; i <= 39; ++i) ASSERT_TRUE(join.left({1, i}, at(0)).ok());
  ASSERT_TRUE(join.right({1, 0}, at(0)).ok());
  EXPECT_EQ(lines.text(), "");
  for (std::int64_t i = 40; i <= 50; ++i) ASSERT_TRUE(join.left({1, i}, at(0)).ok());
  for (const int time : {1, 2}) {
    ASSERT_TRUE(join.right({1, time}, at(0)).ok());
    EXPECT_EQ(lines.count("made 50 rows at once on shard 0, results_at_once_max is 50"), 1) << "once:\n" << lines.text();
  }
  ASSERT_TRUE(join.left({1, 51}, at(0)).ok());
  const Status status = join.right({1, 1}, at(0));
  EXPECT_EQ(status.code(), Code::kExhausted);
  EXPECT_THAT(status.to_string(), HasSubstr("results_at_once_max"));
}

}  // namespace
}  // namespace sluice
