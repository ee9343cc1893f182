// Goal: what generate writes, verify reads, also when a job has written its count into it; what is
// damaged is refused.
#include "commands/test_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <tuple>

namespace sluice::tools {
namespace {

using ::testing::HasSubstr;

std::string record_of(RecordFormat format, std::uint64_t sequence, std::size_t size_bytes = 100,
                      std::uint64_t seed = 1) {
  const RecordWriter writer({.format = format,
                             .producer = "gen-1",
                             .partition = 3,
                             .size_bytes = size_bytes,
                             .seed = seed});
  std::string value;
  writer.append(sequence, 1'700'000'000'123'456, value);
  return value;
}

class BothFormats : public ::testing::TestWithParam<std::tuple<RecordFormat, std::size_t>> {};

TEST_P(BothFormats, WhatIsWrittenIsRead) {
  const auto [format, size_bytes] = GetParam();
  RecordParser parser;
  for (std::uint64_t sequence = 0; sequence < 2000; ++sequence) {
    const std::string value = record_of(format, sequence, size_bytes, sequence);
    RecordHeader header;
    ASSERT_TRUE(parser.parse(value, header)) << parser.why() << '\n' << value;
    EXPECT_EQ(header.producer, "gen-1");
    EXPECT_EQ(header.partition, 3);
    EXPECT_EQ(header.sequence, sequence);
    EXPECT_EQ(header.due_us, 1'700'000'000'123'456);
    EXPECT_EQ(header.number, std::nullopt);
    if (size_bytes == 5000) {
      EXPECT_EQ(value.size(), size_bytes) << value;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Sizes, BothFormats,
                         ::testing::Combine(::testing::Values(RecordFormat::kText,
                                                              RecordFormat::kJson),
                                            ::testing::Values(0, 50, 51, 100, 400, 5000)));

TEST(TestRecord, TextHasTheSizeAskedFor) {
  for (const std::size_t size : {60u, 61u, 100u, 1000u})
    EXPECT_EQ(record_of(RecordFormat::kText, 7, size).size(), size);
  EXPECT_EQ(record_of(RecordFormat::kText, 7, 0), "p=gen-1;n=3;s=7;d=1700000000123456;");
}

TEST(TestRecord, TheSameSeedGivesTheSameBytes) {
  EXPECT_EQ(record_of(RecordFormat::kJson, 5, 400, 9), record_of(RecordFormat::kJson, 5, 400, 9));
  EXPECT_NE(record_of(RecordFormat::kJson, 5, 400, 9), record_of(RecordFormat::kJson, 5, 400, 10));
}

TEST(TestRecord, HeaderFieldsMayStandInAnyOrder) {
  RecordParser parser;
  RecordHeader header;
  for (const char* const value : {"c=9;p=a;n=1;s=2;d=3;", "p=a;c=9;n=1;s=2;d=3;|c=1;",
                                  "d=3;s=2;n=1;p=a;c=9;|", "p=a;n=1;s=2;d=3;c=9;"}) {
    ASSERT_TRUE(parser.parse(value, header)) << value;
    EXPECT_EQ(header.producer, "a");
    EXPECT_EQ(header.sequence, 2u);
    EXPECT_EQ(header.number, 9u) << value;
  }
}

TEST(TestRecord, ACountInFrontOfOrInsideADocumentIsRead) {
  RecordParser parser;
  RecordHeader header;
  const std::string value = record_of(RecordFormat::kJson, 4, 400);
  ASSERT_TRUE(parser.parse("c=12;" + value, header)) << parser.why();
  EXPECT_EQ(header.number, 12u);
  EXPECT_EQ(header.sequence, 4u);
  ASSERT_TRUE(parser.parse("{\"c\":13," + value.substr(1), header)) << parser.why();
  EXPECT_EQ(header.number, 13u);
  ASSERT_TRUE(parser.parse(value.substr(0, value.size() - 1) + ",\"c\":14}", header))
      << parser.why();
  EXPECT_EQ(header.number, 14u);
}

// The rules of tests/examples/identity_rewrite.cc.
TEST(TestRecord, IdentitiesFitTheFirstRuleTheSecondOrNone) {
  const std::regex first(R"("identityUri":"[^"]*/[0-9]+","check")");
  const std::regex second(R"("identityUri":"[^"]*/[0-9a-f]{8}-[0-9a-f-]{27}","check")");
  for (std::uint64_t sequence = 0; sequence < 40; ++sequence) {
    const std::string value = record_of(RecordFormat::kJson, sequence, 400, sequence);
    EXPECT_EQ(std::regex_search(value, first), sequence % 2 == 0) << value;
    EXPECT_EQ(std::regex_search(value, second), sequence % 4 == 1) << value;
  }
}

TEST(TestRecord, ARewrittenIdentityIsNoDamage) {
  RecordParser parser;
  RecordHeader header;
  std::string value = record_of(RecordFormat::kJson, 0, 400);
  const std::size_t digits = value.find("user/getById/") + 13;
  value.replace(digits, value.find('"', digits) - digits, "{}");
  EXPECT_TRUE(parser.parse(value, header)) << parser.why();
}

TEST(TestRecord, OneOtherByteChangedIsDamage) {
  RecordParser parser;
  const std::string value = record_of(RecordFormat::kJson, 4, 400);
  const std::size_t body = value.find("\"big\"");
  for (std::size_t at = body; at < value.size() - std::string_view(",\"end\":0}").size(); ++at) {
    std::string changed = value;
    changed[at] = changed[at] == '1' ? '2' : '1';
    RecordHeader header;
    EXPECT_FALSE(parser.parse(changed, header)) << changed;
  }
  std::string reformatted = value;
  reformatted.replace(reformatted.find("1.50"), 4, "1.5");
  RecordHeader header;
  EXPECT_FALSE(parser.parse(reformatted, header));
  EXPECT_THAT(std::string(parser.why()), HasSubstr("check"));
}

TEST(TestRecord, WhatHasNoHeaderIsRefused) {
  RecordParser parser;
  RecordHeader header;
  const std::string deep(20'000, '[');
  for (const std::string& value :
       {std::string(), std::string("poison"), std::string("p=a;n=1;s=2;"),
        std::string("p=a;n=x;s=2;d=3;"), std::string("p=a;n=1;s=-2;d=3;"),
        std::string("p=a;n=1;s=18446744073709551615;d=3;"), std::string("p=a;n=1;s=2;d=3"),
        std::string("p=a;n=-1;s=2;d=3;"), std::string("{"), std::string("{}"),
        std::string(R"({"p":"a","n":1,"s":2})"), std::string(R"({"p":1,"n":1,"s":2,"d":3})"),
        std::string(R"({"p":"a","n":1,"s":"2","d":3})"),
        std::string(R"({"p":"a","n":1,"s":2.5,"d":3})"),
        std::string(R"({"x":{"p":"a","n":1,"s":2,"d":3}})"),
        std::string(R"({"p":"a","n":4294967296,"s":2,"d":3})"),
        std::string("{\"p\":\"a\xff\",\"n\":1,\"s\":2,\"d\":3}"), "{\"x\":" + deep}) {
    EXPECT_FALSE(parser.parse(value, header)) << value.substr(0, 80);
    EXPECT_FALSE(parser.why().empty());
  }
}

TEST(TestRecord, TheChecksumIsTheCommonCrc32) {
  EXPECT_EQ(body_checksum("123456789"), 0xcbf43926u);
}

}  // namespace
}  // namespace sluice::tools
