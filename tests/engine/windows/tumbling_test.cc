// Goal: a record counts in exactly one window of its time or is reported late, whatever the edge, the shard, or a stop in between.
// Method: the operator of a pipeline, watermarks by hand, on one shard and on eight. Cases by their numbers in the list of cases.
#include "window_fixture.h"

#include <boost/describe/class.hpp>

namespace sluice {
namespace {

using namespace std::chrono_literals;
using namespace window_test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Rows = std::vector<Row<std::uint64_t>>;

class Tumbling : public testing::TestWithParam<int> {
 protected:
  [[nodiscard]] std::uint16_t shards() const { return static_cast<std::uint16_t>(GetParam()); }
  /// Records of a key, a watermark behind each: the greatest time so far less the disorder.
  template <class R>
  void feed(Rig<int, R>& windows, std::vector<std::pair<std::string, std::int64_t>> records, std::int64_t disorder,
            std::int64_t guard = -1) {
    for (const auto& [key, time] : records) {
      windows.send(key, time);
      if (guard >= 0 && time > latest_ + guard) continue;  // A jump that the watermark does not follow.
      latest_ = std::max(latest_, time);
      windows.watermark(latest_ - disorder);
    }
  }
  std::int64_t latest_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Shards, Tumbling, testing::Values(1, 8));

// S22: the rows of its two stages; b@3000 comes when the quiet partition has been left out.
TEST_P(Tumbling, AQuietPartitionsRecordIsLateOnceItWasLeftOut) {
  auto windows = rig<int>(tumbling(60s), count(), shards());
  windows.send({{"a", 1'000, 0}, {"a", 30'000, 0}, {"a", 61'000, 0}, {"a", 125'000, 0}, {"b", 2'000, 0}});
  windows.watermark(2'000);
  EXPECT_THAT(windows.rows(), IsEmpty());
  windows.watermark(125'000);
  const Rows first{{"a", 0, 60'000, 2, 59'999}, {"a", 60'000, 120'000, 1, 119'999}, {"b", 0, 60'000, 1, 59'999}};
  EXPECT_EQ(windows.rows(), first);
  windows.send("b", 3'000);
  windows.watermark(125'000);
  EXPECT_EQ(windows.rows(), first);
  EXPECT_EQ(windows.late(), 1u);
  EXPECT_THAT(windows.late_times(), ElementsAre(3'000));
}

// S23: nothing is late after a pause that moved no watermark.
TEST_P(Tumbling, APauseSaysNothingAboutTime) {
  auto windows = rig<int>(tumbling(10s), count(), shards());
  feed(windows, {{"a", 1'000}, {"a", 2'000}, {"a", 3'000}, {"a", 4'000}, {"a", 5'000}, {"a", 20'000}}, 0);
  EXPECT_EQ(windows.rows(), (Rows{{"a", 0, 10'000, 5, 9'999}}));
  EXPECT_EQ(windows.late(), 0u);
}

std::vector<std::pair<std::string, std::int64_t>> clock_a_day_ahead() {
  std::vector<std::pair<std::string, std::int64_t>> records{{"d1", 0}, {"d1", 120'000}, {"d2", 86'520'000}};
  for (int i = 3; i <= 12; ++i) records.emplace_back("d1", i * 60'000);
  return records;
}
// S24: one clock a day ahead; without a guard ten records are late, and it is said.
TEST_P(Tumbling, AClockADayAheadMakesOthersLate) {
  auto windows = rig<int>(tumbling(1min), count(), shards());
  feed(windows, clock_a_day_ahead(), 60'000);
  windows.end();
  EXPECT_EQ(windows.rows(), (Rows{{"d1", 0, 60'000, 1, 59'999},
                                  {"d1", 120'000, 180'000, 1, 179'999},
                                  {"d2", 86'520'000, 86'580'000, 1, 86'579'999}}));
  EXPECT_EQ(windows.late(), 10u);
}
TEST_P(Tumbling, AGuardedClockADayAheadMakesNobodyLate) {
  auto windows = rig<int>(tumbling(1min), count(), shards());
  feed(windows, clock_a_day_ahead(), 60'000, 3'600'000);
  windows.end();
  EXPECT_EQ(windows.rows().size(), 13u);
  for (const auto& row : windows.rows()) EXPECT_EQ(row.value, 1u);
  EXPECT_EQ(windows.late(), 0u);
}

// S26: half-open windows; equal to the watermark is on time.
TEST_P(Tumbling, OnTheEdge) {
  auto windows = rig<int>(tumbling(60s), count(), shards());
  feed(windows, {{"k", 59'999}, {"k", 60'000}, {"k", 60'000}, {"k", 59'999}}, 0);
  windows.end();
  EXPECT_EQ(windows.rows(), (Rows{{"k", 0, 60'000, 1, 59'999}, {"k", 60'000, 120'000, 2, 119'999}}));
  EXPECT_EQ(windows.late(), 1u);
}

// S28: the end of the input closes all; without it the last window waits.
TEST_P(Tumbling, TheEndOfTheInputClosesAll) {
  auto windows = rig<int>(tumbling(60s), count(), shards());
  feed(windows, {{"k", 1'000}, {"k", 2'000}, {"k", 61'000}}, 0);
  EXPECT_EQ(windows.rows(), (Rows{{"k", 0, 60'000, 2, 59'999}}));
  EXPECT_EQ(windows.open(), 1u);
  windows.end();
  EXPECT_EQ(windows.rows(), (Rows{{"k", 0, 60'000, 2, 59'999}, {"k", 60'000, 120'000, 1, 119'999}}));
  EXPECT_EQ(windows.open(), 0u);
}

// S32: old data is counted as old, and its rows can be counted again by the time that they have.
TEST_P(Tumbling, OldDataStaysOld) {
  constexpr std::int64_t kStart = 1'577'836'800'000;
  auto minutes = rig<int>(tumbling(1min), count(), shards());
  for (int n = 0; n < 10; ++n) feed(minutes, {{"k", kStart + n * 30'000}}, 0);
  minutes.end();
  ASSERT_EQ(minutes.rows().size(), 5u);
  auto hours = rig<int>(tumbling(1h), count(), shards());
  for (const auto& row : minutes.rows()) {
    EXPECT_EQ(row.value, 2u);
    EXPECT_EQ(row.time, row.end - 1);
    hours.send("k", row.time);
  }
  EXPECT_EQ(minutes.rows().front().start, kStart);
  hours.end();
  EXPECT_EQ(hours.rows(), (Rows{{"k", kStart, kStart + 3'600'000, 5, kStart + 3'599'999}}));
}

// S27: one partition a day ahead of another; nothing is late, and how many windows wait can be seen.
TEST_P(Tumbling, CatchingUpIsNotLate) {
  auto windows = rig<int>(tumbling(1min), count(), shards());
  std::uint64_t most = 0;
  for (int partition = 0; partition < 2; ++partition) {
    for (int minute = 0; minute < 1'440; ++minute) {
      std::vector<std::tuple<std::string, std::int64_t, int>> batch;
      for (int second = 0; second < 60; ++second) batch.push_back({"k", (minute * 60 + second) * 1'000, 0});
      windows.send(std::move(batch));
      if (partition == 1) windows.watermark((minute * 60 + 59) * 1'000);  // The lower of the two.
      most = std::max(most, windows.open());
    }
  }
  windows.end();
  ASSERT_EQ(windows.rows().size(), 1'440u);
  for (const auto& row : windows.rows()) EXPECT_EQ(row.value, 120u);
  EXPECT_EQ(windows.late(), 0u);
  EXPECT_EQ(most, 1'440u);
}

TEST_P(Tumbling, TimesBefore1970HaveWindowsToo) {
  auto windows = rig<int>(tumbling(60s), count(), shards());
  windows.send({{"k", -1, 0}, {"k", -60'000, 0}, {"k", -60'001, 0}, {"k", 0, 0}});
  windows.end();
  EXPECT_EQ(windows.rows(), (Rows{{"k", -120'000, -60'000, 1, -60'001}, {"k", -60'000, 0, 2, -1}, {"k", 0, 60'000, 1, 59'999}}));
}

TEST_P(Tumbling, AnOffsetMovesTheEdges) {
  auto windows = rig<int>(tumbling(24h).offset(6h), count(), shards());
  windows.send({{"k", 0, 0}, {"k", 6 * 3'600'000 - 1, 0}, {"k", 6 * 3'600'000, 0}});
  windows.end();
  EXPECT_EQ(windows.rows(), (Rows{{"k", -18 * 3'600'000, 6 * 3'600'000, 2, 6 * 3'600'000 - 1},
                                  {"k", 6 * 3'600'000, 30 * 3'600'000, 1, 30 * 3'600'000 - 1}}));
}

// Goal: the watermark is state. A restored operator does not answer a closed window again, and what was on time stays on time.
TEST_P(Tumbling, ARestoreKnowsTheWatermark) {
  auto windows = rig<int>(tumbling(60s), count(), shards());
  windows.send({{"k", 1'000, 0}, {"k", 61'000, 0}});
  windows.watermark(60'000);
  windows.restart(3);
  windows.send({{"k", 2'000, 0}, {"k", 62'000, 0}});
  windows.restart(shards());
  windows.watermark(59'000);  // The sources begin anew; what was seen is not unseen.
  windows.watermark(120'000);
  EXPECT_EQ(windows.rows(), (Rows{{"k", 0, 60'000, 1, 59'999}, {"k", 60'000, 120'000, 2, 119'999}}));
  EXPECT_EQ(windows.late(), 1u);
}

TEST_P(Tumbling, AllowedLatenessSpeaksAgainUntilItIsOver) {
  internal::WindowOptions options;
  options.allowed_lateness = 30s;
  auto windows = rig<int>(tumbling(60s), count(), shards(), AtEnd(), options);
  windows.send("k", 1'000);
  windows.watermark(60'000);
  windows.send("k", 2'000);
  windows.watermark(89'999);
  windows.restart(2);
  windows.send("k", 3'000);
  windows.watermark(90'000);
  windows.send("k", 4'000);
  windows.end();
  EXPECT_EQ(windows.rows(), (Rows{{"k", 0, 60'000, 1, 59'999}, {"k", 0, 60'000, 2, 59'999}, {"k", 0, 60'000, 3, 59'999}}));
  EXPECT_EQ(windows.late(), 1u);
  EXPECT_EQ(windows.open(), 0u);
}

TEST_P(Tumbling, EarlyResultsComeWithEventTime) {
  auto windows = rig<int>(tumbling(60s), count(), shards(), early(20s));
  windows.send("k", 1'000);
  windows.watermark(1'000);
  windows.watermark(19'999);
  EXPECT_THAT(windows.rows(), IsEmpty());
  windows.watermark(20'000);
  windows.send("k", 21'000);
  windows.restart(2);
  windows.watermark(45'000);
  windows.watermark(50'000);
  windows.watermark(60'000);
  EXPECT_EQ(windows.rows(), (Rows{{"k", 0, 60'000, 1, 59'999}, {"k", 0, 60'000, 2, 59'999}, {"k", 0, 60'000, 2, 59'999}}));
}

TEST_P(Tumbling, ACountTriggerSpeaksEveryFewRecordsAndOfTheRest) {
  auto windows = rig<int>(tumbling(60s), count(), shards(), every(2));
  for (int i = 0; i < 5; ++i) {
    windows.send("k", i * 1'000);
    windows.restart(static_cast<std::uint16_t>(1 + i % 3));
  }
  windows.send({{"m", 1'000, 0}, {"m", 2'000, 0}});
  windows.watermark(60'000);
  EXPECT_EQ(windows.rows(), (Rows{{"k", 0, 60'000, 2, 59'999},
                                  {"k", 0, 60'000, 4, 59'999},
                                  {"k", 0, 60'000, 5, 59'999},
                                  {"m", 0, 60'000, 2, 59'999}}));
}

TEST_P(Tumbling, AGlobalWindowOfThreeRecordsAtATime) {
  auto windows = rig<int>(global(), sum(), shards(), every(3).purging());
  for (int i = 1; i <= 8; ++i) windows.send("k", i, i);
  windows.watermark(1'000'000);
  std::vector<std::int64_t> sums, times;
  for (const auto& row : windows.rows_in_order()) {
    sums.push_back(row.value);
    times.push_back(row.time);
  }
  EXPECT_THAT(sums, ElementsAre(1 + 2 + 3, 4 + 5 + 6));
  EXPECT_THAT(times, ElementsAre(3, 6));
  windows.end();
  EXPECT_EQ(windows.rows_in_order().back().value, 7 + 8);
  EXPECT_EQ(windows.rows_in_order().size(), 3u);
}

TEST(TumblingErrors, ARecordWithoutTimeNamesOperatorAndRemedy) {
  auto windows = rig<int>(tumbling(60s), count());
  windows.send("k", kNoEventTime.time_since_epoch().count());
  EXPECT_EQ(windows.status().code(), Code::kInvalid);
  EXPECT_THAT(std::string(windows.status().message()), testing::AllOf(HasSubstr("\"windows\""), HasSubstr("watermarks()")));
  windows.end();
  EXPECT_THAT(windows.rows(), IsEmpty());
  auto sessions = rig<int>(session(60s), count());
  sessions.send("k", kNoEventTime.time_since_epoch().count());
  EXPECT_THAT(std::string(sessions.status().message()), HasSubstr("watermarks()"));
}

TEST(TumblingErrors, NanosecondsAreNotMilliseconds) {
  for (const std::int64_t time : {std::int64_t{1'700'000'000'000'000'000}, std::int64_t{1'700'000'000'000'000},
                                  -std::int64_t{1'700'000'000'000'000'000}}) {
    auto windows = rig<int>(tumbling(60s), count());
    windows.send("k", time);
    EXPECT_EQ(windows.status().code(), Code::kInvalid);
    EXPECT_THAT(std::string(windows.status().message()), HasSubstr("another unit"));
  }
}

TEST(TumblingErrors, MoreKeysThanTheLimitNameTheWayOut) {
  internal::WindowOptions options;
  options.keys_max = 10;
  auto windows = rig<int>(tumbling(60s), count(), 1, AtEnd(), options);
  for (int i = 0; i < 10; ++i) windows.send(std::to_string(i), i * 1'000);
  EXPECT_TRUE(windows.status().ok());
  windows.watermark(60'000);  // Closed windows make room.
  for (int i = 0; i < 10; ++i) windows.send(std::to_string(i), 60'000 + i * 1'000);
  EXPECT_TRUE(windows.status().ok()) << windows.status().to_string();
  windows.send("one more", 60'000);
  EXPECT_EQ(windows.status().code(), Code::kExhausted);
  EXPECT_THAT(std::string(windows.status().message()), HasSubstr("limit_keys()"));
}

TEST(TumblingErrors, ValuesOfAWholeWindowCountForTheLimit) {
  internal::WindowOptions options;
  options.keys_max = 10;
  auto windows = rig<int>(tumbling(60s), count_distinct(), 1, AtEnd(), options);
  for (int i = 0; i < 9; ++i) windows.send("k", 0, i);
  windows.send("k", 0, 0);
  EXPECT_TRUE(windows.status().ok());
  windows.send("k", 0, 10);
  EXPECT_EQ(windows.status().code(), Code::kExhausted);
}

TEST(TumblingErrors, StateOfOtherWindowsIsRefused) {
  auto written = windows<int>(tumbling(60s), count())();
  auto read = windows<int>(tumbling(30s), count())();
  StateSet from, into;
  written->declare(from);
  read->declare(into);
  Context context;
  context.operator_id = "windows";
  CheckpointData checkpoint;
  checkpoint.states.push_back({"windows", "slices", from.all()[0].second->type(), ShardId(0), {}});
  const Status status = internal::restore_states(into, checkpoint, context);
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_THAT(std::string(status.message()), testing::AllOf(HasSubstr("tumbling 60000 ms"), HasSubstr("tumbling 30000 ms")));
}

TEST(TumblingErrors, WindowsThatCannotBeAreRefused) {
  EXPECT_EQ(tumbling(0s).check().code(), Code::kInvalid);
  EXPECT_EQ(tumbling(-1s).check().code(), Code::kInvalid);
  EXPECT_EQ(sliding(10s, 0s).check().code(), Code::kInvalid);
  EXPECT_THAT(std::string(sliding(10s, 11s).check().message()), HasSubstr("would be in none"));
  EXPECT_EQ(session(0s).check().code(), Code::kInvalid);
  EXPECT_EQ(every(0).check().code(), Code::kInvalid);
  EXPECT_EQ(early(0s).check().code(), Code::kInvalid);
  EXPECT_TRUE(tumbling(1h).offset(-30min).check().ok());
}

}  // namespace
}  // namespace sluice
