#include <sluice/engine/formats/json_select.h>

#include <gtest/gtest.h>

#include "records.h"
#include <string>

namespace sluice {
namespace {

JsonSelect select(std::vector<std::pair<std::string, std::string>> fields) {
  JsonSelect made({.fields = std::move(fields)});
  EXPECT_TRUE(made.check().ok()) << made.check().message();
  return made;
}

TEST(JsonSelect, ValuesAreCopiedByteForByteInTheOrderAskedFor) {
  auto step =
      select({{"uri", "/identityUri"}, {"id", "/user/id"}, {"tags", "/user/tags"}, {"e", "/e"}});
  EXPECT_EQ(
      made_of(
          step,
          R"({"user":{"tags":[1, 2.50] ,"id":18446744073709551616}, "e":"\u00E9", "identityUri":"u"})"),
      R"({"uri":"u","id":18446744073709551616,"tags":[1, 2.50],"e":"\u00E9"})");
}

TEST(JsonSelect, WhatIsMissingIsLeftOutAndNullIsNot) {
  auto step = select({{"a", "/a"}, {"b", "/b"}, {"c", "/c"}});
  EXPECT_EQ(made_of(step, R"({"c":null})"), R"({"c":null})");
  EXPECT_EQ(made_of(step, R"({"b":0})"), R"({"b":0})");
  EXPECT_EQ(made_of(step, "{}"), "{}");
  EXPECT_EQ(made_of(step, "[1]"), "{}");
  EXPECT_EQ(step.counts().missing(), 10u);
}

TEST(JsonSelect, NamesAreEscapedAndMayComeFromTheWholeDocument) {
  auto step = select({{"a\"b\n", "/x"}, {"all", ""}});
  EXPECT_EQ(made_of(step, "{\"x\":1}\n"), R"({"a\"b\n":1,"all":{"x":1}})");
}

TEST(JsonSelect, ThatANameIsThereTwiceChangesNothing) {
  // The same rule whatever the order in which fields are asked for: the first counts.
  auto forward = select({{"a", "/a"}, {"b", "/b"}});
  auto backward = select({{"b", "/b"}, {"a", "/a"}});
  const char* document = R"({"a":1,"b":2,"a":3,"b":4})";
  EXPECT_EQ(made_of(forward, document), R"({"a":1,"b":2})");
  EXPECT_EQ(made_of(backward, document), R"({"b":2,"a":1})");
}

TEST(JsonSelect, WhatIsNotJsonIsRefused) {
  auto step = select({{"a", "/a"}, {"b", "/b"}});
  EXPECT_EQ(refusal_of(step, R"({"a":1,"b":tru})"),
            "not JSON: expected true, false or null at byte 14 of 15");
  EXPECT_EQ(refusal_of(step, R"({"a":"\ud83d","b":1})"),
            "not JSON: half a surrogate pair at byte 12 of 20");
  EXPECT_EQ(refusal_of(step, ""), "not JSON: an empty text at byte 0 of 0");
  Arena arena;
  Record null, out;
  EXPECT_EQ(step.apply(null, arena, out), Outcome::kPassed);
  EXPECT_TRUE(out.value.null());
}

TEST(JsonSelect, FaultsAreToldWhenItIsMade) {
  EXPECT_EQ(JsonSelect::make({.fields = {{"a", "x"}}}).status().message(),
            "json_select: field \"a\": JSON pointer \"x\": expected '/', as in \"/x\" (\"\" is the "
            "whole document) at byte 0");
  EXPECT_EQ(JsonSelect::make({.fields = {{"a", "/x"}, {"a", "/y"}}}).status().message(),
            "json_select: field \"a\": named twice");
  EXPECT_EQ(JsonSelect::make({.fields = {}}).status().message(),
            "json_select: 0 fields, expected 1 to 1000");
}

}  // namespace
}  // namespace sluice
