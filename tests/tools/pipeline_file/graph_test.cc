// Goal: what does not hang together is found before anything is asked of a cluster. Method: a
// pipeline without problems in which one part is replaced, and the exact lines that come out.
#include "problems_of.h"

namespace sluice::tools {
namespace {

using testing::BadCase;
using testing::Parts;
using testing::problems_of;

class BadGraph : public ::testing::TestWithParam<BadCase> {};
TEST_P(BadGraph, IsRefusedWithItsPlace) {
  EXPECT_EQ(problems_of(GetParam().text), GetParam().problems);
}
INSTANTIATE_TEST_SUITE_P(
    Graphs, BadGraph,
    ::testing::Values(
        BadCase{"input_that_is_misspelt",
                Parts{.operators = "operators:\n  show: {input: inn, print: {}}\n",
                      .sink = "{input: [in, show], kafka: {connection: main, topic: out}}"}
                    .text(),
                "p.yaml:8:17: error E012: there is no source or operator \"inn\"; did you mean "
                "\"in\"?\n"},
        BadCase{
            "connection_that_is_misspelt",
            Parts{.sink = "{input: in, kafka: {connection: mian, topic: out}}"}.text(),
            "p.yaml:8:40: error E012: there is no connection \"mian\"; did you mean \"main\"?\n"},
        BadCase{"sink_as_an_input",
                Parts{.operators = "operators:\n  show: {input: out, print: {}}\n",
                      .sink = "{input: [in, show], kafka: {connection: main, topic: out}}"}
                    .text(),
                "p.yaml:8:17: error E012: there is no source or operator \"out\"; there is in, "
                "show\n"},
        BadCase{"errors_sent_to_no_sink",
                Parts{.source = "{kafka: {connection: main, topics: [in], group: g}, on_error: "
                                "{send_to: dead}}"}
                    .text(),
                "p.yaml:6:79: error E012: there is no sink \"dead\"; there is out\n"},
        BadCase{"one_name_for_two",
                Parts{.operators = "operators:\n  in: {input: in, print: {}}\n"}.text(),
                "p.yaml:8:3: error E015: the name \"in\" is used twice; the other one is at "
                "p.yaml:6:3\n"},
        BadCase{"circle",
                Parts{.operators = "operators:\n  a: {input: [in, c], print: {}}\n"
                                   "  b: {input: a, print: {}}\n  c: {input: b, print: {}}\n",
                      .sink = "{input: c, kafka: {connection: main, topic: out}}"}
                    .text(),
                "p.yaml:8:3: error E013: records would flow in a circle: a -> b -> c -> a\n"},
        BadCase{"circle_of_errors",
                Parts{.sink = "{input: in, kafka: {connection: main, topic: out}, on_error: "
                              "{send_to: out}}"}
                    .text(),
                "p.yaml:8:3: error E013: records would flow in a circle: out -> out\n"},
        BadCase{"operator_that_nothing_reads",
                Parts{.operators = "operators:\n  show: {input: in, print: {}}\n"}.text(),
                "p.yaml:8:3: error E014: nothing reads the operator \"show\"; name it as an input, "
                "or remove it\n"},
        BadCase{
            "sink_that_nothing_feeds",
            Parts{.more = "  dead: {kafka: {connection: main, topic: dead}}\n"}.text(),
            "p.yaml:9:3: error E014: nothing is written to the sink \"dead\"; give it an input, "
            "let an on_error send to it, or remove it\n"},
        BadCase{"connection_that_nothing_uses",
                Parts{.connection = "{brokers: b:9092}\n  other: {brokers: c:9092}"}.text(),
                "p.yaml:5:3: warning W002: no source or sink uses the connection \"other\"\n"},
        BadCase{"number_behind_a_union",
                Parts{.source = "{kafka: {connection: main, topics: [in], group: g}}\n  in2: "
                                "{kafka: {connection: main, topics: [in2], group: g}}",
                      .operators = "operators:\n  both: {input: [in, in2], print: {}}\n"
                                   "  n: {input: both, number: {prefix: c}}\n",
                      .sink = "{input: n, kafka: {connection: main, topic: out}}"}
                    .text(),
                "p.yaml:10:3: error E023: operator \"n\" numbers records behind a union, where "
                "source partitions have no order any more; number each source in front of it\n"},
        BadCase{"test_of_no_operator",
                Parts{.more = "tests:\n  - {target: in, input: [], expect: []}\n"}.text(),
                "p.yaml:10:14: error E012: there is no operator \"in\"; the file defines none\n"},
        BadCase{"input_named_twice",
                Parts{.sink = "{input: [in, in], kafka: {connection: main, topic: out}}"}.text(),
                "p.yaml:8:21: error E005: the input \"in\" is named twice\n"}),
    testing::name_of);

std::string with_operator(const std::string& op) {
  return Parts{.operators = "operators:\n  op: {input: in, " + op + "}\n",
               .sink = "{input: op, kafka: {connection: main, topic: out}}"}
      .text();
}

class BadOperator : public ::testing::TestWithParam<BadCase> {};
TEST_P(BadOperator, IsRefusedWithItsPlace) {
  EXPECT_EQ(problems_of(with_operator(GetParam().text)), GetParam().problems);
}
INSTANTIATE_TEST_SUITE_P(
    Operators, BadOperator,
    ::testing::Values(
        BadCase{
            "pattern", "json_replace: {path: /a, pattern: '(', with: x}",
            "p.yaml:8:53: error E020: operators.op.json_replace.pattern: \"(\" is no RE2 regular "
            "expression: missing ): (\n"},
        BadCase{"with_missing", "json_replace: {path: /a, pattern: x}",
                "p.yaml:8:33: error E020: operators.op.json_replace: \"pattern\" needs \"with\": "
                "what stands there instead\n"},
        BadCase{"none", "on_error: skip",
                "p.yaml:8:7: error E009: operators.op has none of the keys json_replace, "
                "json_select, json_set, filter, number, print; exactly one is needed\n"},
        BadCase{"two", "print: {}, number: {prefix: c}",
                "p.yaml:8:30: error E011: operators.op has both print and number; exactly one is "
                "possible\n"},
        BadCase{
            "on_error_of_one_that_refuses_nothing", "print: {}, on_error: skip",
            "p.yaml:8:30: error E011: operators.op: print refuses no record, so on_error has no "
            "effect; remove it\n"}),
    testing::name_of);

}  // namespace
}  // namespace sluice::tools
