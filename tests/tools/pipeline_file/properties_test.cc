// Goal: what the Kafka client or the guarantee would refuse is found without a connection (S57).
// Method: a pipeline without problems in which one part is replaced, and the exact lines.
#include <librdkafka/rdkafka.h>

#include "problems_of.h"

namespace sluice::tools {
namespace {

using testing::BadCase;
using testing::Parts;
using testing::problems_of;

std::string connection_with(const std::string& properties) {
  return Parts{.connection = "{brokers: b:9092, properties: " + properties + "}"}.text();
}

class BadProperties : public ::testing::TestWithParam<BadCase> {};
TEST_P(BadProperties, AreRefusedWithTheirPlace) {
  EXPECT_EQ(problems_of(GetParam().text), GetParam().problems);
}
INSTANTIATE_TEST_SUITE_P(
    Properties, BadProperties,
    ::testing::Values(
        BadCase{"unknown", connection_with("{sokcet.keepalive.enable: true}"),
                "p.yaml:4:40: error E018: could not use the property sokcet.keepalive.enable: No "
                "such configuration property: \"sokcet.keepalive.enable\"; correct it or remove "
                "it\n"},
        BadCase{
            "of_the_engine", connection_with("{enable.auto.commit: true}"),
            "p.yaml:4:40: error E018: could not use the property enable.auto.commit: only false "
            "is possible, since positions belong to the checkpoint; a commit by the library "
            "would move them; remove it\n"},
        BadCase{
            "several", connection_with("{acks: 1, transactional.id: x}"),
            "p.yaml:4:40: error E018: could not use the property acks: only all|-1 is possible, "
            "since exactly-once output needs it; remove it\n"
            "p.yaml:4:49: error E018: could not use the property transactional.id: it is an "
            "option of its own; remove it\n"},
        BadCase{"that_break_the_guarantee", connection_with("{message.timeout.ms: 60000}"),
                "p.yaml:4:40: error E019: message.timeout.ms=60000 does not go with delivery = "
                "exactly_once: it must be above 0 and below transaction_timeout "
                "(transaction.timeout.ms), 60000 ms: a delivery must fail before its transaction "
                "does\n"},
        BadCase{"isolation_that_contradicts",
                Parts{.source = "{kafka: {connection: main, topics: [in], group: g, properties: "
                                "{isolation.level: read_uncommitted}}}"}
                    .text(),
                "p.yaml:6:71: error E011: isolation.level=read_uncommitted contradicts isolation: "
                "read_committed; remove the property\n"},
        // S08: the other half, the broker's limit, needs the broker.
        BadCase{
            "transaction_shorter_than_the_interval",
            Parts{.top = "checkpoint: {interval: 2m}\n"}.text(),
            "p.yaml:9:3: error E019: sink \"out\": transaction_timeout of 1m is not above "
            "checkpoint.interval of 2m; a transaction is open for as long as an interval lasts: "
            "raise the one or lower the other\n"},
        BadCase{"no_group", Parts{.source = "{kafka: {connection: main, topics: [in]}}"}.text(),
                "p.yaml:6:15: error E009: sources.in.kafka has no key \"group\", which start: "
                "group_offsets needs; add group: NAME, or start: earliest\n"}),
    testing::name_of);

TEST(Properties, WithAWeakerGuaranteeALongDeliveryIsFine) {
  Parts parts{.top = "guarantee: at_least_once\n"};
  parts.connection = "{brokers: b:9092, properties: {message.timeout.ms: 60000}}";
  EXPECT_EQ(problems_of(parts.text()), "");
}

// S56: what the build lacks is refused at the start.
TEST(Properties, EveryCodecOfTheBuildIsTaken) {
  for (const std::string codec : {"none", "gzip", "snappy", "lz4", "zstd"}) {
    EXPECT_EQ(problems_of(connection_with("{compression.type: " + codec + "}")), "") << codec;
  }
  EXPECT_EQ(
      problems_of(connection_with("{compression.type: brotli}")),
      "p.yaml:4:40: error E018: could not use the property compression.type: Invalid value "
      "\"brotli\" for configuration property \"compression.codec\"; correct it or remove it\n");
}

}  // namespace
}  // namespace sluice::tools
