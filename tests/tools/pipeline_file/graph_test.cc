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
                "p.yaml:10:3: error E023: operator \"n\" numbers records behind a union or an "
                "operator with a key, where source partitions have no order any more; number each "
                "source in front of it\n"},
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
                "json_select, json_set, filter, number, print, window, deduplicate, join, lookup; "
                "exactly one is needed\n"},
        BadCase{"two", "print: {}, number: {prefix: c}",
                "p.yaml:8:30: error E011: operators.op has both print and number; exactly one is "
                "possible\n"},
        BadCase{
            "on_error_of_one_that_refuses_nothing", "print: {}, on_error: skip",
            "p.yaml:8:30: error E011: operators.op: print refuses no record, so on_error has no "
            "effect; remove it\n"}),
    testing::name_of);

// ---- event time and operators with a key ----

std::string in_time(const std::string& time, const std::string& op) {
  return Parts{.source = "{kafka: {connection: main, topics: [in], group: g}" + time + "}",
               .operators = "operators:\n  op: {input: in, " + op + "}\n",
               .sink = "{input: op, kafka: {connection: main, topic: out}}"}
      .text();
}

TEST(KeyedOperators, OneThatNeedsEventTimeNamesTheSourceThatHasNone) {
  EXPECT_EQ(problems_of(in_time("", "window: {key: /u, tumbling: 1m, aggregate: {n: count}}")),
            "p.yaml:8:3: error E024: operator \"op\" (window) needs event time, and its source "
            "\"in\" has none; give in a time: {field: /ts, unit: ms, max_out_of_order: 5s, "
            "idle_after: 30s}, or {from: record, idle_after: 30s} for Kafka's timestamps\n");
  EXPECT_EQ(problems_of(in_time("", "deduplicate: {key: /u, within: 1h}")).substr(0, 24),
            "p.yaml:8:3: error E024: ");
  EXPECT_EQ(problems_of(in_time("", "deduplicate: {key: /u, within: forever}")), "");
  EXPECT_EQ(problems_of(in_time(", time: {from: record}", "deduplicate: {key: /u, within: 1h}")),
            "");
}

TEST(KeyedOperators, ASourceWithoutTimeIsFoundBehindAUnionAndOtherOperators) {
  const std::string text =
      Parts{
          .source =
              "{kafka: {connection: main, topics: [in], group: g}, time: {field: /ts}}\n  in2: "
              "{kafka: {connection: main, topics: [in2], group: g}}",
          .operators =
              "operators:\n  both: {input: [in, in2], print: {}}\n"
              "  op: {input: both, window: {key: /u, session: {gap: 1m}, aggregate: {n: count}}}\n",
          .sink = "{input: op, kafka: {connection: main, topic: out}}"}
          .text();
  EXPECT_EQ(problems_of(text).substr(0, 87),
            "p.yaml:10:3: error E024: operator \"op\" (window) needs event time, and its source "
            "\"in2\" ");
}

TEST(KeyedOperators, NumberBehindOneIsRefused) {
  const std::string text =
      Parts{.operators =
                "operators:\n  op: {input: in, deduplicate: {key: /u, within: forever}}\n"
                "  n: {input: op, number: {prefix: c}}\n",
            .sink = "{input: n, kafka: {connection: main, topic: out}}"}
          .text();
  EXPECT_EQ(problems_of(text).substr(0, 24), "p.yaml:9:3: error E023: ");
}

