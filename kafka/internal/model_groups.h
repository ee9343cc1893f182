#pragma once

#include <map>
#include <string>
#include <vector>

#include <sluice/kafka/internal/model_log.h>

namespace sluice::kafka::internal {

/// The coordinator of all groups: committed offsets, and those that a transaction holds back. Callers hold the broker's
/// mutex. A value: a copy is what a deposed coordinator still knows.
class ModelGroups {
 public:
  void commit(const std::string& group, const OffsetAndMetadata& offset);
  /// Held back until the transaction's marker has come and was taken up.
  [[nodiscard]] ModelAnswer commit(const std::string& group, std::int64_t producer, int epoch,
                                   const std::vector<OffsetAndMetadata>& offsets);
  /// Whether the producer holds back offsets here.
  [[nodiscard]] bool holds(const std::string& group, std::int64_t producer) const;
  /// False: the marker before it is not taken up yet.
  [[nodiscard]] bool mark(const std::string& group, std::int64_t producer, int epoch, bool commit);
  /// Takes up the markers that have come; true when there were any.
  bool settle();

  /// One answer for all, in their order; kUnstable where a transaction touches one of them.
  [[nodiscard]] ModelAnswer fetch(const std::string& group, std::vector<OffsetAndMetadata>& asked) const;
  [[nodiscard]] OffsetAndMetadata committed(const std::string& group, const TopicPartition& at) const;
  [[nodiscard]] bool pending(const std::string& group, const TopicPartition& at) const;
  void erase(const std::string& group) { groups_.erase(group); }
  void erase_topic(const std::string& topic);

 private:
  enum class Marker : std::uint8_t { kNone, kCommit, kAbort };
  struct Held {
    int epoch = -1;
    Marker marker = Marker::kNone;
    std::map<TopicPartition, OffsetAndMetadata> offsets;
  };
  struct Group {
    std::map<TopicPartition, OffsetAndMetadata> offsets;
    std::map<std::int64_t, Held> held;  // By producer.
  };
  std::map<std::string, Group> groups_;
};

}  // namespace sluice::kafka::internal
