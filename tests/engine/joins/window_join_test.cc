#include "joins_fixture.h"

#include "../../support/log_lines.h"

#include <gmock/gmock.h>

namespace sluice {
namespace {

using namespace joins_test;
using ::testing::HasSubstr;
using Counted = std::map<Pair, int>;

// Goal: which window a row is in, when a window's rows are made, and which are made.
// Method: the operator called directly, the watermark by hand.
TEST(WindowJoin, WindowsAreHalfOpenAndMakeTheirRowsAtTheirEnd) {
  for (const std::uint16_t shards : {1, 8}) {
    Harness<Row, Row> join(window_join<JoinKind::kFull>(10s, 10s), shards);
    ASSERT_TRUE(join.left({1, 1}, at(0)).ok());
    ASSERT_TRUE(join.left({1, 2}, at(9'999)).ok());
    ASSERT_TRUE(join.right({1, 3}, at(9'999)).ok());
    ASSERT_TRUE(join.right({1, 4}, at(10'000)).ok());  // The next one's.
    ASSERT_TRUE(join.left({2, 5}, at(-1)).ok());       // The one before 1970.
    ASSERT_TRUE(join.watermark(at(-1)).ok());
    EXPECT_EQ(join.results.size(), 0u);
    ASSERT_TRUE(join.watermark(at(0)).ok());
    EXPECT_EQ(join.counted(), (Counted{{{5, 0}, 1}}));
    ASSERT_TRUE(join.watermark(at(9'999)).ok());
    EXPECT_EQ(join.results.size(), 1u);
    ASSERT_TRUE(join.watermark(at(10'000)).ok());
    EXPECT_EQ(join.counted(), (Counted{{{5, 0}, 1}, {{1, 3}, 1}, {{2, 3}, 1}}));
    EXPECT_EQ(join.results.back().time, at(9'999));
    ASSERT_TRUE(join.end().ok());
    EXPECT_EQ(join.counted(), (Counted{{{5, 0}, 1}, {{1, 3}, 1}, {{2, 3}, 1}, {{0, 4}, 1}}));
    EXPECT_EQ(join.late(), 0u);
  }
}

TEST(WindowJoin, ARowIsLateWhenAllOfItsWindowsAreDone) {
  Harness<Row, Row> join(window_join<JoinKind::kLeft>(10s, 5s), 1);
  ASSERT_TRUE(join.watermark(at(10'000)).ok());
  ASSERT_TRUE(join.left({1, 1}, at(4'999)).ok());  // In [-5, 5) and [0, 10).
  EXPECT_EQ(join.late(), 1u);
  ASSERT_TRUE(join.left({1, 2}, at(5'000)).ok());  // In [0, 10), which is done, and [5, 15).
  EXPECT_EQ(join.late(), 1u);
  ASSERT_TRUE(join.end().ok());
  EXPECT_EQ(join.counted(), (Counted{{{2, 0}, 1}}));
}

// A window that was made does not come again behind a restore.
TEST(WindowJoin, AWindowComesOnceWhateverTheRestart) {
  Harness<Row, Row> join(window_join<JoinKind::kInner>(10s, 5s), 1);
  ASSERT_TRUE(join.left({1, 1}, at(6'000)).ok());
  ASSERT_TRUE(join.right({1, 2}, at(7'000)).ok());
  ASSERT_TRUE(join.watermark(at(10'000)).ok());  // [0, 10).
  EXPECT_EQ(join.counted(), (Counted{{{1, 2}, 1}}));
  for (const std::uint16_t shards : {8, 1, 3}) {
    join.restart(shards);
    ASSERT_TRUE(join.watermark(at(9'000)).ok());
    ASSERT_TRUE(join.watermark(at(14'999)).ok());
    EXPECT_EQ(join.counted(), (Counted{{{1, 2}, 1}}));
  }
  ASSERT_TRUE(join.watermark(at(15'000)).ok());  // [5, 15).
  ASSERT_TRUE(join.end().ok());
  EXPECT_EQ(join.counted(), (Counted{{{1, 2}, 2}}));
}

TEST(WindowJoin, AKeyWithManyRowsOnBothSidesEndsTheJobByTheNameOfTheBound) {
  Harness<Row, Row> join(window_join<JoinKind::kInner>(10s, 10s, {}, {.results_at_once_max = 1'000}), 1);
  for (std::int64_t i = 1; i <= 100; ++i) {
    ASSERT_TRUE(join.left({1, i}, at(i)).ok());
    ASSERT_TRUE(join.right({1, i}, at(i)).ok());
  }
  const Status status = join.watermark(at(10'000));
  EXPECT_EQ(status.code(), Code::kExhausted);
  EXPECT_THAT(status.to_string(), HasSubstr("results_at_once_max"));
  EXPECT_LT(join.results.size(), 1'000u);
}

TEST(WindowJoin, BoundsAreWarnedOfBeforeTheyAreReached) {
  const support::LogLines lines;
  Harness<Row, Row> join(window_join<JoinKind::kInner>(10s, 10s, {}, {.buffered_rows_max = 20, .results_at_once_max = 100}), 1);
  for (std::int64_t i = 1; i <= 9; ++i) {
    EXPECT_EQ(lines.count("buffered_rows_max is 20"), i == 9 ? 1 : 0) << lines.text();
    ASSERT_TRUE(join.left({1, i}, at(i)).ok());
    ASSERT_TRUE(join.right({1, i}, at(i)).ok());
  }
  ASSERT_TRUE(join.watermark(at(10'000)).ok());
  EXPECT_EQ(lines.count("made 81 rows at once on shard 0, results_at_once_max is 100"), 1) << lines.text();
  Status full;
  for (std::int64_t i = 1; i <= 21 && full.ok(); ++i) full = join.left({i, i}, at(10'000 + i));
  EXPECT_EQ(full.code(), Code::kExhausted);
  EXPECT_THAT(full.to_string(), HasSubstr("raise buffered_rows_max"));
}

}  // namespace
}  // namespace sluice
