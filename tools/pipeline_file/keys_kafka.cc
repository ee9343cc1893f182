#include "pipeline_file/keys.h"
#include "pipeline_file/shapes.h"
#include "pipeline_file/text_checks.h"

#include <array>
#include <limits>

// The keys of connections, sources and sinks.
namespace sluice::tools {
namespace {

using namespace std::chrono_literals;

constexpr auto kFormats = std::to_array<std::string_view>({"bytes", "string", "json", "int64"});
constexpr auto kLaterFormats = std::to_array<std::string_view>({"csv", "avro"});
constexpr auto kOnError = std::to_array<std::string_view>({"fail", "skip"});
constexpr auto kSinkOnError = std::to_array<std::string_view>({"fail"});
constexpr auto kStarts = std::to_array<std::string_view>({"group_offsets", "earliest", "latest"});
constexpr auto kStops = std::to_array<std::string_view>({"never", "latest"});
constexpr auto kIsolations =
    std::to_array<std::string_view>({"read_committed", "read_uncommitted"});
constexpr auto kCommits = std::to_array<std::string_view>({"on_checkpoint", "periodic", "never"});
constexpr auto kOutOfRange = std::to_array<std::string_view>({"fail", "earliest", "latest"});
constexpr auto kKeys = std::to_array<std::string_view>({"keep", "none"});
constexpr auto kPartitions =
    std::to_array<std::string_view>({"hash", "keep", "fixed", "round_robin"});
constexpr auto kHashes = std::to_array<std::string_view>({"murmur2", "librdkafka"});

const Shape kTopic = text(check_topic);
const Shape kId = text(check_id);
const Shape kProperty{.scalar = Scalar::kText, .secret_file = true};
const Shape kOffset = integer(0, std::numeric_limits<std::int64_t>::max());
const Shape kPartitionOffsets = map_by("partition", kOffset, 1, check_partition);

// ---- a failing record ----

const Key kSendToKeys[] = {
    {.name = "send_to",
     .shape = text(check_id),
     .need = Need::kRequired,
     .help = "A sink: it gets the record as it was, with the reason and its origin in headers "
             "(sluice.error, sluice.source.topic, .partition, .offset, .timestamp).",
     .example = "dead"},
};
const Section kSendTo{
    .title = "on_error", .help = "Failing records go to a sink.", .keys = kSendToKeys};
const Shape kOnErrorShape = word_or_map(kOnError, kSendTo);
const Shape kSinkOnErrorShape = word_or_map(kSinkOnError, kSendTo);

// ---- connections ----

const Key kConnectionKeys[] = {
    {.name = "brokers",
     .shape = text(check_brokers),
     .need = Need::kRequired,
     .help = "Where the cluster is: host:port, separated by commas.",
     .example = "\"${BROKERS:-127.0.0.1:9092}\""},
    {.name = "properties",
     .shape = map_by("librdkafka property", kProperty),
     .help = "Any property of librdkafka, for all sources and sinks of the connection. Take "
             "passwords from a file, {file: PATH}, or from the environment.",
     .example = "{security.protocol: sasl_ssl, sasl.password: {file: /run/secrets/kafka}}"},
};
const Section kConnection{.title = "connections",
                          .help =
                              "A Kafka cluster. The key is the name that sources and sinks "
                              "use.",
                          .keys = kConnectionKeys};

// ---- sources ----

const Key kPlaceKeys[] = {
    {.name = "timestamp",
     .shape = text(check_timestamp),
     .need = Need::kOneOf,
     .help = "The first record at or after this time: 2026-01-31T08:00:00Z, or milliseconds since "
             "1970.",
     .example = "2026-01-31T08:00:00Z"},
    {.name = "offsets",
     .shape = map_by("topic", kPartitionOffsets, 1, check_topic),
     .need = Need::kOneOf,
     .help = "Given offsets by topic and partition. As a start, partitions that are not named "
             "begin at the group's offsets; as a stop, those end at their latest.",
     .example = "{events: {0: 23, 1: 42}}"},
};
const Section kPlace{
    .title = "start, stop", .help = "A place in every partition.", .keys = kPlaceKeys};

const Key kKafkaSourceKeys[] = {
    {.name = "connection",
     .shape = text(),
     .need = Need::kRequired,
     .help = "A name of connections.",
     .example = "main"},
    {.name = "topics",
     .shape = list_of(kTopic),
     .need = Need::kOneOf,
     .help = "Topics to read.",
     .example = "[events-a, events-b]"},
    {.name = "topic_pattern",
     .shape = text(check_pattern),
     .need = Need::kOneOf,
     .help = "An RE2 regular expression; the whole name of a topic must match. New topics are "
             "found while running.",
     .example = "'events-.*'"},
    {.name = "group",
     .shape = text(check_not_empty),
     .help = "The consumer group whose offsets are the start, and are updated for lag tools. "
             "Needed for start: group_offsets.",
     .example = "identity-rewrite"},
    {.name = "start",
     .shape = word_or_map(kStarts, kPlace),
     .fallback = "group_offsets",
     .help = "Where reading begins the first time; after a restart it goes on where the decided "
             "checkpoint says. Partitions without a group offset begin at their earliest.",
     .example = "earliest"},
    {.name = "stop",
     .shape = word_or_map(kStops, kPlace),
     .fallback = "never",
     .help = "Where reading ends; the job then takes a last checkpoint and ends.",
     .example = "latest"},
    {.name = "isolation",
     .shape = one_of(kIsolations),
     .fallback = "read_committed",
     .help = "Whether records of open and aborted transactions are read.",
     .example = "read_uncommitted"},
    {.name = "discovery_interval",
     .shape = duration(0s, 24h),
     .fallback = "30s",
     .help = "How often new partitions and topics are looked for; 0s: never. They are read from "
             "their beginning.",
     .example = "5s"},
    {.name = "commit_offsets",
     .shape = one_of(kCommits),
     .fallback = "on_checkpoint",
     .help = "When the group's offsets are updated. They are for people; restarts do not use "
             "them.",
     .example = "never"},
    {.name = "out_of_range",
     .shape = one_of(kOutOfRange),
     .fallback = "fail",
     .help = "What to do when retention has passed the position, or the topic was made anew.",
     .example = "earliest"},
    {.name = "wait_for_topics",
     .shape = boolean(),
     .fallback = "false",
     .help = "Wait for topics that do not exist instead of refusing to start.",
     .example = "true"},
    {.name = "properties",
     .shape = map_by("librdkafka property", kProperty),
     .help = "Properties of librdkafka for this source, on top of the connection's.",
     .example = "{fetch.max.bytes: 8388608}"},
};
const Section kKafkaSource{
    .title = "kafka (of a source)", .help = "Reads topics of a cluster.", .keys = kKafkaSourceKeys};

const Key kSourceKeys[] = {
    {.name = "kafka",
     .shape = map_of(kKafkaSource),
     .need = Need::kRequired,
     .help = "Reads topics of a cluster.",
     .example = "{connection: main, topics: [events], group: rewrite}"},
    {.name = "format",
     .shape = one_of(kFormats, kLaterFormats),
     .fallback = "bytes",
     .help = "What a value must be: anything, UTF-8 text, one JSON document, or 8 bytes big "
             "endian. Values are checked, not changed; null values pass.",
     .example = "json"},
    {.name = "on_error",
     .shape = kOnErrorShape,
     .fallback = "fail",
     .help = "What a value that is not of the format leads to.",
     .example = "{send_to: dead}"},
    {.name = "time",
     .shape = map_of(time_section()),
     .help = "When its records happened, and how far time has come: for windows and other operators "
             "that ask.",
     .example = "{field: /ts, unit: ms, max_out_of_order: 5s, idle_after: 30s}"},
};
const Section kSource{.title = "sources",
                      .help =
                          "Where records come from. The key is the name "
                          "that inputs use, and names positions in "
                          "checkpoints.",
                      .keys = kSourceKeys};

// ---- sinks ----

const Key kSinkKeyKeys[] = {
    {.name = "field",
     .shape = text(check_pointer),
     .need = Need::kRequired,
     .help = "A JSON pointer into the value. A text becomes the key as it is meant, anything else "
             "as it stands there; without the field there is no key.",
     .example = "/id"},
};
const Section kSinkKey{
    .title = "key", .help = "The key is taken from the value.", .keys = kSinkKeyKeys};

const Key kKafkaSinkKeys[] = {
    {.name = "connection",
     .shape = text(),
     .need = Need::kRequired,
     .help = "A name of connections.",
     .example = "main"},
    {.name = "topic",
     .shape = text(check_topic),
     .need = Need::kOneOf,
     .help = "The topic to write; it must exist.",
     .example = "events-clean"},
    {.name = "topic_field",
     .shape = text(),
     .need = Need::kOneOf,
     .help = "A JSON pointer to the topic's name in each document.",
     .example = "/topic",
     .not_yet = "name one topic, and a sink for each"},
    {.name = "key",
     .shape = word_or_map(kKeys, kSinkKey),
     .fallback = "keep",
     .help = "The key of written records: the one they came with, none, or a field of the value.",
     .example = "{field: /id}"},
    {.name = "partition",
     .shape = one_of(kPartitions),
     .fallback = "hash",
     .help = "The partition to write to: by hash of the key, the source's (modulo), one a shard, "
             "or in turn.",
     .example = "keep"},
    {.name = "hash",
     .shape = one_of(kHashes),
     .fallback = "murmur2",
     .help = "Of partition: hash. murmur2 puts keys where Java's producers do.",
     .example = "librdkafka"},
    {.name = "write_timestamp",
     .shape = boolean(),
     .fallback = "true",
     .help = "Whether a record keeps its timestamp; otherwise it gets the time of writing.",
     .example = "false"},
    {.name = "transaction_timeout",
     .shape = duration(1s, 24h),
     .fallback = "60s",
     .help = "Of exactly_once: after this time the broker aborts what a dead job left open. Above "
             "checkpoint.interval, and not above the broker's transaction.max.timeout.ms.",
     .example = "30s"},
    {.name = "properties",
     .shape = map_by("librdkafka property", kProperty),
     .help = "Properties of librdkafka for this sink, on top of the connection's.",
     .example = "{compression.type: zstd}"},
};
const Section kKafkaSink{.title = "kafka (of a sink)",
                         .help = "Writes to a topic of a cluster.",
                         .keys = kKafkaSinkKeys};

const Key kSinkKeys[] = {
    {.name = "input",
     .shape = text_or_list(kId),
     .help = "The source or operator whose records are written; a list writes those of all. May "
             "be left out where an on_error sends here.",
     .example = "rewrite"},
    {.name = "kafka",
     .shape = map_of(kKafkaSink),
     .need = Need::kRequired,
     .help = "Writes to a topic of a cluster.",
     .example = "{connection: main, topic: events-clean}"},
    {.name = "on_error",
     .shape = kSinkOnErrorShape,
     .fallback = "fail",
     .help = "What a record that is too large for the topic leads to.",
     .example = "{send_to: dead}"},
};
const Section kSink{
    .title = "sinks", .help = "Where records go. The key is the name.", .keys = kSinkKeys};

// ---- tests ----

const Shape kValue = text();
const Key kTestRecordKeys[] = {
    {.name = "key", .shape = text(), .help = "The record's key; none by default.", .example = "c1"},
    {.name = "value",
     .shape = text(),
     .help = "Its value; without one it is a tombstone.",
     .example = "'{\"a\":1}'"},
};
const Section kTestRecord{.title = "line (of a test)",
                          .help = "A record that goes in, where its value is not all of it.",
                          .keys = kTestRecordKeys};
const Shape kTestRecordShape{.scalar = Scalar::kText, .section = &kTestRecord};
const Shape kTestLine{
    .scalar = Scalar::kText, .values = &kTestRecordShape, .free_key = "input", .items_min = 1};
const Key kTestKeys[] = {
    {.name = "target",
     .shape = text(check_id),
     .need = Need::kRequired,
     .help = "The operator that is tried, alone.",
     .example = "rewrite"},
    {.name = "input",
     .shape = list_of(kTestLine, 0),
     .need = Need::kRequired,
     .help = "Values of records that go in, one after the other. Of an operator with two inputs "
             "each line says which it comes from: {orders: '{\"id\":1}'}. Lines are timed by the "
             "field of the first source in front that has one, also where they are rows of a "
             "window, join or lookup: give such a row that field too.",
     .example = "['{\"a\":1}']"},
    {.name = "expect",
     .shape = list_of(kValue, 0),
     .need = Need::kRequired,
     .help = "Values that must come out, in this order; of an operator with a key in any.",
     .example = "['{\"a\":1}']"},
    {.name = "errors",
     .shape = integer(0, 1'000'000),
     .fallback = "0",
     .help = "How many records must be refused by the operator.",
     .example = "1"},
};
const Section kTest{
    .title = "tests", .help = "Input for an operator and what must come out.", .keys = kTestKeys};

}  // namespace

const Section& connection_section() { return kConnection; }
const Section& source_section() { return kSource; }
const Section& kafka_source_section() { return kKafkaSource; }
const Section& sink_section() { return kSink; }
const Section& kafka_sink_section() { return kKafkaSink; }
const Section& test_section() { return kTest; }
const Shape& on_error_shape() { return kOnErrorShape; }
const Shape& sink_on_error_shape() { return kSinkOnErrorShape; }

}  // namespace sluice::tools
