// Goal: sliding windows are the sums of their slices, whatever size / slide, also where they begin or end within a slide.
// Method: known rows, watermarks by hand; what cannot be taken off (max) beside what can (count).
#include "window_fixture.h"

#include <boost/describe/class.hpp>

namespace sluice {
namespace {

using namespace std::chrono_literals;
using namespace window_test;
using testing::ElementsAre;

template <class R>
std::vector<std::tuple<std::int64_t, std::int64_t, R>> spans(const std::vector<Row<R>>& rows) {
  std::vector<std::tuple<std::int64_t, std::int64_t, R>> spans;
  for (const auto& row : rows) spans.emplace_back(row.start, row.end, row.value);
  return spans;
}

TEST(Sliding, ARecordIsInEachWindowThatHoldsItsTime) {
  for (const std::uint16_t shards : {1, 8}) {
    auto windows = rig<int>(sliding(10s, 5s), count(), shards);
    windows.send({{"k", 1'000, 0}, {"k", 5'000, 0}, {"k", 9'999, 0}, {"k", 10'000, 0}});
    windows.end();
    EXPECT_THAT(spans(windows.rows_in_order()),
                ElementsAre(std::tuple(-5'000, 5'000, 1u), std::tuple(0, 10'000, 3u), std::tuple(5'000, 15'000, 3u),
                            std::tuple(10'000, 20'000, 1u)));
  }
}

TEST(Sliding, TheSlideNeedNotDivideTheSize) {
  auto windows = rig<int>(sliding(10s, 4s).offset(1s), count());
  windows.send({{"k", 0, 0}, {"k", 3'000, 0}});
  windows.end();
  // Starts at 1 s and every 4 s: -7, -3, 1.
  EXPECT_THAT(spans(windows.rows_in_order()),
              ElementsAre(std::tuple(-7'000, 3'000, 1u), std::tuple(-3'000, 7'000, 2u), std::tuple(1'000, 11'000, 1u)));
}

// Early results of each window that is open, those that overlap as well; what is carried from one window to the next is not disturbed.
TEST(Sliding, EarlyResultsAreOfAllOpenWindows) {
  const auto check = [](auto described) {
    for (const std::uint16_t shards : {1, 8}) {
      auto windows = rig<std::uint64_t>(sliding(20s, 10s), described, shards, early(5s));
      windows.send("k", 1'000, 1);
      windows.watermark(1'000);
      windows.watermark(4'999);
      EXPECT_TRUE(windows.rows().empty());
      windows.watermark(5'000);
      EXPECT_THAT(spans(windows.rows()), ElementsAre(std::tuple(-10'000, 10'000, 1u), std::tuple(0, 20'000, 1u)));
      windows.send("k", 12'000, 2);
      windows.restart(2);
      windows.watermark(10'000);
      EXPECT_THAT(spans(windows.rows()),
                  ElementsAre(std::tuple(-10'000, 10'000, 1u), std::tuple(-10'000, 10'000, 1u), std::tuple(0, 20'000, 1u),
                              std::tuple(0, 20'000, 2u), std::tuple(10'000, 30'000, 1u)));
      windows.send("k", 1'000'000'000'000, 3);  // However far ahead.
      windows.watermark(15'000);
      EXPECT_EQ(windows.rows().size(), 9u);
      windows.end();
      EXPECT_EQ(windows.rows().size(), 13u);
    }
  };
  check(count());
  check(count_distinct());  // It cannot be taken off again.
}

TEST(Sliding, ALongPauseCostsNothing) {
  auto windows = rig<int>(sliding(10s, 1s), count());
  windows.send({{"k", 0, 0}, {"k", 1'000'000'000'000, 0}});
  windows.end();
  EXPECT_EQ(windows.rows().size(), 20u);
}

// A record behind the watermark is in the windows that have not spoken; it is late only when all have.
TEST(Sliding, LateForSomeWindowsCountsInTheOthers) {
  const auto check = [](auto described) {
    for (const bool restore : {false, true}) {
      auto windows = rig<std::int64_t>(sliding(10s, 2s), described);
      windows.send("k", 11'000, 1);
      windows.watermark(14'000);  // [4000, 14000) has spoken.
      windows.send("k", 7'000, 5);
      if (restore) windows.restart(2);
      windows.send("k", 4'000, 9);
      windows.send("k", 5'999, 9);
      windows.end();
      EXPECT_EQ(windows.late(), 2u);
      EXPECT_THAT(windows.late_times(), ElementsAre(4'000, 5'999));
      std::vector<std::tuple<std::int64_t, std::int64_t>> starts;
      for (const auto& row : windows.rows_in_order()) starts.emplace_back(row.start, row.value);
      // Count, or maximum: the record of 7000 is in [6000, 16000) only.
      const std::int64_t both = static_cast<std::int64_t>(windows.rows_in_order()[2].value);
      EXPECT_THAT(starts, ElementsAre(std::tuple(2'000, 1), std::tuple(4'000, 1), std::tuple(6'000, both), std::tuple(8'000, 1),
                                      std::tuple(10'000, 1)));
      EXPECT_GT(both, 1);
    }
  };
  check(count());
  check(max());
}

TEST(Sliding, AllowedLatenessSpeaksAgainForEachWindow) {
  internal::WindowOptions options;
  options.allowed_lateness = 3s;
  auto windows = rig<int>(sliding(10s, 5s), count(), 1, AtEnd(), options);
  windows.send("k", 9'000);
  windows.watermark(12'000);  // [0, 10000) has spoken.
  windows.send("k", 6'000);
  windows.watermark(13'000);
  windows.send("k", 7'000);  // [0, 10000) is closed for good, [5000, 15000) is open.
  windows.watermark(15'000);
  windows.end();
  EXPECT_THAT(spans(windows.rows_in_order()),
              ElementsAre(std::tuple(0, 10'000, 1u), std::tuple(0, 10'000, 2u), std::tuple(5'000, 15'000, 3u)));
}

struct Ride {
  std::int64_t zone = 0, cents = 0;
  double fare = 0;
  auto operator<=>(const Ride&) const = default;
};
BOOST_DESCRIBE_STRUCT(Ride, (), (zone, cents, fare))

TEST(Aggregates, OfAMember) {
  auto windows = rig<Ride>(sliding(10s, 5s), together(count(), sum(&Ride::cents), average(&Ride::cents), min(&Ride::fare),
                                                      max(&Ride::fare), count_distinct(&Ride::zone)));
  windows.send({{"k", 6'000, {1, 300, 3.0}}, {"k", 7'000, {2, 500, 5.0}}, {"k", 11'000, {1, 100, 1.0}}});
  windows.end();
  using R = std::tuple<std::uint64_t, std::int64_t, double, double, double, std::uint64_t>;
  EXPECT_THAT(spans(windows.rows_in_order()),
              ElementsAre(std::tuple(0, 10'000, R{2, 800, 400.0, 3.0, 5.0, 2}), std::tuple(5'000, 15'000, R{3, 900, 300.0, 1.0, 5.0, 2}),
                          std::tuple(10'000, 20'000, R{1, 100, 100.0, 1.0, 1.0, 1})));
}

TEST(Aggregates, TheGreatestFewOfEqualOnesTheFirst) {
  auto windows = rig<Ride>(tumbling(10s), top_n(2, &Ride::cents));
  windows.send({{"k", 0, {1, 5, 0}}, {"k", 1, {2, 7, 0}}, {"k", 2, {3, 5, 0}}, {"k", 3, {4, 7, 0}}, {"k", 4, {5, 1, 0}}});
  windows.restart(2);
  windows.end();
  ASSERT_EQ(windows.rows().size(), 1u);
  EXPECT_THAT(windows.rows()[0].value, ElementsAre(Ride{2, 7, 0}, Ride{4, 7, 0}));
}

TEST(Aggregates, WholeWindowsAndReductions) {
  const auto whole = [](const std::string& key, const Window& window, const std::vector<int>& values) {
    return key + "/" + std::to_string(window.start.time_since_epoch().count()) + "/" + std::to_string(values.size());
  };
  auto windows = rig<int>(session(10s), internal::WholeOf<std::string, int, decltype(whole)>{whole});
  windows.send({{"k", 12'000, 2}, {"k", 0, 1}});
  windows.restart(2);
  windows.send("k", 5'000, 3);
  windows.end();
  ASSERT_EQ(windows.rows().size(), 1u);
  EXPECT_EQ(windows.rows()[0].value, "k/0/3");
  const auto longest = [](const int& a, const int& b) { return std::max(a, b); };
  auto reduced = rig<int>(tumbling(10s), internal::ReduceOf<int, decltype(longest)>{longest});
  reduced.send({{"k", 0, 3}, {"k", 1, 9}, {"k", 2, 4}});
  reduced.end();
  EXPECT_EQ(reduced.rows()[0].value, 9);
}

TEST(Aggregates, SumsOfWholeNumbersWrap) {
  auto windows = rig<std::int64_t>(sliding(2s, 1s), sum());
  windows.send({{"k", 0, std::numeric_limits<std::int64_t>::max()}, {"k", 1, 1}});
  windows.end();
  EXPECT_EQ(windows.rows()[0].value, std::numeric_limits<std::int64_t>::min());
}

}  // namespace
}  // namespace sluice
