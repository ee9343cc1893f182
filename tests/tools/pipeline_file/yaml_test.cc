// Goal: whatever bytes a file holds, the reader says what is wrong and where, and never costs more
// than its limits allow. Method: tables of texts and the exact lines that come out.
#include "pipeline_file/yaml.h"

#include "problems_of.h"
#include <chrono>

namespace sluice::tools {
namespace {

using testing::BadCase;
using testing::problems_of;
using namespace std::chrono_literals;
using namespace std::string_literals;

class BadYaml : public ::testing::TestWithParam<BadCase> {};
TEST_P(BadYaml, IsRefusedWithItsPlace) {
  EXPECT_EQ(problems_of(GetParam().text), GetParam().problems);
}
INSTANTIATE_TEST_SUITE_P(
    Texts, BadYaml,
    ::testing::Values(
        BadCase{"empty", "", "p.yaml: error E009: the file is empty\n"},
        BadCase{"nul_byte", "version: 1\nname: a\0b\n"s,
                "p.yaml:2:8: error E004: a NUL byte; in a quoted text write \\x00 and the like\n"},
        BadCase{"control_character", "version: 1\nname: é\x01\n",
                "p.yaml:2:8: error E004: a control character (byte 0x01); in a quoted text write "
                "\\x00 and the like\n"},
        BadCase{"not_utf8", "name: \xff\n",
                "p.yaml: error E004: not UTF-8 at byte 6 of 8; save the file as UTF-8\n"},
        BadCase{"a_list", "- 1\n",
                "p.yaml:1:1: error E007: the file is a list, but must be a map of version, name, "
                "guarantee, checkpoint, restart, shards, memory, admin, connections, sources, "
                "operators, sinks, tests\n"},
        BadCase{"two_documents", "version: 1\n---\nversion: 1\n",
                "p.yaml:2:1: error E021: a second document begins here; a file holds one pipeline; "
                "remove the ---\n"},
        BadCase{"bracket_not_closed", "version: [1\nname: x\n",
                "p.yaml:3:1: error E002: not YAML: flow sequence without a closing bracket\n"},
        BadCase{"one_megabyte_too_much", std::string(kFileBytesMax + 1, '#'),
                "p.yaml: error E003: 1048577 bytes, but a pipeline file may have 1048576\n"}),
    testing::name_of);

std::string repeated(const std::string& text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

TEST(YamlLimits, AMegabyteOfBracketsEndsAtTheDepthLimit) {
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(
      problems_of(std::string(kFileBytesMax, '[')),
      "p.yaml:1:33: error E003: nested deeper than 32; no key of a pipeline lies that deep\n");
  EXPECT_LT(std::chrono::steady_clock::now() - before, 2s);
}

TEST(YamlLimits, AnAliasBombEndsAtTheNodeLimit) {
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1) + ",";
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + repeated(before, 10);
    bomb.back() = ']';
    bomb += '\n';
  }
  const auto before = std::chrono::steady_clock::now();
  const std::string problems = problems_of(bomb);
  EXPECT_NE(problems.find("error E003: more than 10000 values after aliases are expanded"),
            std::string::npos)
      << problems;
  EXPECT_LT(std::chrono::steady_clock::now() - before, 2s);
}

TEST(YamlLimits, ManyPlainValuesEndAtTheNodeLimit) {
  const std::string problems = problems_of("a: [" + repeated("x,", 20'000) + "]\n");
  EXPECT_NE(problems.find("E003: more than 10000 values"), std::string::npos) << problems;
}

Node read(std::string_view text) {
  Problems problems;
  auto node = read_yaml(text, std::make_shared<const std::string>("t"), problems);
  for (const Problem& problem : problems.sorted()) ADD_FAILURE() << problem.text();
  return node.value_or(Node{});
}

TEST(Yaml, EveryNodeKnowsItsPlace) {
  const Node root = read("a: 1\nb:\n  - x\n  - {c: 'é', d: 2}\n");
  EXPECT_EQ(root.find("a")->place.text(), "t:1:4");
  EXPECT_EQ(root.entry("b")->place.text(), "t:2:1");
  EXPECT_EQ(root.find("b")->items[1].find("c")->place.text(), "t:4:9");
  EXPECT_EQ(root.find("b")->items[1].find("d")->place.text(), "t:4:17");  // Characters, not bytes.
}

TEST(Yaml, QuotesAndNullsAreKept) {
  const Node root = read("a: '5'\nb: 5\nc:\nd: ~\ne: ''\n");
  EXPECT_TRUE(root.find("a")->quoted);
  EXPECT_FALSE(root.find("b")->quoted);
  EXPECT_EQ(root.find("c")->kind, Node::Kind::kNull);
  EXPECT_EQ(root.find("d")->kind, Node::Kind::kNull);
  EXPECT_EQ(root.find("e")->kind, Node::Kind::kScalar);
}

TEST(Yaml, AnAliasIsACopyOfWhatItsAnchorNames) {
  const Node root = read("a: &x {k: 1}\nb: *x\n");
  EXPECT_EQ(root.find("b")->find("k")->text, "1");
  EXPECT_EQ(root.find("b")->find("k")->place.text(), "t:1:11");
}

TEST(Yaml, AByteOrderMarkIsNoText) {
  EXPECT_EQ(read("\xef\xbb\xbf"
                 "a: 1\n")
                .find("a")
                ->text,
            "1");
}

class BadTree : public ::testing::TestWithParam<BadCase> {};
TEST_P(BadTree, IsRefusedWithItsPlace) {
  Problems problems;
  (void)read_yaml(GetParam().text, std::make_shared<const std::string>("p.yaml"), problems);
  std::string lines;
  for (const Problem& problem : problems.sorted()) lines += problem.text() + '\n';
  EXPECT_EQ(lines, GetParam().problems);
}
INSTANTIATE_TEST_SUITE_P(
    Texts, BadTree,
    ::testing::Values(
        BadCase{"same_key_twice", "a: 1\nb: 2\na: 3\nb: 4\n",
                "p.yaml:3:1: error E005: key \"a\" stands here a second time; the first one is at "
                "p.yaml:1:1; remove one\n"
                "p.yaml:4:1: error E005: key \"b\" stands here a second time; the first one is at "
                "p.yaml:2:1; remove one\n"},
        BadCase{"merge_key", "a: &x {k: 1}\nb: {<<: *x}\n",
                "p.yaml:2:5: error E021: merge keys (<<) are not used here; write the keys out, or "
                "use an alias for the whole map\n"},
        BadCase{"tag", "a: !!int 5\n",
                "p.yaml:1:4: error E021: tags, as !!int, are not used here; remove it\n"},
        BadCase{"list_as_a_key", "? [a, b]\n: 1\n",
                "p.yaml:1:3: error E021: a list as a key; keys are plain texts\n"},
        BadCase{"alias_without_anchor", "a: *nothing\n",
                "p.yaml:1:4: error E012: alias *nothing has no anchor &nothing before it\n"},
        BadCase{"alias_of_itself", "a: &x [*x]\n",
                "p.yaml:1:8: error E013: alias *x stands inside of what it means\n"}),
    testing::name_of);

}  // namespace
}  // namespace sluice::tools
