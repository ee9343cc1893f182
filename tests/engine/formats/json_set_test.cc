#include <sluice/engine/formats/json_set.h>
#include <sluice/engine/internal/json_error.h>

#include <gtest/gtest.h>

#include "records.h"
#include <string>

namespace sluice {
namespace {

struct SetCase {
  const char* path;
  const char* value;
  const char* document;
  const char* made;
};
class JsonSetPlaces : public testing::TestWithParam<SetCase> {};
TEST_P(JsonSetPlaces, AllOtherBytesStay) {
  JsonSet step({.path = GetParam().path, .value = GetParam().value});
  ASSERT_TRUE(step.check().ok()) << step.check().message();
  const auto made = made_of(step, GetParam().document);
  EXPECT_EQ(made, GetParam().made);
  if (!made) return;
  const std::size_t mark = made->starts_with("\xEF\xBB\xBF") ? 3 : 0;
  EXPECT_FALSE(internal::find_json_error(std::string_view(*made).substr(mark)));
}
INSTANTIATE_TEST_SUITE_P(
    Places, JsonSetPlaces,
    testing::Values(
        SetCase{"/a", "2", R"({"a": 1.0 ,"b":1})", R"({"a": 2 ,"b":1})"},
        SetCase{"/a", R"({"x":[]})", R"({"a":"\"x\""})", R"({"a":{"x":[]}})"},
        SetCase{"/a", "2", R"({"a":[1,{}]})", R"({"a":2})"},
        SetCase{"/b", "1.50", R"({"a":1})", R"({"a":1,"b":1.50})"},
        SetCase{"/b", "1", "{ \"a\":1 }\n", "{ \"a\":1,\"b\":1 }\n"},
        SetCase{"/b", "1", "{}", R"({"b":1})"}, SetCase{"/b", "1", " { } ", R"( {"b":1 } )"},
        SetCase{"/b", "1", "\xEF\xBB\xBF{}", "\xEF\xBB\xBF{\"b\":1}"},
        SetCase{"/a~1b\"", "1", "{}", R"({"a/b\"":1})"},
        SetCase{"/a/b", "\"x\"", R"({"a":{"c":{}},"d":{}})", R"({"a":{"c":{},"b":"x"},"d":{}})"},
        SetCase{"/a/b", "1", R"({"a":{},"d":0})", R"({"a":{"b":1},"d":0})"},
        SetCase{"/a/0", "9", R"({"a":[1,2]})", R"({"a":[9,2]})"},
        SetCase{"/a/2", "9", R"({"a":[1,2]})", R"({"a":[1,2,9]})"},
        SetCase{"/a/-", "9", R"({"a":[1,2]})", R"({"a":[1,2,9]})"},
        SetCase{"/a/-", "9", R"({"a":[]})", R"({"a":[9]})"},
        SetCase{"/a/0", "9", R"({"a":[ ]})", R"({"a":[9 ]})"}, SetCase{"/-", "9", "[1]", "[1,9]"},
        SetCase{"/a/-", "9", R"({"a":{}})", R"({"a":{"-":9}})"},
        SetCase{"/a/0", "9", R"({"a":{}})", R"({"a":{"0":9}})"},
        SetCase{"", "9", " {\"a\":1} ", " 9 "},
        SetCase{"/a", "2", R"({"a":1,"a":1})", R"({"a":2,"a":1})"},
        SetCase{"/a", "2", R"({"\u0061":1})", R"({"\u0061":2})"},
        SetCase{"/é", "2", R"({"\u00e9":1})", R"({"\u00e9":2})"},
        SetCase{"/a", "null", R"({"b":"}","c":"{["})", R"({"b":"}","c":"{[","a":null})"}));

TEST(JsonSet, WhereNothingCanHoldTheValueTheRecordIsRefused) {
  JsonSet deep({.path = "/a/b", .value = "1"});
  EXPECT_EQ(
      refusal_of(deep, "{}"),
      "json_set: /a/b cannot be set: the document has no /a (make it with a json_set in front)");
  EXPECT_EQ(refusal_of(deep, R"({"a":1})"),
            "json_set: /a/b cannot be set: /a is neither an object nor an array");
  EXPECT_EQ(refusal_of(deep, R"({"a":null})"),
            "json_set: /a/b cannot be set: /a is neither an object nor an array");
  EXPECT_EQ(refusal_of(deep, R"({"a":[]})"),
            "json_set: /a/b cannot be set: an array takes an index that it has, the next one, or "
            "\"-\" for that");
  JsonSet index({.path = "/a/3", .value = "1"});
  EXPECT_NE(refusal_of(index, R"({"a":[1,2]})").find("an array takes an index"), std::string::npos);
  JsonSet top({.path = "/a", .value = "1"});
  EXPECT_EQ(refusal_of(top, "17"),
            "json_set: /a cannot be set: the document is neither an object nor an array");
  EXPECT_EQ(refusal_of(top, "\"{}\""),
            "json_set: /a cannot be set: the document is neither an object nor an array");
  EXPECT_EQ(refusal_of(top, R"({"b":1)"), "not JSON: the text ends too early at byte 6 of 6");
  EXPECT_EQ(refusal_of(top, ""), "not JSON: an empty text at byte 0 of 0");
}

TEST(JsonSet, ANullValueStaysNull) {
  JsonSet step({.path = "/a", .value = "1"});
  Arena arena;
  Record in, out;
  EXPECT_EQ(step.apply(in, arena, out), Outcome::kPassed);
  EXPECT_TRUE(out.value.null());
}

TEST(JsonSet, FaultsAreToldWhenItIsMade) {
  EXPECT_EQ(JsonSet::make({.path = "/a", .value = "text"}).status().message(),
            "json_set: value: not one JSON value: expected true, false or null at byte 1 of "
            "\"text\" (a text stands in "
            "double quotes)");
  EXPECT_EQ(JsonSet::make({.path = "/a", .value = ""}).code(), Code::kInvalid);
  EXPECT_EQ(JsonSet::make({.path = "/a", .value = "1 2"}).code(), Code::kInvalid);
  EXPECT_EQ(JsonSet::make({.path = "a", .value = "1"}).code(), Code::kInvalid);
}

}  // namespace
}  // namespace sluice
