// Goal: each key is checked by itself, and all that is wrong is said in one run. Method: a pipeline
// without problems in which one part is replaced, and the exact lines that come out.
#include "problems_of.h"
#include <algorithm>

namespace sluice::tools {
namespace {

using testing::BadCase;
using testing::Parts;
using testing::problems_of;

TEST(Keys, AGoodPipelineHasNoProblems) { EXPECT_EQ(problems_of(Parts{}.text()), ""); }

class BadKeys : public ::testing::TestWithParam<BadCase> {};
TEST_P(BadKeys, AreNamedWithTheNearestRealOne) {
  EXPECT_EQ(problems_of(GetParam().text), GetParam().problems);
}
// Case S57, and its like.
INSTANTIATE_TEST_SUITE_P(
    Keys, BadKeys,
    ::testing::Values(
        BadCase{"misspelt", Parts{.top = "gaurantee: none\n"}.text(),
                "p.yaml:3:1: error E006: a pipeline has no key \"gaurantee\"; did you mean "
                "\"guarantee\"?\n"},
        BadCase{
            "misspelt_path", Parts{.top = "chekpoint.interval: 1s\n"}.text(),
            "p.yaml:3:1: error E006: a pipeline has no key \"chekpoint.interval\"; did you mean "
            "checkpoint.interval? It is written checkpoint: {interval: …}\n"},
        BadCase{"of_another_level",
                Parts{.source = "{topics: [in], kafka: {connection: main, topics: [in], group: g}}"}
                    .text(),
                "p.yaml:6:8: error E006: sources.in has no key \"topics\"; it belongs one level "
                "down, below kafka:\n"},
        BadCase{"unlike_anything", Parts{.connection = "{brokers: b:9092, colour: red}"}.text(),
                "p.yaml:4:27: error E006: connections.main has no key \"colour\"; possible is "
                "brokers, properties\n"},
        BadCase{"interval_of_zero", Parts{.top = "checkpoint: {interval: 0s}\n"}.text(),
                "p.yaml:3:24: error E008: checkpoint.interval is 0s, but 1ms to 1h is possible\n"},
        BadCase{"interval_below_zero", Parts{.top = "checkpoint: {interval: -5s}\n"}.text(),
                "p.yaml:3:24: error E007: checkpoint.interval: \"-5s\" is not a duration: write a "
                "number and a unit, as 250ms, 10s, 2m or 1h\n"},
        BadCase{"interval_of_parsecs", Parts{.top = "checkpoint: {interval: 5 parsecs}\n"}.text(),
                "p.yaml:3:24: error E007: checkpoint.interval: \"5 parsecs\" is not a duration: "
                "write a number and a unit, as 250ms, 10s, 2m or 1h\n"},
        BadCase{"interval_without_a_unit", Parts{.top = "checkpoint: {interval: 1000}\n"}.text(),
                "p.yaml:3:24: error E007: checkpoint.interval: \"1000\" is not a duration: write a "
                "number and a unit, as 250ms, 10s, 2m or 1h\n"},
        BadCase{
            "interval_twice", Parts{.top = "checkpoint: {interval: 1s, interval: 2s}\n"}.text(),
            "p.yaml:3:28: error E005: key \"interval\" stands here a second time; the first one "
            "is at p.yaml:3:14; remove one\n"},
        BadCase{"number_in_quotes", Parts{.top = "shards: '4'\n"}.text(),
                "p.yaml:3:9: error E007: shards: \"4\" is not a whole number; a number stands "
                "without quotes\n"},
        BadCase{"number_out_of_range", Parts{.top = "shards: 0\n"}.text(),
                "p.yaml:3:9: error E008: shards is 0, but 1 to 1024 is possible\n"},
        BadCase{"number_beyond_64_bits", Parts{.top = "shards: 99999999999999999999\n"}.text(),
                "p.yaml:3:9: error E007: shards: \"99999999999999999999\" is not a whole number\n"},
        BadCase{"unknown_word", Parts{.top = "guarantee: exactly_onec\n"}.text(),
                "p.yaml:3:12: error E008: guarantee is \"exactly_onec\", but possible is "
                "exactly_once, at_least_once or none; did you mean \"exactly_once\"?\n"},
        BadCase{"map_for_a_word", Parts{.top = "guarantee: {a: 1}\n"}.text(),
                "p.yaml:3:12: error E007: guarantee is a map of keys, but must be exactly_once, "
                "at_least_once or none\n"},
        BadCase{"no_value", Parts{.top = "guarantee:\n"}.text(),
                "p.yaml:3:1: error E007: guarantee has no value; give it exactly_once, "
                "at_least_once or none, or remove the key\n"},
        BadCase{"yes_for_true",
                Parts{.sink = "{input: in, kafka: {connection: main, topic: out, write_timestamp: "
                              "yes}}"}
                    .text(),
                "p.yaml:8:75: error E007: sinks.out.kafka.write_timestamp is \"yes\", but must be "
                "true or false\n"},
        BadCase{"missing_key", Parts{.connection = "{properties: {client.rack: a}}"}.text(),
                "p.yaml:4:9: error E009: connections.main has no key \"brokers\"; add brokers: "
                "\"${BROKERS:-127.0.0.1:9092}\"\n"},
        BadCase{"two_of_which_one",
                Parts{.source = "{kafka: {connection: main, topics: [in], topic_pattern: 'i.*', "
                                "group: g}}"}
                    .text(),
                "p.yaml:6:48: error E011: sources.in.kafka has both topics and topic_pattern; "
                "exactly one is possible\n"},
        BadCase{"none_of_which_one",
                Parts{.source = "{kafka: {connection: main, group: g}}"}.text(),
                "p.yaml:6:15: error E009: sources.in.kafka has none of the keys topics, "
                "topic_pattern; exactly one is needed\n"},
        BadCase{
            "bad_job_name", "version: 1\nname: a b\n",
            "p.yaml:1:1: error E009: the pipeline has no key \"sources\"; add sources: {events: "
            "{kafka: {connection: main, topics: [events], group: rewrite}}}\n"
            "p.yaml:1:1: error E009: the pipeline has no key \"sinks\"; add sinks: {out: "
            "{input: big, kafka: {connection: main, topic: big-events}}}\n"
            "p.yaml:2:7: error E020: name: \"a b\" is no name: 1 to 64 of A-Z a-z 0-9 . _ - are "
            "allowed\n"},
        BadCase{
            "partition_that_is_none",
            Parts{.source = "{kafka: {connection: main, topics: [in], group: g, start: "
                            "{offsets: {in: {a: 3}}}}}"}
                .text(),
            "p.yaml:6:81: error E008: sources.in.kafka.start.offsets.in: the partition \"a\" is "
            "no number of a partition\n"}),
    testing::name_of);

class NotYet : public ::testing::TestWithParam<BadCase> {};
TEST_P(NotYet, IsSaidPreciselyAndNotIgnored) {
  EXPECT_EQ(problems_of(GetParam().text), GetParam().problems);
}
INSTANTIATE_TEST_SUITE_P(
    Keys, NotYet,
    ::testing::Values(
        BadCase{
            "memory", Parts{.top = "memory: 512MiB\n"}.text(),
            "p.yaml:3:1: error E016: memory is not supported yet; remove it; buffers have fixed "
            "limits in this version\n"},
        BadCase{"admin", Parts{.top = "admin: {listen: 127.0.0.1:8081}\n"}.text(),
                "p.yaml:3:1: error E016: admin is not supported yet; remove it; \"sluice run\" "
                "shows rate and checkpoints on its terminal\n"},
        BadCase{
            "unaligned", Parts{.top = "checkpoint: {mode: unaligned}\n"}.text(),
            "p.yaml:3:20: error E016: checkpoint.mode: unaligned is not supported yet; possible "
            "is aligned\n"},
        BadCase{"csv",
                Parts{.source = "{kafka: {connection: main, topics: [in], group: g}, format: csv}"}
                    .text(),
                "p.yaml:6:67: error E016: sources.in.format: csv is not supported yet; possible is "
                "bytes, string, json or int64\n"},
        BadCase{"topic_field",
                Parts{.sink = "{input: in, kafka: {connection: main, topic_field: /t}}"}.text(),
                "p.yaml:8:46: error E016: sinks.out.kafka.topic_field is not supported yet; name "
                "one topic, and a sink for each\n"}),
    testing::name_of);

TEST(Keys, AllProblemsComeInOneRun) {
  const std::string problems =
      problems_of(Parts{.top = "shards: 0\ngaurantee: none\n",
                        .connection = "{}",
                        .operators = "operators:\n  f: {input: inn, filter: {equals: {a: 1}}}\n",
                        .sink = "{input: in, kafka: {connection: mian, topic: 'a b'}}"}
                      .text());
  EXPECT_EQ(std::ranges::count(problems, '\n'), 8) << problems;
}

}  // namespace
}  // namespace sluice::tools