class BadKeyed : public ::testing::TestWithParam<BadCase> {};
TEST_P(BadKeyed, IsRefusedWithItsPlace) {
  EXPECT_EQ(problems_of(in_time(", time: {field: /ts}", GetParam().text)), GetParam().problems);
}
INSTANTIATE_TEST_SUITE_P(
    Operators, BadKeyed,
    ::testing::Values(
        BadCase{
            "window_of_no_form", "window: {key: /u, aggregate: {n: count}}",
            "p.yaml:8:27: error E009: operators.op.window has none of the keys tumbling, sliding, "
            "session, calendar; exactly one is needed\n"},
        BadCase{"window_of_two_forms",
                "window: {key: /u, tumbling: 1m, session: {gap: 1m}, aggregate: {n: count}}",
                "p.yaml:8:51: error E011: operators.op.window has both tumbling and session; "
                "exactly one is "
                "possible\n"},
        BadCase{"window_of_no_time", "window: {key: /u, tumbling: 0s, aggregate: {n: count}}",
                "p.yaml:8:47: error E008: operators.op.window.tumbling is 0s, but 1ms to 87840h is "
                "possible\n"},
        BadCase{"half_a_millisecond", "window: {key: /u, tumbling: 1500us, aggregate: {n: count}}",
                "p.yaml:8:27: error E020: operators.op.window: tumbling is 1500us, but event time "
                "has whole "
                "milliseconds\n"},
        BadCase{"key_that_is_no_pointer",
                "window: {key: user, tumbling: 1m, aggregate: {n: count}}",
                "p.yaml:8:33: error E020: operators.op.window.key: \"user\" is no JSON pointer: "
                "JSON pointer "
                "\"user\": expected '/', as in \"/user\" (\"\" is the whole document) at byte 0\n"},
        BadCase{"aggregate_that_is_misspelt",
                "window: {key: /u, tumbling: 1m, aggregate: {n: {summ: /a}}}",
                "p.yaml:8:66: error E009: operators.op.window.aggregate.n has none of the keys "
                "sum, min, max, "
                "average, distinct, top; exactly one is needed\n"
                "p.yaml:8:67: error E006: operators.op.window.aggregate.n has no key \"summ\"; did "
                "you mean "
                "\"sum\"?\n"},
        BadCase{"aggregate_named_as_the_key",
                "window: {key: /u, tumbling: 1m, aggregate: {key: count}}",
                "p.yaml:8:27: error E020: operators.op.window: the aggregate \"key\" has the name "
                "of a field that "
                "every row has; give it another\n"},
        BadCase{
            "zone_that_nobody_knows",
            "window: {key: /u, calendar: {unit: day, zone: Europe/Berlim}, aggregate: {n: count}}",
            "p.yaml:8:27: error E020: operators.op.window: the time zone \"Europe/Berlim\" is not "
            "known (did "
            "you mean Europe/Berlin?)\n"},
        BadCase{"late_to_no_sink",
                "window: {key: /u, tumbling: 1m, aggregate: {n: count}, late: {send_to: lost}}",
                "p.yaml:8:90: error E012: there is no sink \"lost\"; there is out\n"},
        BadCase{"deduplicate_without_end", "deduplicate: {key: /u}",
                "p.yaml:8:32: error E009: operators.op.deduplicate has no key \"within\"; add "
                "within: 1h\n"}),
    testing::name_of);

class BadTime : public ::testing::TestWithParam<BadCase> {};
TEST_P(BadTime, IsRefusedWithItsPlace) {
  EXPECT_EQ(problems_of(in_time(GetParam().text, "deduplicate: {key: /u, within: 1h}")),
            GetParam().problems);
}
INSTANTIATE_TEST_SUITE_P(
    Sources, BadTime,
    ::testing::Values(BadCase{"from_nowhere", ", time: {unit: s}",
                              "p.yaml:6:65: error E009: sources.in.time has none of the keys "
                              "field, from; exactly one is needed\n"},
                      BadCase{"from_two_places", ", time: {field: /ts, from: record}",
                              "p.yaml:6:78: error E011: sources.in.time has both field and from; "
                              "exactly one is possible\n"},
                      BadCase{"unit", ", time: {field: /ts, unit: minutes}",
                              "p.yaml:6:84: error E008: sources.in.time.unit is \"minutes\", but "
                              "possible is s, ms, us or ns\n"}),
    testing::name_of);

}  // namespace
}  // namespace sluice::tools
