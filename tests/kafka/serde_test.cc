// Goal: values are read and written as Kafka's own serializers do, null stays null, and what is
// malformed says where. Method: tables of bytes; the slow scanner that finds a position must agree
// with the fast parser on what is JSON.
#include <sluice/engine/internal/json_error.h>
#include <sluice/kafka/serde.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sluice::kafka {
namespace {

using sluice::internal::find_json_error;
using testing::HasSubstr;

Record with_value(Bytes value) {
  Record record;
  record.value = value;
  return record;
}
Record with_value(std::string_view text) { return with_value(Bytes(text)); }

// ---- JSON ----

struct BadJson {
  std::string name, text;
  std::size_t at;
};
class Malformed : public testing::TestWithParam<BadJson> {};
TEST_P(Malformed, IsRefusedWithThePosition) {
  JsonDeserializer deserializer;
  Json json;
  const Status read = deserializer(with_value(GetParam().text), json);
  EXPECT_EQ(read.code(), Code::kCorrupt);
  EXPECT_THAT(std::string(read.message()),
              HasSubstr(fmt::format("at byte {} of {}", GetParam().at, GetParam().text.size())));
}
INSTANTIATE_TEST_SUITE_P(
    Json, Malformed,
    testing::Values(BadJson{"cut_off", R"({"id":2)", 7}, BadJson{"empty", "", 0},
                    BadJson{"only_space", "  ", 2}, BadJson{"no_value", R"({"a":})", 5},
                    BadJson{"trailing_comma", "[1,]", 3}, BadJson{"two_documents", "1 2", 2},
                    BadJson{"bare_word", "nul", 3}, BadJson{"wrong_word", "trux", 3},
                    BadJson{"leading_zero", "[01]", 2}, BadJson{"bad_number", "[1.]", 3},
                    BadJson{"bad_exponent", "[1e]", 3}, BadJson{"no_quotes", "{a:1}", 1},
                    BadJson{"no_colon", R"({"a" 1})", 5}, BadJson{"control", "[\"a\nb\"]", 3},
                    BadJson{"escape", R"(["\q"])", 3}, BadJson{"short_unicode", R"(["\u12"])", 6},
                    BadJson{"half_pair", R"(["\ud800x"])", 8}, BadJson{"not_utf8", "[\"\xff\"]", 2},
                    BadJson{"overlong", "[\"\xc0\x80\"]", 2}, BadJson{"stray_bracket", "[1}", 2},
                    BadJson{"deep", std::string(1025, '[') + std::string(1025, ']'), 1024},
                    BadJson{"nul_byte", std::string("[1\0]", 4), 2}),
    [](const auto& bad) { return bad.param.name; });

class WellFormed : public testing::TestWithParam<std::string> {};
TEST_P(WellFormed, IsTakenByParserAndScannerAlike) {
  JsonDeserializer deserializer;
  Json json;
  const Status read = deserializer(with_value(GetParam()), json);
  EXPECT_TRUE(read.ok()) << read.message();
  EXPECT_EQ(json.text, GetParam());
  const auto found = find_json_error(GetParam());
  EXPECT_FALSE(found.has_value()) << found->what << " at " << found->at;
}
INSTANTIATE_TEST_SUITE_P(
    Json, WellFormed,
    testing::Values("1", " null ", "true", "-0.5e+10", R"("")", "[]", "{}",
                    R"({"a":[1,{"b":null}],"c":"\u00e4\ud83d\ude00"})", "\"zähler 計 😀\"",
                    "[[[[]]]]", R"(["\"\\\/\b\f\n\r\t"])",
                    "123456789012345678901234567890",  // More than 64 bits (S47): still JSON.
                    "\t{ \"a\" : 1 }\r\n"));

TEST(Json, ANullValueIsATombstoneAndNotMalformed) {
  JsonDeserializer deserializer;
  Json json;
  EXPECT_TRUE(deserializer(with_value(Bytes()), json).ok());
  EXPECT_TRUE(json.null());
  SinkRecord out;
  JsonSerializer()(json, out);
  EXPECT_TRUE(out.value.null());
}

TEST(Json, ASchemaRegistrysFramingIsRecognised) {
  const std::string framed = std::string("\0\0\0\0\x2a", 5) + R"({"id":1})";
  JsonDeserializer plain;
  Json json;
  const Status read = plain(with_value(framed), json);
  EXPECT_THAT(std::string(read.message()), HasSubstr("schema id 42"));
  JsonDeserializer confluent{.framing = Framing::kConfluent};
  EXPECT_TRUE(confluent(with_value(framed), json).ok());
  EXPECT_EQ(json.text, R"({"id":1})");
  EXPECT_EQ(confluent(with_value(R"({"id":2})"), json).code(), Code::kCorrupt);
}

