#include <sluice/engine/formats/json_pointer.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice {
namespace {

std::vector<std::string> names(std::string_view text) {
  const auto pointer = JsonPointer::make(text);
  EXPECT_TRUE(pointer.ok()) << pointer.status().message();
  std::vector<std::string> found;
  if (pointer.ok()) {
    for (const JsonPointer::Token& token : pointer->tokens()) found.push_back(token.name);
  }
  return found;
}
std::string error(std::string_view text) {
  const auto pointer = JsonPointer::make(text);
  EXPECT_FALSE(pointer.ok()) << text;
  return pointer.ok() ? "" : std::string(pointer.status().message());
}
using Names = std::vector<std::string>;

TEST(JsonPointer, ExamplesOfTheStandard) {
  EXPECT_EQ(names(""), Names{});
  EXPECT_EQ(names("/foo"), Names{"foo"});
  EXPECT_EQ(names("/foo/0"), (Names{"foo", "0"}));
  EXPECT_EQ(names("/"), Names{""});
  EXPECT_EQ(names("/a~1b"), Names{"a/b"});
  EXPECT_EQ(names("/c%d"), Names{"c%d"});
  EXPECT_EQ(names("/i\\j"), Names{"i\\j"});
  EXPECT_EQ(names("/k\"l"), Names{"k\"l"});
  EXPECT_EQ(names("/ "), Names{" "});
  EXPECT_EQ(names("/m~0n"), Names{"m~n"});
  EXPECT_EQ(names("/~01"), Names{"~1"});  // Not "/": the order of unescaping matters.
  EXPECT_EQ(names("//a//"), (Names{"", "a", "", ""}));
}

TEST(JsonPointer, AnIndexHasNoZerosInFrontAndNoSign) {
  const auto index = [](std::string_view text) {
    return JsonPointer::make(text)->tokens()[0].index;
  };
  EXPECT_EQ(index("/0"), 0u);
  EXPECT_EQ(index("/10"), 10u);
  EXPECT_EQ(index("/18446744073709551615"), 18446744073709551615u);
  for (const char* none :
       {"/00", "/01", "/-1", "/+1", "/-", "/", "/1a", "/18446744073709551616", "/1 "}) {
    EXPECT_EQ(index(none), std::nullopt) << none;
  }
}

TEST(JsonPointer, ErrorsNameTheByteAndTheRemedy) {
  EXPECT_EQ(error("identityUri"),
            "JSON pointer \"identityUri\": expected '/', as in \"/identityUri\" (\"\" is the whole "
            "document) at byte 0");
  EXPECT_EQ(
      error("/a~2"),
      "JSON pointer \"/a~2\": '~' must be written \"~0\" (and '/' in a name \"~1\") at byte 2");
  EXPECT_NE(error("/a~").find("at byte 2"), std::string::npos);
  EXPECT_EQ(error("/\xc3\x28"), "a JSON pointer is not UTF-8 at byte 1");
}

TEST(JsonPointer, LevelsAreBounded) {
  std::string text;
  for (std::size_t i = 0; i < JsonPointer::kLevelsMax; ++i) text += "/a";
  EXPECT_EQ(names(text).size(), JsonPointer::kLevelsMax);
  EXPECT_NE(error(text + "/a").find("more than 64 levels at byte 128"), std::string::npos)
      << error(text + "/a");
}

TEST(JsonPointer, ParentIsAllButTheLastLevel) {
  const auto pointer = JsonPointer::make("/a~1b/0/c");
  EXPECT_EQ(pointer->parent().text(), "/a~1b/0");
  EXPECT_EQ(pointer->parent().tokens().size(), 2u);
  EXPECT_TRUE(JsonPointer::make("/a")->parent().whole());
}

}  // namespace
}  // namespace sluice
