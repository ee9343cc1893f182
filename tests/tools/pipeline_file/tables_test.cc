// Goal: the tables of keys, the reader, the schema for editors and the reference page say the same,
// and what the tables show as an example works. Method: every key and operator of the tables, the
// bad input of a list, and RapidJSON's schema validator against our own checks.
#include "pipeline_file/check.h"
#include "pipeline_file/json_value.h"
#include "pipeline_file/keys.h"
#include "pipeline_file/reference.h"
#include "pipeline_file/run_tests.h"
#include "pipeline_file/schema_json.h"
#include "pipeline_file/yaml.h"
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/schema.h>
#include <support/process.h>

#include "problems_of.h"
#include <fstream>
#include <iterator>

namespace sluice::tools {
namespace {

using testing::Parts;

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::optional<Node> tree(const std::string& text) {
  Problems problems;
  return read_yaml(text, std::make_shared<const std::string>("t"), problems);
}

// ---- examples ----

TEST(Examples, EveryKeyHasHelpAndAnExampleThatItsOwnCheckTakes) {
  for (const Section* const section : all_sections()) {
    for (const Key& key : section->keys) {
      const std::string name = std::string(section->title) + "." + std::string(key.name);
      EXPECT_FALSE(key.help.empty()) << name;
      ASSERT_FALSE(key.example.empty()) << name;
      if (!key.not_yet.empty()) continue;
      const auto node = tree("value: " + std::string(key.example) + "\n");
      ASSERT_TRUE(node.has_value()) << name;
      Overlay options;
      Node value = *node->find("value");
      if (value.text.starts_with("${")) continue;  // Filled in before it is checked.
      Problems problems;
      if (key.shape.secret_file || key.name == "properties") continue;  // Files are read before.
      check(value, key.shape, name, problems);
      for (const Problem& problem : problems.sorted()) ADD_FAILURE() << problem.text();
    }
  }
}

TEST(Examples, EveryDefaultIsAValueThatItsKeyTakes) {
  for (const Section* const section : all_sections()) {
    for (const Key& key : section->keys) {
      if (key.fallback.empty()) continue;
      const auto node = tree("value: " + std::string(key.fallback) + "\n");
      Problems problems;
      check(*node->find("value"), key.shape, std::string(key.name), problems);
      for (const Problem& problem : problems.sorted()) ADD_FAILURE() << problem.text();
    }
  }
}

TEST(Examples, OfEveryOperatorRunsAsATest) {
  std::size_t run = 0;
  for (const Section* const section : operator_sections()) {
    ASSERT_FALSE(section->example.empty()) << section->title;
    // "small: {input: events, …" is the operator's id.
    const std::string example(section->example);
    const std::size_t start = example.find("  ") + 2;
    const std::string id = example.substr(start, example.find(':', start) - start);
    Parts parts;
    parts.source =
        "{kafka: {connection: main, topics: [in], group: g}, format: json, time: {field: /ts}}";
    parts.sink = "{input: " + id + ", kafka: {connection: main, topic: out}}";
    std::string text = parts.text();
    text.replace(text.find("sources:\n  in:"), 14, "sources:\n  events:");
    for (const std::string second : {"payments", "customers"}) {
      if (example.find(second) == std::string::npos) continue;
      text.insert(text.find("sinks:"), "  " + second + ": " + parts.source + "\n");
    }
    const Loaded loaded = load_text(text + example, "p.yaml", ".", {});
    for (const Problem& problem : loaded.problems.sorted()) ADD_FAILURE() << problem.text();
    if (!loaded.problems.ok()) continue;
    EXPECT_FALSE(loaded.pipeline.tests.empty()) << section->title;
    for (const TestOutcome& outcome : run_tests(loaded.pipeline)) {
      EXPECT_EQ(outcome.failure, "") << section->title;
      ++run;
    }
  }
  EXPECT_GE(run, 6u);
}

// ---- the reference page ----

TEST(Reference, PageIsUpToDate) {
  // Compared without printing: the whole page twice would hide what to do.
  EXPECT_TRUE(content(sluice::testing::source_directory() / "tools/pipeline_file/reference.md") ==
              reference_markdown())
      << "write it anew: sluice explain --reference > tools/pipeline_file/reference.md";
}

TEST(Reference, ExplainsCodesKeysAndSections) {
  EXPECT_TRUE(explain_word("e012").starts_with("E012: a name that nothing has\n"));
  EXPECT_TRUE(explain_word("checkpoint.interval").starts_with("checkpoint.interval: Time between"));
  EXPECT_NE(explain_word("filter").find("equals"), std::string::npos);
  EXPECT_EQ(explain_word("nonsense"), "");
  for (const ProblemText& problem : all_problems()) {
    EXPECT_NE(explain_word(problem.code), "") << problem.code;
  }
}

// ---- the schema ----

class Schema : public ::testing::Test {
 protected:
  Schema() {
    document_.Parse(schema_json().c_str());
    EXPECT_FALSE(document_.HasParseError())
        << rapidjson::GetParseError_En(document_.GetParseError());
    schema_ = std::make_unique<rapidjson::SchemaDocument>(document_);
  }
  bool takes(const std::string& yaml) {
    const auto node = tree(yaml);
    EXPECT_TRUE(node.has_value()) << yaml;
    rapidjson::Document value;
    value.Parse(to_json(*node).c_str());
    rapidjson::SchemaValidator validator(*schema_);
    return value.Accept(validator);
  }
  static bool reader_takes(const std::string& yaml) {
    const auto node = tree(yaml);
    Problems problems;
    check(*node, pipeline_shape(), {}, problems);
    return problems.ok();
  }

