// Goal: texts and numbers that are times become them, and what is none is said so. Method: tables; all days of 400 years against chrono.
#include <sluice/engine/event_time_text.h>
#include <sluice/engine/internal/split_times.h>

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

std::int64_t ms(const Result<EventTime>& time) { return time.ok() ? time->time_since_epoch().count() : -1; }

TEST(EventTimeText, DatesWithTheirOffset) {
  const std::pair<const char*, std::int64_t> right[] = {
      {"1970-01-01T00:00:00Z", 0},
      {"2016-12-31T23:59:59Z", 1483228799000},
      {"2016-12-31t23:59:59.25z", 1483228799250},
      {"2016-12-31 23:59:59,250Z", 1483228799250},
      {"2016-12-31T23:59:59.2509999Z", 1483228799250},
      {"2016-12-31T18:59:59-05:00", 1483228799000},
      {"2017-01-01T05:29:59+0530", 1483228799000},
      {"2017-01-01T00:59:59+01", 1483228799000},
      {"2016-12-31T23:59Z", 1483228740000},
      {"2024-02-29T00:00:00Z", 1709164800000},
      {"0001-01-01T00:00:00Z", -62135596800000},
  };
  for (const auto& [text, expected] : right) EXPECT_EQ(ms(parse_event_time(text)), expected) << text;
}

TEST(EventTimeText, Second60IsTheEndOfItsMinute) {
  EXPECT_EQ(ms(parse_event_time("2016-12-31T23:59:60Z")), 1483228799999);
  EXPECT_EQ(ms(parse_event_time("2016-12-31T23:59:60.999Z")), 1483228799999);
  EXPECT_EQ(ms(parse_event_time("2017-01-01T08:59:60+09:00")), 1483228799999);
}

TEST(EventTimeText, WhatHasNoOffsetIsRefusedUnlessItIsSaidToBeUtc) {
  EXPECT_FALSE(parse_event_time("2016-12-31T23:59:59").ok());
  EXPECT_EQ(ms(parse_event_time("2016-12-31T23:59:59", TimeUnit::kMilliseconds, NoOffset::kUtc)), 1483228799000);
  EXPECT_EQ(ms(parse_event_time("2016-12-31", TimeUnit::kMilliseconds, NoOffset::kUtc)), 1483142400000);
}

TEST(EventTimeText, NumbersOfAUnit) {
  EXPECT_EQ(ms(parse_event_time("1483228799", TimeUnit::kSeconds)), 1483228799000);
  EXPECT_EQ(ms(parse_event_time("1483228799000")), 1483228799000);
  EXPECT_EQ(ms(parse_event_time("1483228799000999", TimeUnit::kMicroseconds)), 1483228799000);
  EXPECT_EQ(ms(parse_event_time("1483228799000999999", TimeUnit::kNanoseconds)), 1483228799000);
  EXPECT_EQ(event_time(-1, TimeUnit::kMicroseconds), EventTime(EventDuration(-1)));  // Down, not towards 1970.
  EXPECT_EQ(event_time(-1, TimeUnit::kSeconds), EventTime(EventDuration(-1000)));
}

TEST(EventTimeText, OutOfRangeIsNoTime) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max(), kLeast = std::numeric_limits<std::int64_t>::min();
  for (const TimeUnit unit : {TimeUnit::kSeconds, TimeUnit::kMilliseconds}) {
    EXPECT_EQ(event_time(kMost, unit), kNoEventTime);
    EXPECT_EQ(event_time(kLeast, unit), kNoEventTime);
  }
  EXPECT_NE(event_time(kMost, TimeUnit::kNanoseconds), kNoEventTime);
  EXPECT_FALSE(parse_event_time("9223372036854775807").ok());
  EXPECT_FALSE(parse_event_time("99999999999999999999").ok());
  EXPECT_EQ(internal::as_event_time(std::chrono::sys_days(std::chrono::days(std::numeric_limits<int>::max()))), kNoEventTime);
  EXPECT_EQ(internal::as_event_time(EventTime::max()), kNoEventTime);
}

TEST(EventTimeText, WhatIsNoTimeSaysWhy) {
  const char* const wrong[] = {"", "not-a-time", "2016-13-01T00:00:00Z", "2015-02-29T00:00:00Z", "2016-12-31T24:00:00Z",
                               "2016-12-31T23:60:00Z", "2016-12-31T23:59:61Z", "2016-12-31T23:59:59.Z", "2016-12-31T23:59:59+25:00",
                               "2016-12-31T23:59:59Zx", "2016-12-31X23:59:59Z", "12x", "1.5", " 12", "2016-1-1T00:00:00Z", "-", "--"};
  for (const char* text : wrong) {
    const Result<EventTime> read = parse_event_time(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.code(), Code::kInvalid);
    EXPECT_THAT(std::string(read.status().message()), testing::HasSubstr(fmt::format("\"{}\" is no event time", text)));
  }
}

TEST(EventTimeText, EveryDayThereAndBack) {
  using std::chrono::days;
  for (std::chrono::sys_days day = std::chrono::sys_days(std::chrono::year(1900) / 1 / 1);
       day < std::chrono::sys_days(std::chrono::year(2300) / 1 / 1); day += days(1)) {
    const EventTime time = day + std::chrono::hours(13) + std::chrono::milliseconds(7);
    const Result<EventTime> read = parse_event_time(internal::to_text(time));
    ASSERT_TRUE(read.ok() && *read == time) << internal::to_text(time);
  }
}

}  // namespace
}  // namespace sluice
