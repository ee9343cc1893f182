#include <sluice/engine/formats/json_replace.h>
#include <sluice/engine/internal/json_error.h>

#include <gtest/gtest.h>

#include "records.h"
#include <string>
#include <vector>

// Goal: exactly the bytes that a rule found change, and only if it found any; the rest of the
// document is the same to the byte.
namespace sluice {
namespace {

JsonReplace replace(std::string path, std::vector<JsonReplace::Rule> rules) {
  JsonReplace made({.path = std::move(path), .rules = std::move(rules)});
  EXPECT_TRUE(made.check().ok()) << made.check().message();
  return made;
}
JsonReplace identity() { return replace("/identityUri", {{"/\\d+$", "/{}"}}); }

TEST(JsonReplace, OnlyTheseBytesChange) {
  auto step = identity();
  EXPECT_EQ(made_of(step, R"({"identityUri":"user/getById/13782"})"),
            R"({"identityUri":"user/getById/{}"})");
  EXPECT_EQ(
      made_of(step, "{ \"n\" : 1.50e+02, \"identityUri\"\t: \"a/1\" ,\"s\":\"\\u00E9\\/\" }\n"),
      "{ \"n\" : 1.50e+02, \"identityUri\"\t: \"a/{}\" ,\"s\":\"\\u00E9\\/\" }\n");
}

TEST(JsonReplace, WhatNoRuleFindsPassesAsItIs) {
  auto step = identity();
  for (const char* document :
       {R"({"identityUri":"user/x"})", R"({"identityUri":"\u0061\/x\n"})", R"({"other":"/1"})",
        "{}", R"({"identityUri":null})", R"({"identityUri":{"a":"/1"}})", "[]", "17"}) {
    EXPECT_EQ(made_of(step, document), document);
  }
  EXPECT_EQ(step.counts().missing(), 4u);
  EXPECT_EQ(step.counts().other_type(), 2u);
}

TEST(JsonReplace, TheFirstRuleThatMatchesWins) {
  auto step = replace("/u", {{"b+", "1"}, {"a", "2"}, {"^", "3"}});
  EXPECT_EQ(made_of(step, R"({"u":"aabbb"})"),
            R"({"u":"aa1"})");                                 // Not the leftmost: the first rule.
  EXPECT_EQ(made_of(step, R"({"u":"aa"})"), R"({"u":"2a"})");  // Once.
  EXPECT_EQ(made_of(step, R"({"u":""})"), R"({"u":"3"})");
}

TEST(JsonReplace, GroupsStandInWhatIsWritten) {
  auto step = replace("/u", {{"(\\w+)@(\\w+)", "\\2 at \\1 (\\0) \\\\"}});
  EXPECT_EQ(made_of(step, R"({"u":"<me@home>"})"), R"({"u":"<home at me (me@home) \\>"})");
}

TEST(JsonReplace, MatchesWhatTheTextMeansAndEscapesWhatItWrites) {
  // Found although it is escaped in the document; all of the text is written anew, escaped.
  auto slash = identity();
  EXPECT_EQ(made_of(slash, R"({"identityUri":"caf\u00e9\/7","n":"\/"})"),
            R"({"identityUri":"café/{}","n":"\/"})");
  // What needs escapes gets them, where the text had none and where it had.
  auto quotes = replace("/u", {{"x", "\"\\\\\n\x01"}});
  EXPECT_EQ(made_of(quotes, R"({"u":"axb"})"), R"({"u":"a\"\\\n\u0001b"})");
  EXPECT_EQ(made_of(quotes, R"({"u":"\taxb\""})"), R"({"u":"\ta\"\\\n\u0001b\""})");
  // A group that catches a quote.
  auto swap = replace("/u", {{"^(.)(.)$", "\\2\\1"}});
  EXPECT_EQ(made_of(swap, R"({"u":"\"a"})"), R"({"u":"a\""})");
  EXPECT_EQ(made_of(swap, R"({"u":"é😀"})"), R"({"u":"😀é"})");
}

TEST(JsonReplace, WorksOnPlacesInsideArraysAndTexts) {
  auto inside = replace("/a/1/b~1c", {{"x", "y"}});
  EXPECT_EQ(made_of(inside, R"({"a":[0,{"b/c":"x"}]})"), R"({"a":[0,{"b/c":"y"}]})");
  auto whole = replace("", {{"x", "y"}});
  EXPECT_EQ(made_of(whole, "\"axb\""), "\"ayb\"");
  EXPECT_EQ(made_of(whole, " {\"x\":\"x\"}"), " {\"x\":\"x\"}");
}

TEST(JsonReplace, ANullValueIsNotAnEmptyValue) {
  auto step = identity();
  Arena arena;
  Record in, out;
  EXPECT_EQ(step.apply(in, arena, out), Outcome::kPassed);
  EXPECT_TRUE(out.value.null());
  EXPECT_EQ(refusal_of(step, ""), "not JSON: an empty text at byte 0 of 0");
  EXPECT_EQ(refusal_of(step, R"({"id":2)"), "not JSON: the text ends too early at byte 7 of 7");
}

TEST(JsonReplace, AllElseOfTheRecordStays) {
  auto step = identity();
  const Header header{"trace", Bytes("t2")};
  Record in = record_of(R"({"identityUri":"/1"})");
  in.key = Bytes("k");
  in.headers = {&header, 1};
  in.offset = Offset(7);
  Arena arena;
  auto out = step(in, arena);
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->value.view(), R"({"identityUri":"/{}"})");
  EXPECT_EQ(out->key.view(), "k");
  EXPECT_EQ(out->headers.data(), &header);
  EXPECT_EQ(out->offset, Offset(7));
  const auto refused = step(record_of("{"), arena);
  EXPECT_EQ(refused.code(), Code::kCorrupt);
}

