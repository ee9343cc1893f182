#include "pipeline_file/kafka_parts.h"

#include <sluice/kafka/sink.h>
#include <sluice/kafka/source.h>

#include "pipeline_file/format_check.h"
#include "pipeline_file/key_from_field.h"
#include "pipeline_file/values.h"

namespace sluice::tools {
namespace {

using namespace std::chrono_literals;

/// The connection's properties and the part's own on top.
kafka::Properties properties(const ConnectionSpec& connection, const PropertySpecs& own) {
  kafka::Properties all;
  for (const auto& [name, property] : connection.properties) all[name] = property.value;
  for (const auto& [name, property] : own) all[name] = property.value;
  return all;
}

kafka::OffsetsByPartition offsets(const Node& node) {
  kafka::OffsetsByPartition given;
  for (const Entry& topic : node.entries) {
    for (const Entry& partition : topic.value.entries) {
      const auto number = parse_integer(partition.key);
      given[topic.key][static_cast<std::int32_t>(number.value_or(-1))] =
          integer_or(&partition.value, -1);
    }
  }
  return given;
}

kafka::Place place(const Node* node, kafka::Place otherwise) {
  if (node == nullptr) return otherwise;
  const std::string word = text_or(node, "");
  if (word == "group_offsets") return kafka::group_offsets();
  if (word == "earliest") return kafka::earliest();
  if (word == "latest") return kafka::latest();
  if (word == "never") return kafka::never();
  if (const Node* const given = node->find("offsets")) return kafka::offsets(offsets(*given));
  const auto ms = parse_timestamp_ms(text_or(node->find("timestamp"), ""));
  return kafka::timestamp(EventTime(std::chrono::milliseconds(ms.value_or(0))));
}

kafka::Partitioner partitioner(const Node& kafka) {
  const std::string how = text_or(kafka.find("partition"), "hash");
  if (how == "keep") return kafka::keep();
  if (how == "fixed") return kafka::fixed();
  if (how == "round_robin") return kafka::round_robin();
  return text_or(kafka.find("hash"), "murmur2") == "librdkafka" ? kafka::hash_librdkafka()
                                                                : kafka::hash_murmur2();
}

struct WithoutKey {
  void operator()(const Record& record, kafka::SinkRecord& out) const noexcept {
    kafka::RecordSerializer()(record, out);
    out.key = Bytes();
  }
};

}  // namespace

kafka::SourceOptions source_options(const Pipeline& pipeline, const SourceSpec& spec) {
  const Node& given = *spec.kafka;
  const ConnectionSpec& connection = *pipeline.connection(spec.connection.name);
  kafka::SourceOptions options;
  options.brokers = connection.brokers;
  options.properties = properties(connection, spec.properties);
  if (const Node* const topics = given.find("topics")) {
    for (const Node& topic : topics->items) options.topics.push_back(topic.text);
  }
  options.topic_pattern = text_or(given.find("topic_pattern"), "");
  options.group = text_or(given.find("group"), "");
  options.start = place(given.find("start"), kafka::group_offsets());
  options.stop = place(given.find("stop"), kafka::never());
  if (text_or(given.find("isolation"), "") == "read_uncommitted") {
    options.isolation = kafka::Isolation::kReadUncommitted;
  }
  options.discovery_interval = duration_or(given.find("discovery_interval"), 30s);
  const std::string commits = text_or(given.find("commit_offsets"), "on_checkpoint");
  if (commits == "periodic") options.commit_offsets = kafka::CommitOffsets::kPeriodic;
  if (commits == "never") options.commit_offsets = kafka::CommitOffsets::kNever;
  const std::string range = text_or(given.find("out_of_range"), "fail");
  if (range == "earliest") options.out_of_range = kafka::OutOfRange::kEarliest;
  if (range == "latest") options.out_of_range = kafka::OutOfRange::kLatest;
  options.wait_for_topics = boolean_or(given.find("wait_for_topics"), false);
  options.on_error = spec.on_error.what;
  return options;
}

kafka::SinkOptions sink_options(const Pipeline& pipeline, const SinkSpec& spec) {
  const Node& given = *spec.kafka;
  const ConnectionSpec& connection = *pipeline.connection(spec.connection.name);
  kafka::SinkOptions options;
  options.brokers = connection.brokers;
  options.properties = properties(connection, spec.properties);
  options.topic = spec.topic;
  options.delivery = pipeline.guarantee;
  options.partitioner = partitioner(given);
  options.write_timestamp = boolean_or(given.find("write_timestamp"), true);
  options.transaction_timeout = std::chrono::duration_cast<std::chrono::milliseconds>(
      duration_or(given.find("transaction_timeout"), 60s));
  if (spec.on_error.what == OnError::kReject) {
    options.too_large = kafka::TooLarge::kReject;
  }
  return options;
}

std::shared_ptr<Source<Record>> make_source(const Pipeline& pipeline, const SourceSpec& spec) {
  kafka::SourceOptions options = source_options(pipeline, spec);
  // Anything is bytes, so nothing needs to look at them.
  if (spec.format == "bytes") return kafka::source<Record>(std::move(options));
  return kafka::source<Record>(std::move(options), FormatCheck(spec.format));
}

std::shared_ptr<Sink<Record>> make_sink(const Pipeline& pipeline, const SinkSpec& spec) {
  kafka::SinkOptions options = sink_options(pipeline, spec);
  const Node* const key = spec.kafka->find("key");
  if (text_or(key, "keep") == "none") {
    return kafka::sink<Record>(std::move(options), WithoutKey());
  }
  if (const Node* const field = key == nullptr ? nullptr : key->find("field")) {
    Result<JsonPointer> pointer = JsonPointer::make(text_or(field, ""));
    SLUICE_ASSERT(pointer.ok());  // check() read it before.
    return kafka::sink<Record>(std::move(options), KeyFromField(*std::move(pointer)));
  }
  return kafka::sink<Record>(std::move(options));
}

}  // namespace sluice::tools
