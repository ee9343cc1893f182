#include <sluice/engine/formats/json_filter.h>

#include <gtest/gtest.h>

#include "records.h"
#include <string>

namespace sluice {
namespace {

using Comparison = JsonCondition::Comparison;
constexpr Comparison kAll[] = {Comparison::kEqual,   Comparison::kNotEqual,
                               Comparison::kLess,    Comparison::kLessOrEqual,
                               Comparison::kGreater, Comparison::kGreaterOrEqual};

/// "pass", "drop", or why it is refused.
std::string answer(const JsonCondition& condition, std::string_view document) {
  JsonFilter filter(condition);
  EXPECT_TRUE(filter.check().ok()) << filter.check().message();
  const auto passed = filter(record_of(document));
  if (!passed.ok()) return std::string(passed.status().message());
  return *passed ? "pass" : "drop";
}
bool passes(const JsonCondition& condition, std::string_view document) {
  const std::string found = answer(condition, document);
  EXPECT_TRUE(found == "pass" || found == "drop") << found;
  return found == "pass";
}
/// What the six comparisons of {"v": <json>} with a literal say: "=", "!", "<", "l", ">", "g".
std::string truths(std::string json, const std::string& literal) {
  std::string found;
  const std::string document = "{\"v\":" + std::move(json) + "}";
  const char* marks = "=!<l>g";
  for (std::size_t i = 0; i < 6; ++i) {
    if (passes(json_compare("/v", kAll[i], JsonLiteral::json(literal)), document))
      found += marks[i];
  }
  return found;
}
constexpr const char* kEqual = "=lg";
constexpr const char* kLess = "!<l";
constexpr const char* kGreater = "!>g";

TEST(JsonFilter, IntegersAreComparedDigitForDigit) {
  EXPECT_EQ(truths("9007199254740993", "9007199254740993"), kEqual);
  EXPECT_EQ(truths("9007199254740993", "9007199254740992"), kGreater);  // The same as doubles.
  EXPECT_EQ(truths("9007199254740992", "9007199254740993"), kLess);
  EXPECT_EQ(truths("-9223372036854775808", "-9223372036854775807"), kLess);
  EXPECT_EQ(truths("9223372036854775807", "9223372036854775808"), kLess);
  EXPECT_EQ(truths("18446744073709551615", "18446744073709551614"), kGreater);
  EXPECT_EQ(truths("18446744073709551615", "-1"), kGreater);
  EXPECT_EQ(truths("-1", "18446744073709551615"), kLess);
  EXPECT_EQ(truths("18446744073709551616", "18446744073709551615"), kGreater);
  EXPECT_EQ(truths("123456789012345678901234567890", "123456789012345678901234567891"), kLess);
  EXPECT_EQ(truths("-123456789012345678901234567890", "-123456789012345678901234567891"), kGreater);
  EXPECT_EQ(truths("-0", "0"), kEqual);
}

TEST(JsonFilter, IntegersAndFractionsAreComparedExactly) {
  EXPECT_EQ(truths("1", "1.0"), kEqual);
  EXPECT_EQ(truths("1.50", "15e-1"), kEqual);
  EXPECT_EQ(truths("2", "1.5"), kGreater);
  EXPECT_EQ(truths("-2", "-1.5"), kLess);
  EXPECT_EQ(truths("9007199254740993", "9007199254740992.0"), kGreater);
  EXPECT_EQ(truths("18446744073709551615", "18446744073709551616.0"), kLess);
  EXPECT_EQ(truths("9223372036854775807", "9223372036854775808.0"), kLess);
  EXPECT_EQ(truths("1e400", "1e308"), kGreater);
}

TEST(JsonFilter, TextsAreComparedAsTheyAreMeant) {
  EXPECT_EQ(truths("\"caf\\u00e9\"", "\"café\""), kEqual);
  EXPECT_EQ(truths("\"a\"", "\"b\""), kLess);
  EXPECT_EQ(truths("\"\"", "\"a\""), kLess);
  EXPECT_EQ(truths("\"e\\u0301\"", "\"é\""), kLess);  // Nothing is normalised.
  EXPECT_EQ(truths("\"\\uffff\"", "\"😀\""), kLess);   // By code points, not as UTF-16.
}

TEST(JsonFilter, TypesAreUnequalAndInNoOrder) {
  EXPECT_EQ(truths("\"1\"", "1"), "!");
  EXPECT_EQ(truths("null", "0"), "!");
  EXPECT_EQ(truths("[1]", "1"), "!");
  EXPECT_EQ(truths("false", "0"), "!");
  const auto equal = [](const char* json, const char* literal) {
    return passes(json_compare("/v", Comparison::kEqual, JsonLiteral::json(literal)),
                  std::string("{\"v\":") + json + "}");
  };
  EXPECT_TRUE(equal("true", "true"));
  EXPECT_FALSE(equal("true", "false"));
  EXPECT_TRUE(equal("null", "null"));
  EXPECT_FALSE(equal("false", "null"));
}

TEST(JsonFilter, MissingNullAndZeroAreThreeThings) {
  for (const Comparison comparison : kAll) {
    EXPECT_FALSE(passes(json_compare("/v", comparison, 0), "{}"));
  }
  EXPECT_TRUE(passes(json_not(json_compare("/v", Comparison::kEqual, 0)), "{}"));
  EXPECT_FALSE(passes(json_compare("/v", Comparison::kEqual, JsonLiteral()), "{}"));
  EXPECT_TRUE(passes(json_compare("/v", Comparison::kEqual, JsonLiteral()), R"({"v":null})"));
  EXPECT_TRUE(passes(json_exists("/v"), R"({"v":null})"));
  EXPECT_FALSE(passes(json_exists("/v"), R"({"w":null})"));
  // A tombstone has no fields, and is not refused.
  JsonFilter filter(json_exists("/v"));
  const auto tombstone = filter(Record());
  ASSERT_TRUE(tombstone.ok());
  EXPECT_FALSE(*tombstone);
  JsonFilter none(json_not(json_exists("/v")));
  EXPECT_TRUE(*none(Record()));
}

TEST(JsonFilter, MatchLooksIntoTexts) {
  const auto condition = json_match("/u", "^user/\\d+$");
  EXPECT_TRUE(passes(condition, R"({"u":"user/17"})"));
  EXPECT_TRUE(passes(condition, R"({"u":"user\/1\u0037"})"));
  EXPECT_FALSE(passes(condition, R"({"u":"user/x"})"));
  EXPECT_FALSE(passes(condition, R"({"u":17})"));
  EXPECT_FALSE(passes(condition, R"({"u":null})"));
  EXPECT_FALSE(passes(condition, "{}"));
}

TEST(JsonFilter, AndOrNot) {
  const auto a = json_exists("/a"), b = json_exists("/b");
  const char* both = R"({"a":1,"b":1})";
  const char* one = R"({"b":1})";
  EXPECT_TRUE(passes(json_and({a, b}), both));
  EXPECT_FALSE(passes(json_and({a, b}), one));
  EXPECT_TRUE(passes(json_or({a, b}), one));
  EXPECT_FALSE(passes(json_or({a, b}), "{}"));
  EXPECT_TRUE(passes(json_and({b, json_not(a)}), one));
  EXPECT_TRUE(passes(json_and({}), "{}"));
  EXPECT_FALSE(passes(json_or({}), "{}"));
  EXPECT_TRUE(passes(
      json_or({json_and({a, b}), json_and({b, json_not(json_or({a, json_exists("/c")}))})}), one));
}

TEST(JsonFilter, WhatIsNotJsonIsRefused) {
  EXPECT_EQ(answer(json_exists("/a"), R"({"a":1)"),
            "not JSON: the text ends too early at byte 6 of 6");
  EXPECT_EQ(answer(json_not(json_exists("/a")), ""), "not JSON: an empty text at byte 0 of 0");
  EXPECT_EQ(answer(json_exists("/a"), R"({"a":"\ud83d"})"),
            "not JSON: half a surrogate pair at byte 12 of 14");
  JsonFilter filter(json_exists("/a"));
  EXPECT_EQ(refusal_of(filter, "{"), "not JSON: the text ends too early at byte 1 of 1");
}

std::string fault(JsonCondition condition) {
  const auto made = JsonFilter::make(std::move(condition));
  EXPECT_EQ(made.code(), Code::kInvalid);
  return std::string(made.status().message());
}
TEST(JsonFilter, FaultsAreToldWhenItIsMade) {
  EXPECT_NE(fault(json_exists("a")).find("expected '/'"), std::string::npos);
  EXPECT_NE(fault(json_match("/a", "(")).find("pattern \"(\" is no RE2 pattern: missing )"),
            std::string::npos);
  EXPECT_NE(fault(json_compare("/a", Comparison::kEqual, JsonLiteral::json("x")))
                .find("not one JSON value"),
            std::string::npos);
  EXPECT_NE(fault(json_compare("/a", Comparison::kEqual, JsonLiteral::json("[1]")))
                .find("compared with [1]"),
            std::string::npos);
  EXPECT_NE(fault(json_compare("/a", Comparison::kLess, true)).find("have an order"),
            std::string::npos);
  EXPECT_NE(fault(json_compare("/a", Comparison::kEqual, "\xff")).find("not UTF-8"),
            std::string::npos);
  JsonCondition deep = json_exists("/a");
  for (int i = 0; i < 31; ++i) deep = json_not(std::move(deep));
  EXPECT_TRUE(JsonFilter::make(deep).ok());
  EXPECT_EQ(fault(json_not(deep)), "filter: more than 32 levels");
  EXPECT_EQ(fault(json_and(std::vector<JsonCondition>(1'000, json_exists("/a")))),
            "filter: more than 1000 conditions");
  JsonCondition odd = json_not(json_exists("/a"));
  odd.parts.clear();
  EXPECT_EQ(fault(odd), "filter: not takes one condition, not 0");
}

TEST(JsonFilter, LiteralsOfTheLanguage) {
  EXPECT_EQ(JsonLiteral("a\"b").json(), R"("a\"b")");
  EXPECT_EQ(JsonLiteral(true).json(), "true");
  EXPECT_EQ(JsonLiteral(18446744073709551615u).json(), "18446744073709551615");
  EXPECT_EQ(JsonLiteral(-1).json(), "-1");
  EXPECT_EQ(JsonLiteral().json(), "null");
}

}  // namespace
}  // namespace sluice
