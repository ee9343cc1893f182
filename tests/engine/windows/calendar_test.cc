// Goal: days, weeks and months are those of the zone, summer time included; a zone that nobody knows is named with one that exists.
// Method: S34's exact rows; dates of which the answers are known from elsewhere (date(1), Wikipedia).
#include "window_fixture.h"

#include <sluice/engine/windows/calendar.h>

namespace sluice {
namespace {

using namespace std::chrono_literals;
using namespace window_test;
using testing::ElementsAre;
using testing::HasSubstr;
using Starts = std::vector<std::pair<std::int64_t, std::uint64_t>>;

constexpr std::int64_t kHour = 3'600'000;

template <class Assigner>
Starts starts_of_s34(Assigner assigner, std::uint16_t shards) {
  auto windows = rig<int>(std::move(assigner), count(), shards);
  for (int n = 0; n < 71; ++n) {
    windows.send("k", 1'709'960'400'000 + n * kHour);
    if (n == 30) windows.restart(2);
  }
  windows.end();
  Starts starts;
  for (const auto& row : windows.rows()) starts.emplace_back(row.start, row.value);
  return starts;
}

// S34.
TEST(CalendarWindows, ADayIsNotAlways24Hours) {
  for (const std::uint16_t shards : {1, 8}) {
    EXPECT_EQ(starts_of_s34(tumbling(std::chrono::days(1), "America/New_York"), shards),
              (Starts{{1'709'960'400'000, 24}, {1'710'046'800'000, 23}, {1'710'129'600'000, 24}}));
    const Starts utc{{1'709'942'400'000, 19}, {1'710'028'800'000, 24}, {1'710'115'200'000, 24}, {1'710'201'600'000, 4}};
    EXPECT_EQ(starts_of_s34(tumbling(24h), shards), utc);
    EXPECT_EQ(starts_of_s34(tumbling(std::chrono::days(1), "UTC"), shards), utc);
    for (const auto& [start, records] : starts_of_s34(tumbling(std::chrono::days(1), "Asia/Kolkata"), shards)) {
      EXPECT_EQ(((start % (24 * kHour)) + 24 * kHour) % (24 * kHour), 18 * kHour + kHour / 2) << start;
    }
  }
}

Window window_of(Calendar calendar, std::int64_t seconds) { return calendar.slice(at(seconds * 1'000)); }
std::pair<std::int64_t, std::int64_t> seconds_of(const Window& window) {
  return {window.start.time_since_epoch().count() / 1'000, window.end.time_since_epoch().count() / 1'000};
}

TEST(CalendarWindows, WeeksBeginOnMondayMonthsOnTheFirst) {
  // 2024-03-31, a Sunday: summer time begins in Berlin; the week is an hour short.
  const auto week = seconds_of(window_of(tumbling(std::chrono::weeks(1), "Europe/Berlin"), 1'711'879'200));
  EXPECT_EQ(week, (std::pair<std::int64_t, std::int64_t>(1'711'321'200, 1'711'922'400)));
  EXPECT_EQ(week.second - week.first, 7 * 86'400 - 3'600);
  // March 2024 there: from 2024-02-29T23:00Z to 2024-03-31T22:00Z.
  EXPECT_EQ(seconds_of(window_of(tumbling(std::chrono::months(1), "Europe/Berlin"), 1'711'879'200)),
            (std::pair<std::int64_t, std::int64_t>(1'709'247'600, 1'711'922'400)));
  // Its quarter begins on New Year's Day.
  EXPECT_EQ(window_of(tumbling(std::chrono::months(3), "UTC"), 1'711'879'200).start, at(1'704'067'200'000));
  // Before 1970: December 1969.
  EXPECT_EQ(seconds_of(window_of(tumbling(std::chrono::months(1), "UTC"), -1)), (std::pair<std::int64_t, std::int64_t>(-2'678'400, 0)));
}

TEST(CalendarWindows, ADayMayBeginAtSix) {
  const Calendar shift = tumbling(std::chrono::days(1), "America/New_York").offset(6h);
  // 2024-03-09T05:59 and 06:00 in New York.
  EXPECT_EQ(seconds_of(window_of(shift, 1'709'981'940)), (std::pair<std::int64_t, std::int64_t>(1'709'895'600, 1'709'982'000)));
  // The next one is an hour short: summer time begins in it.
  EXPECT_EQ(seconds_of(window_of(shift, 1'709'982'000)), (std::pair<std::int64_t, std::int64_t>(1'709'982'000, 1'710'064'800)));
}

// Goal: whatever clocks did there, windows follow one another without a gap, and each holds its own times.
TEST(CalendarWindows, FollowOneAnotherInEveryZone) {
  // Midnights that were skipped or came twice, a date that never was, and half hours.
  for (const char* zone : {"America/Sao_Paulo", "America/Havana", "America/St_Johns", "Pacific/Apia", "Asia/Beirut", "Africa/Cairo",
                           "Australia/Lord_Howe", "America/Scoresbysund", "Europe/Berlin", "Asia/Kathmandu"}) {
    Calendar days = tumbling(std::chrono::days(1), zone);
    ASSERT_TRUE(days.check().ok()) << days.check().to_string();
    EventTime time = at(631'152'000'000);  // 1990
    int count = 0;
    while (time < at(1'735'689'600'000)) {
      Calendar fresh = tumbling(std::chrono::days(1), zone);
      const Window window = fresh.slice(time);
      ASSERT_LE(window.start, time) << zone;
      ASSERT_GT(window.end, time) << zone;
      ASSERT_EQ(fresh.slice(window.end - 1ms), window) << zone;
      ASSERT_EQ(Calendar(fresh).slice(window.end).start, window.end) << zone;
      ASSERT_LE(window.end - window.start, 49h) << zone;
      time = window.end;
      ++count;
    }
    EXPECT_NEAR(count, 12'784, 3) << zone;
  }
}

TEST(CalendarWindows, AnUnknownZoneIsNamedWithOneThatExists) {
  const Status status = tumbling(std::chrono::days(1), "America/NewYork").check();
  EXPECT_EQ(status.code(), Code::kInvalid);
  EXPECT_THAT(std::string(status.message()), testing::AllOf(HasSubstr("\"America/NewYork\""), HasSubstr("America/New_York")));
  EXPECT_THAT(std::string(tumbling(std::chrono::days(1), "berlin").check().message()), HasSubstr("Europe/Berlin"));
  EXPECT_THAT(std::string(tumbling(std::chrono::days(1), "").check().message()), HasSubstr("not known"));
  EXPECT_EQ(tumbling(std::chrono::days(0), "UTC").check().code(), Code::kInvalid);
}

}  // namespace
}  // namespace sluice
