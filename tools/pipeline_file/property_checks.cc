#include "pipeline_file/property_checks.h"

#include <sluice/kafka/internal/rdkafka_config.h>
#include <sluice/kafka/internal/transactional_properties.h>

#include "pipeline_file/values.h"
#include <fmt/format.h>

#include <chrono>

namespace sluice::tools {
namespace {

using namespace std::chrono_literals;
using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;

/// Each alone, so that all that are wrong are named.
void check_client(const PropertySpecs& properties, Problems& problems) {
  for (const auto& [name, property] : properties) {
    const auto made = kafka::internal::RdConfig::make({}, {{name, property.value}});
    if (made.ok()) continue;
    problems.add(property.place, ProblemCode::kProperty, std::string(made.status().message()));
  }
}

void check_isolation(const SourceSpec& source, Problems& problems) {
  const auto at = source.properties.find("isolation.level");
  if (at == source.properties.end() || source.kafka == nullptr) return;
  const std::string isolation = text_or(source.kafka->find("isolation"), "read_committed");
  if (at->second.value == isolation) return;
  problems.add(
      at->second.place, ProblemCode::kConflict,
      fmt::format("isolation.level={} contradicts isolation: {}", at->second.value, isolation),
      "remove the property");
}

microseconds transaction_timeout(const SinkSpec& sink) {
  const Node* const given =
      sink.kafka == nullptr ? nullptr : sink.kafka->find("transaction_timeout");
  return duration_or(given, 60s);
}

/// A transaction is open from one checkpoint to the next.
void check_timeout(const Pipeline& pipeline, const SinkSpec& sink, Problems& problems) {
  const auto interval = duration_cast<microseconds>(pipeline.options.checkpoint.interval);
  const microseconds timeout = transaction_timeout(sink);
  if (interval < timeout) return;
  const Node* const given =
      sink.kafka == nullptr ? nullptr : sink.kafka->find("transaction_timeout");
  problems.add(given == nullptr ? sink.place : given->place, ProblemCode::kGuarantee,
               fmt::format("sink \"{}\": transaction_timeout of {} is not above "
                           "checkpoint.interval of {}",
                           sink.id, format_duration(timeout), format_duration(interval)),
               "a transaction is open for as long as an interval lasts: raise the one or lower "
               "the other");
}

void check_transactional(const Pipeline& pipeline, const SinkSpec& sink, Problems& problems) {
  if (pipeline.guarantee != Delivery::kExactlyOnce) return;
  check_timeout(pipeline, sink, problems);
  PropertySpecs all = sink.properties;
  if (const ConnectionSpec* const connection = pipeline.connection(sink.connection.name)) {
    all.insert(connection->properties.begin(), connection->properties.end());
  }
  const auto timeout = duration_cast<milliseconds>(transaction_timeout(sink));
  for (const auto& [name, property] : all) {
    // What the client refuses whatever the guarantee is told by check_client.
    if (!kafka::internal::RdConfig::make({}, {{name, property.value}}).ok()) continue;
    const Status status =
        kafka::internal::check_transactional_property(name, property.value, timeout);
    if (status.ok()) continue;
    problems.add(property.place, ProblemCode::kGuarantee, std::string(status.message()));
  }
}

void check_group(const SourceSpec& source, Problems& problems) {
  if (source.kafka == nullptr || source.kafka->find("group") != nullptr) return;
  const Node* const start = source.kafka->find("start");
  const Node* const commits = source.kafka->find("commit_offsets");
  const bool by_group = start == nullptr || text_or(start, "") == "group_offsets" ||
                        start->find("offsets") != nullptr;
  const bool periodic = text_or(commits, "") == "periodic";
  if (!by_group && !periodic) return;
  problems.add(by_group && start != nullptr ? start->place
               : periodic                   ? commits->place
                                            : source.kafka->place,
               ProblemCode::kMissing,
               fmt::format("sources.{}.kafka has no key \"group\", which {} needs", source.id,
                           by_group ? "start: group_offsets" : "commit_offsets: periodic"),
               by_group ? "add group: NAME, or start: earliest" : "add group: NAME");
}

}  // namespace

void check_properties(const Pipeline& pipeline, Problems& problems) {
  for (const ConnectionSpec& connection : pipeline.connections) {
    check_client(connection.properties, problems);
  }
  for (const SourceSpec& source : pipeline.sources) {
    check_client(source.properties, problems);
    check_isolation(source, problems);
    check_group(source, problems);
  }
  for (const SinkSpec& sink : pipeline.sinks) {
    check_client(sink.properties, problems);
    check_transactional(pipeline, sink, problems);
  }
}

}  // namespace sluice::tools
