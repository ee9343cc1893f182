// Goal: sessions depend on the times of records, never on when they arrive or where the job stopped; two of a key never overlap.
// Method: the operator of a pipeline, watermarks by hand, on one shard and on eight. Cases by their numbers in the list of cases.
#include "window_fixture.h"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using namespace window_test;
using testing::ElementsAre;
using testing::IsEmpty;
using Rows = std::vector<Row<std::uint64_t>>;

class Sessions : public testing::TestWithParam<int> {
 protected:
  [[nodiscard]] std::uint16_t shards() const { return static_cast<std::uint16_t>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Shards, Sessions, testing::Values(1, 8));

// S29: the same rows in all four runs. A record exactly one gap after another begins a session of its own.
TEST_P(Sessions, DoNotDependOnArrival) {
  const Rows expected{{"k", 1'000, 3'000, 1, 2'999}, {"k", 3'000, 5'000, 1, 4'999}, {"k", 5'001, 7'001, 1, 7'000}};
  struct Run {
    std::vector<std::int64_t> times;
    std::int64_t disorder;
    bool restore;
  };
  const Run runs[] = {{{1'000, 3'000, 5'001}, 0, false},
                      {{1'000, 3'000, 5'001}, 10'000, false},
                      {{5'001, 3'000, 1'000}, 10'000, false},
                      {{1'000, 3'000, 5'001}, 0, true},
                      {{5'001, 3'000, 1'000}, 10'000, true}};
  for (const Run& run : runs) {
    auto sessions = rig<int>(session(2s), count(), shards());
    std::int64_t latest = 0;
    for (const std::int64_t time : run.times) {
      sessions.send("k", time);
      latest = std::max(latest, time);
      sessions.watermark(latest - run.disorder);
      if (run.restore) sessions.restart(static_cast<std::uint16_t>(sessions.count() % 3 + 1));
    }
    sessions.end();
    EXPECT_EQ(sessions.rows(), expected) << run.disorder << " " << run.restore;
    EXPECT_EQ(sessions.late(), 0u);
    EXPECT_EQ(sessions.open(), 0u);
  }
}

TEST_P(Sessions, ACountTriggerSpeaksOfTheSessionSoFar) {
  const auto check = [&](auto trigger, const Rows& expected) {
    auto sessions = rig<int>(session(10s), count(), shards(), trigger);
    for (int i = 0; i < 5; ++i) {
      sessions.send("k", i * 1'000);
      sessions.restart(static_cast<std::uint16_t>(1 + i % 3));
    }
    sessions.send({{"m", 0, 0}, {"m", 20'000, 0}, {"m", 10'000, 0}, {"m", 21'000, 0}});  // The third is a session of its own.
    sessions.end();
    EXPECT_EQ(sessions.rows(), expected);
    EXPECT_EQ(sessions.open(), 0u);
  };
  const Row<std::uint64_t> m1{"m", 0, 10'000, 1, 9'999}, m2{"m", 10'000, 20'000, 1, 19'999}, m3{"m", 20'000, 31'000, 2, 30'999};
  check(every(2), {{"k", 0, 11'000, 2, 10'999}, {"k", 0, 13'000, 4, 12'999}, {"k", 0, 14'000, 5, 13'999}, m1, m2, m3});
  check(every(2).purging(), {{"k", 0, 11'000, 2, 10'999}, {"k", 0, 13'000, 2, 12'999}, {"k", 0, 14'000, 1, 13'999}, m1, m2, m3});
}

TEST_P(Sessions, EarlyResultsAreOfWhatHasComeSoFar) {
  auto sessions = rig<int>(session(10s), count(), shards(), early(5s));
  sessions.send("k", 0);
  sessions.watermark(1'000);
  EXPECT_THAT(sessions.rows(), IsEmpty());
  sessions.watermark(5'000);
  sessions.send({{"k", 6'000, 0}, {"k", 30'000, 0}});
  sessions.restart(2);
  sessions.watermark(10'000);
  sessions.watermark(16'000);
  EXPECT_EQ(sessions.rows(), (Rows{{"k", 0, 10'000, 1, 9'999},
                                   {"k", 0, 16'000, 2, 15'999},
                                   {"k", 0, 16'000, 2, 15'999},
                                   {"k", 30'000, 40'000, 1, 39'999},
                                   {"k", 30'000, 40'000, 1, 39'999}}));
}

// S30, file A: a record between two open sessions makes them one.
TEST_P(Sessions, ARecordBridgesTwo) {
  for (const bool restore : {false, true}) {
    auto sessions = rig<int>(session(12s), count(), shards());
    sessions.send("k", 0);
    sessions.watermark(-30'000);
    sessions.send("k", 20'000);
    sessions.watermark(-10'000);
    if (restore) sessions.restart(2);
    EXPECT_EQ(sessions.open(), 2u);
    sessions.send("k", 9'000);
    EXPECT_EQ(sessions.open(), 1u);
    sessions.end();
    EXPECT_EQ(sessions.rows(), (Rows{{"k", 0, 32'000, 3, 31'999}}));
  }
}

// S30, file B: a late record that reaches into a session which has spoken is late, also after a restore.
TEST_P(Sessions, NothingOverlapsOneThatHasSpoken) {
  for (const bool restore : {false, true}) {
    auto sessions = rig<int>(session(5s), count(), shards());
    sessions.send("k", 0);
    sessions.watermark(0);
    sessions.send("other", 6'000);
    sessions.watermark(6'000);
    if (restore) sessions.restart(3);
    sessions.send("k", 3'000);
    sessions.end();
    EXPECT_EQ(sessions.rows(), (Rows{{"k", 0, 5'000, 1, 4'999}, {"other", 6'000, 11'000, 1, 10'999}}));
    EXPECT_EQ(sessions.late(), 1u);
    EXPECT_THAT(sessions.late_times(), ElementsAre(3'000));
  }
}

// The same where the next session of the key is open: the record lies in reach of both.
TEST_P(Sessions, ALateRecordBetweenAClosedAndAnOpenOneIsLate) {
  auto sessions = rig<int>(session(5s), count(), shards());
  sessions.send({{"k", 0, 0}, {"k", 7'000, 0}});
  sessions.watermark(6'000);
  sessions.send("k", 3'000);   // [3000, 8000): overlaps [0, 5000), which has spoken.
  sessions.send("k", 5'000);   // [5000, 10000): behind the watermark, but joins [7000, 12000).
  sessions.end();
  EXPECT_EQ(sessions.rows(), (Rows{{"k", 0, 5'000, 1, 4'999}, {"k", 5'000, 12'000, 2, 11'999}}));
  EXPECT_EQ(sessions.late(), 1u);
}

TEST_P(Sessions, GoOnAsLongAsRecordsCome) {
  auto sessions = rig<int>(session(10s), count(), shards());
  for (int i = 0; i < 100; ++i) {
    sessions.send("k", i * 9'000);
    sessions.watermark(i * 9'000);
    if (i % 10 == 0) sessions.restart(static_cast<std::uint16_t>(1 + i % 4));
  }
  EXPECT_THAT(sessions.rows(), IsEmpty());
  sessions.watermark(99 * 9'000 + 9'999);
  EXPECT_THAT(sessions.rows(), IsEmpty());
  sessions.watermark(99 * 9'000 + 10'000);
  EXPECT_EQ(sessions.rows(), (Rows{{"k", 0, 901'000, 100, 900'999}}));
}

TEST_P(Sessions, AllowedLatenessSpeaksAgain) {
  internal::WindowOptions options;
  options.allowed_lateness = 10s;
  auto sessions = rig<int>(session(5s), count(), shards(), AtEnd(), options);
  sessions.send("k", 0);
  sessions.watermark(6'000);
  sessions.restart(2);
  sessions.send("k", 3'000);  // [0, 8000) again, still open.
  sessions.watermark(9'000);
  sessions.send("k", 1'000);
  sessions.watermark(18'000);
  sessions.send("k", 2'000);
  sessions.end();
  EXPECT_EQ(sessions.rows(), (Rows{{"k", 0, 5'000, 1, 4'999}, {"k", 0, 8'000, 2, 7'999}, {"k", 0, 8'000, 3, 7'999}}));
  EXPECT_EQ(sessions.late(), 1u);
  EXPECT_EQ(sessions.open(), 0u);
}

}  // namespace
}  // namespace sluice
