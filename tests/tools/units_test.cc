// Goal: durations, partitions, percentiles and expectation files are understood exactly or refused.
#include "commands/units.h"

#include "commands/expectation.h"
#include "commands/latencies.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

TEST(Units, ADurationHasAUnit) {
  const std::pair<const char*, std::chrono::microseconds> good[] = {
      {"250ms", 250ms}, {"10s", 10s}, {"1.5m", 90s}, {"2h", 2h},
      {"7us", 7us},     {"0s", 0s},   {"3min", 3min}};
  for (const auto& [text, wanted] : good) {
    const auto parsed = parse_duration(text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(*parsed, wanted) << text;
  }
  for (const char* const text :
       {"", "10", "-5s", "5 parsecs", "s", "nans", "infs", "1e300h", "10s "}) {
    EXPECT_FALSE(parse_duration(text).ok()) << text;
  }
}

TEST(Units, PartitionsAreAListOrAll) {
  EXPECT_THAT(*parse_partitions("all"), IsEmpty());
  EXPECT_THAT(*parse_partitions("5-7,0,2,0"), ElementsAre(0, 2, 5, 6, 7));
  for (const char* const text : {"", "a", "1,", "-1", "3-1", "1-2-3", "0-999999999", "1;2"}) {
    EXPECT_FALSE(parse_partitions(text).ok()) << text;
  }
}

TEST(Units, ThousandsAreSet) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1'234'567), "1,234,567");
}

TEST(Latencies, APercentileIsWithinTwoPercentAndNeverTooLow) {
  Latencies latencies;
  for (std::int64_t value = 1; value <= 100'000; ++value) latencies.record(value);
  for (const double share : {0.5, 0.9, 0.99, 0.999, 1.0}) {
    const double exact = share * 100'000;
    EXPECT_GE(static_cast<double>(latencies.percentile_us(share)), exact);
    EXPECT_LE(static_cast<double>(latencies.percentile_us(share)), exact * 1.02);
  }
  EXPECT_EQ(latencies.max_us(), 100'000u);
}

TEST(Latencies, ExtremesAndNothing) {
  Latencies latencies;
  EXPECT_EQ(latencies.percentile_us(0.99), 0u);
  latencies.record(-5);
  EXPECT_EQ(latencies.percentile_us(0.99), 0u);
  latencies.record(INT64_MAX);
  EXPECT_EQ(latencies.percentile_us(1), static_cast<std::uint64_t>(INT64_MAX));
  Latencies other;
  other.record(7);
  latencies.merge(other);
  EXPECT_EQ(latencies.count(), 3u);
}

constexpr const char* kExpectation =
    R"({"schema_version":1,"topic":"in","producers":[{"producer":"a","partitions":[{"partition":2,"records":5}]}]})";

TEST(Expectation, WhatGeneratePrintsIsRead) {
  std::vector<ExpectedStream> streams;
  const Status read =
      parse_expectation(std::string(kExpectation) + "\n" + kExpectation + "\n", "f", streams);
  ASSERT_TRUE(read.ok()) << read.message();
  ASSERT_EQ(streams.size(), 2u);
  EXPECT_EQ(streams[1].topic, "in");
  EXPECT_EQ(streams[1].producer, "a");
  EXPECT_EQ(streams[1].partition, 2);
  EXPECT_EQ(streams[1].records, 5u);
}

TEST(Expectation, AnythingElseIsRefusedWithItsPlace) {
  std::vector<ExpectedStream> streams;
  for (const std::string& content :
       {std::string(), std::string("{"), std::string("[]"), std::string(R"({"topic":"in"})"),
        std::string(R"({"topic":"in","producers":[{"producer":"a","partitions":[{}]}]})"),
        std::string(kExpectation) + " x"}) {
    const Status read = parse_expectation(content, "file.json", streams);
    ASSERT_FALSE(read.ok()) << content;
    EXPECT_EQ(read.exit_status(), ExitStatus::kConfiguration);
    EXPECT_THAT(std::string(read.message()), HasSubstr("file.json"));
  }
}

}  // namespace
}  // namespace sluice::tools
