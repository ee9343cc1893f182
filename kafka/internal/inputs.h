#pragma once

#include <sluice/engine/context.h>
#include <sluice/kafka/client.h>

#include <map>
#include <set>
#include <string>

namespace sluice::kafka::internal {

/// What the Kafka sources of an attempt read from one cluster, for the decider of that cluster:
/// whose positions it can carry, and to which groups it commits them. Shard: the control thread.
struct KafkaInputs {
  struct Source {
    std::string group;  ///< empty: not committed for lag tools by the decider
    bool carried =
        true;  ///< its topics are named, so that the next process knows which positions to ask for
  };
  std::map<std::string, Source> sources;  ///< by id; known from Source::start() on
  std::set<kafka::TopicPartition>
      partitions;                ///< that exist, of all sources; known from Source::check() on
  std::set<std::string> groups;  ///< all groups named by sources, for a check
  /// Where the job's private group has a mark that a decision has left: those partitions have not
  /// been deleted since, as their offsets would have gone with them. Known from Decider::claim() on.
  std::set<kafka::TopicPartition> marked;
  bool decider = false;  ///< a transaction on this cluster decides and carries the group offsets
};

[[nodiscard]] inline std::shared_ptr<KafkaInputs> kafka_inputs(Attempt& attempt,
                                                               const std::string& cluster) {
  return attempt.shared<KafkaInputs>("kafka-inputs:" + cluster,
                                     [] { return std::make_shared<KafkaInputs>(); });
}

}  // namespace sluice::kafka::internal