TEST(JsonReplace, ADocumentStaysADocument) {
  // Given texts and replacements of all that needs care,
  const std::vector<std::string> pieces = {"a",       "/", "\\\"",           "\\\\", "\\n",
                                           "\\u00e9", "é", "\\ud83d\\ude00", "1"};
  const std::vector<JsonReplace::Rule> rules = {
      {"a", "\"'\\\\"}, {"[^a]", "<\\0\\0>"}, {"$", "\n"}};
  for (const JsonReplace::Rule& rule : rules) {
    auto step = replace("/u", {rule});
    for (const std::string& first : pieces) {
      for (const std::string& second : pieces) {
        const std::string document = "{\"u\":\"" + first + second + "\",\"v\":1}";
        // when they are rewritten, then the result is JSON.
        const auto made = made_of(step, document);
        ASSERT_TRUE(made);
        EXPECT_FALSE(internal::find_json_error(*made)) << document << " -> " << *made;
        EXPECT_TRUE(made->ends_with("\",\"v\":1}"));
      }
    }
  }
}

TEST(JsonReplace, FaultsAreToldWhenItIsMade) {
  const auto fault = [](std::string path, std::string pattern, std::string with) {
    const auto made = JsonReplace::make(
        {.path = std::move(path), .rules = {{std::move(pattern), std::move(with)}}});
    EXPECT_EQ(made.code(), Code::kInvalid);
    return std::string(made.status().message());
  };
  EXPECT_NE(fault("identityUri", "a", "b")
                .find("json_replace: path: JSON pointer \"identityUri\": expected '/'"),
            std::string::npos);
  EXPECT_EQ(fault("/a", "(", "b"), "json_replace: pattern \"(\" is no RE2 pattern: missing ): (");
  EXPECT_NE(fault("/a", "(a)", "\\2").find("\\0 to \\9 are groups"), std::string::npos);
  EXPECT_NE(fault("/a", "a", "\\x").find("cannot be replaced with \"\\x\""), std::string::npos);
  EXPECT_NE(fault("/a", "a", "\xff").find("not UTF-8 at byte 0"), std::string::npos);
  EXPECT_NE(fault("/a", "\\C", "b").find("would cut characters in two"), std::string::npos);
  EXPECT_TRUE(JsonReplace::make({.path = "/a", .rules = {{"\\\\C", "b"}}}).ok());
  EXPECT_EQ(JsonReplace::make({.path = "/a", .rules = {}}).status().message(),
            "json_replace: 0 rules, expected 1 to 1000");
}

TEST(JsonReplace, ACopyWorksAlone) {
  auto step = identity();
  ASSERT_TRUE(made_of(step, R"({"identityUri":"/1"})"));
  JsonReplace copy = step;
  EXPECT_EQ(made_of(copy, R"({"identityUri":"/1"})"), R"({"identityUri":"/{}"})");
  copy = replace("/a", {{"x", "y"}});
  EXPECT_EQ(made_of(copy, R"({"a":"x"})"), R"({"a":"y"})");
}

}  // namespace
}  // namespace sluice