TEST(Json, ACopyHasAParserOfItsOwn) {
  JsonDeserializer first;
  Json json;
  EXPECT_TRUE(first(with_value("[1]"), json).ok());
  JsonDeserializer copy = first;
  JsonDeserializer moved = std::move(first);
  EXPECT_TRUE(copy(with_value("[2]"), json).ok());
  EXPECT_TRUE(moved(with_value("[3]"), json).ok());
}

// ---- the others ----

TEST(Utf8, BadBytesAreNamed) {
  Utf8 text;
  EXPECT_TRUE(Utf8Deserializer()(with_value("zähler 計 😀"), text).ok());
  EXPECT_TRUE(Utf8Deserializer()(with_value(Bytes()), text).ok());
  EXPECT_EQ(text.text.data(), nullptr);
  for (const auto& [bytes, at] : {std::pair<std::string, int>{"ab\xff", 2},
                                  {"\xed\xa0\x80", 0},
                                  {"a\xe8\xa8", 1},
                                  {"\xf5\x80\x80\x80", 0}}) {
    const Status read = Utf8Deserializer()(with_value(bytes), text);
    EXPECT_THAT(std::string(read.message()), HasSubstr(fmt::format("at byte {} of", at)));
  }
}

TEST(Integers, AreBigEndianAndOfTheRightLength) {
  std::int64_t number = 0;
  EXPECT_TRUE(
      IntegerDeserializer()(with_value(std::string_view("\0\0\0\0\0\0\x01\x02", 8)), number).ok());
  EXPECT_EQ(number, 258);
  std::int32_t small = 0;
  EXPECT_TRUE(
      IntegerDeserializer()(with_value(std::string_view("\xff\xff\xff\xfe", 4)), small).ok());
  EXPECT_EQ(small, -2);
  EXPECT_THAT(std::string(IntegerDeserializer()(with_value("123"), number).message()),
              HasSubstr("an integer of 8 bytes has 3"));
  EXPECT_THAT(std::string(IntegerDeserializer()(with_value(Bytes()), number).message()),
              HasSubstr("tombstone"));
  Arena arena;
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 53,
                                   std::numeric_limits<std::int64_t>::min()}) {
    SinkRecord out;
    IntegerSerializer()(value, arena, out);
    EXPECT_EQ(out.value.size(), 8u);
    EXPECT_TRUE(IntegerDeserializer()(with_value(out.value), number).ok());
    EXPECT_EQ(number, value);
  }
}

TEST(Values, NullStaysNullAndEmptyStaysEmpty) {
  for (const Bytes& value : {Bytes(), Bytes("", 0), Bytes("x", 1)}) {
    std::string_view text;
    ValueDeserializer()(with_value(value), text);
    SinkRecord out;
    ValueSerializer()(text, out);
    EXPECT_EQ(out.value, value);
    Bytes bytes;
    ValueDeserializer()(with_value(value), bytes);
    SinkRecord again;
    ValueSerializer()(bytes, again);
    EXPECT_EQ(again.value, value);
  }
  std::string own;
  EXPECT_EQ(StringDeserializer()(with_value(Bytes()), own).code(), Code::kCorrupt);
  EXPECT_TRUE(StringDeserializer()(with_value("abc"), own).ok());
  EXPECT_EQ(own, "abc");
}

TEST(Records, GoThroughWhole) {
  const Header headers[] = {{"trace", Bytes("t2", 2)}, {"empty", Bytes("", 0)}, {"null", Bytes()}};
  Record record;
  record.key = Bytes("k", 1);
  record.headers = headers;
  record.time = EventTime(EventDuration(7));
  Record copy;
  RecordDeserializer()(record, copy);
  SinkRecord out;
  RecordSerializer()(copy, out);
  EXPECT_EQ(out.key, record.key);
  EXPECT_TRUE(out.value.null());
  EXPECT_EQ(out.headers.size(), 3u);
  EXPECT_TRUE(out.headers[2].value.null());
  EXPECT_FALSE(out.headers[1].value.null());
  EXPECT_EQ(out.time, record.time);
}

}  // namespace
}  // namespace sluice::kafka