  rapidjson::Document document_;
  std::unique_ptr<rapidjson::SchemaDocument> schema_;
};

TEST_F(Schema, SaysTheSameAsTheReader) {
  const std::string source = "{kafka: {connection: main, topics: [in], group: g";
  const auto from = [&](const std::string& more) { return Parts{.source = source + more}.text(); };
  const std::vector<std::string> good = {
      Parts{}.text(),
      Parts{.top = "guarantee: none\nshards: 4\ncheckpoint: {interval: 1.5s, keep: 1}\n"}.text(),
      Parts{.top = "restart: {strategy: fixed_delay, attempts_max: 3}\n"}.text(),
      from(", start: earliest, stop: {timestamp: 12}}, format: json, on_error: skip}"),
      from(", start: {offsets: {in: {0: 3}}}}, on_error: {send_to: out}}"),
      from("}, time: {field: /ts, unit: ns, idle_after: never}}"),
      Parts{.operators =
                "operators:\n  w: {input: in, window: {key: [/a], sliding: {size: 1m, slide: 5s}, "
                "aggregate: {n: count, t: {top: {n: 2, by: /x}}}, late: drop}}\n"}
          .text(),
      Parts{.operators = "operators:\n  j: {input: in, join: {with: [in], key: {left: /a, right: "
                         "{from: record}}, between: {from: -1.5s, to: 0s}, kind: full}}\n"
                         "  l: {input: in, lookup: {table: in, key: [/a, /b], time_to_live: 1h}}\n",
            .more = "tests:\n  - {target: j, input: [{in: a}, {in: {key: k}}], expect: []}\n"}
          .text(),
      Parts{.operators = "operators:\n  f: {input: [in], filter: {or: [{equals: {/a: 1}}, {not: "
                         "{exists: /b}}]}}\n"}
          .text(),
      Parts{.operators = "operators:\n  f: {input: in, json_select: {a: /a}}\n"
                         "  g: {input: f, json_set: {path: /x, value: {y: [1, null]}}}\n",
            .more = "tests:\n  - {target: f, input: [a, 1, true], expect: [], errors: 1}\n"}
          .text()};
  for (const std::string& text : good) {
    EXPECT_TRUE(takes(text)) << text;
    EXPECT_TRUE(reader_takes(text)) << text;
  }
  const std::vector<std::string> bad = {
      "version: 1\nname: x\n",
      Parts{.top = "gaurantee: none\n"}.text(),
      Parts{.top = "guarantee: nonsense\n"}.text(),
      Parts{.top = "guarantee: {a: 1}\n"}.text(),
      Parts{.top = "shards: 0\n"}.text(),
      Parts{.top = "shards: '4'\n"}.text(),
      Parts{.top = "shards: four\n"}.text(),
      Parts{.top = "checkpoint: {interval: 1000}\n"}.text(),
      Parts{.top = "checkpoint: {interval: 5 parsecs}\n"}.text(),
      Parts{.top = "checkpoint: {mode: unaligned}\n"}.text(),
      Parts{.top = "checkpoint: []\n"}.text(),
      Parts{.top = "memory: 1\n"}.text(),
      Parts{.connection = "{}"}.text(),
      Parts{.source = "{kafka: {connection: main, group: g}}"}.text(),
      from(", topic_pattern: x}}"),
      from(", start: {}}}"),
      from(", start: sometime}}"),
      from(", wait_for_topics: 1}}"),
      from("}, format: csv}"),
      from("}, time: /ts}"),
      from("}, time: {field: /ts, unit: h}}"),
      Parts{.operators = "operators:\n  w: {input: in, window: {key: /a, tumbling: 1m}}\n"}.text(),
      Parts{.operators =
                "operators:\n  w: {input: in, window: {key: /a, tumbling: 1m, aggregate: {n: "
                "counts}}}\n"}
          .text(),
      from("}, on_error: {send_to: a, b: c}}"),
      Parts{.operators = "operators:\n  j: {input: in, join: {with: in, key: /a}}\n"}.text(),
      Parts{.operators = "operators:\n  j: {input: in, join: {with: in, key: {left: /a}, tumbling: "
                         "1m}}\n"}
          .text(),
      Parts{.operators = "operators:\n  j: {input: in, join: {with: in, key: /a, between: {from: "
                         "--1m, to: 1m}}}\n"}
          .text(),
      Parts{.operators = "operators:\n  j: {input: in, join: {with: in, key: /a, tumbling: -1m}}\n"}
          .text(),
      Parts{.operators = "operators:\n  l: {input: in, lookup: {table: in, key: /a, kind: right}}\n"}
          .text(),
      Parts{.more = "tests:\n  - {target: j, input: [{in: {key: k, values: v}}], expect: []}\n"}
          .text(),
      Parts{.operators = "operators:\n  f: {input: in}\n"}.text(),
      Parts{.operators = "operators:\n  f: {input: in, print: {}, number: {prefix: c}}\n"}.text(),
      Parts{.operators = "operators:\n  f: {input: in, filter: {equals: 3}}\n"}.text(),
      Parts{.operators = "operators:\n  f: {input: in, filter: {and: [{nonsense: 1}]}}\n"}.text(),
      Parts{.operators = "operators:\n  f: {input: [], print: {}}\n"}.text(),
      Parts{.more = "tests: [{target: f}]\n"}.text(),
  };
  for (const std::string& text : bad) {
    EXPECT_FALSE(takes(text)) << text;
    EXPECT_FALSE(reader_takes(text)) << text;
  }
}

TEST_F(Schema, AVariableMayStandForAnySingleValue) {
  EXPECT_TRUE(takes(Parts{.top = "shards: \"${N}\"\nguarantee: \"${G}\"\ncheckpoint: {interval: "
                                 "\"${I:-1s}\"}\n"}
                        .text()));
}

}  // namespace
}  // namespace sluice::tools
