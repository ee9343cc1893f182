#pragma once

#include <sluice/engine/context.h>
#include <sluice/engine/event_time.h>
#include <sluice/engine/on_error.h>
#include <sluice/kafka/client.h>
#include <sluice/kafka/partitioner.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sluice::kafka {

/// Offsets by topic and partition: `{{"rides", {{0, 23}, {1, 42}}}}`.
using OffsetsByPartition = std::map<std::string, std::map<std::int32_t, std::int64_t>>;

/// A place in every partition: where reading starts, or stops. Made by the functions below.
struct Place {
  enum class Kind : std::uint8_t {
    kGroupOffsets,
    kEarliest,
    kLatest,
    kTimestamp,
    kOffsets,
    kNever
  };
  Kind kind = Kind::kNever;
  EventTime time = kNoEventTime;
  OffsetsByPartition offsets = {};
};

[[nodiscard]] inline Place group_offsets() {
  return {Place::Kind::kGroupOffsets, kNoEventTime, {}};
}
[[nodiscard]] inline Place earliest() { return {Place::Kind::kEarliest, kNoEventTime, {}}; }
/// As it is when the job starts; from then on a number, whatever arrives or restarts.
[[nodiscard]] inline Place latest() { return {Place::Kind::kLatest, kNoEventTime, {}}; }
/// The first record at or after `time`; the end as it is at the start where there is none.
[[nodiscard]] inline Place timestamp(EventTime time) { return {Place::Kind::kTimestamp, time, {}}; }
/// As a start: partitions that are not named begin at the group's offsets. As a stop: those end at
/// their latest.
[[nodiscard]] inline Place offsets(OffsetsByPartition given) {
  return {Place::Kind::kOffsets, kNoEventTime, std::move(given)};
}
[[nodiscard]] inline Place never() { return {}; }

enum class Isolation : std::uint8_t { kReadCommitted, kReadUncommitted };
/// Offsets in the user's group are for people and lag tools; the engine restores positions from its
/// checkpoints.
enum class CommitOffsets : std::uint8_t { kOnCheckpoint, kPeriodic, kNever };
/// A position that retention has passed, or that lies beyond the end (a topic made anew).
enum class OutOfRange : std::uint8_t { kFail, kEarliest, kLatest };
using OnError = sluice::OnError;  ///< a record that the deserializer refuses
/// A record that the topic does not take.
enum class TooLarge : std::uint8_t { kFail, kReject };

struct SourceOptions {
  std::string brokers = {};              ///< host:port,…
  std::vector<std::string> topics = {};  ///< or topic_pattern
  std::string topic_pattern = {};        ///< RE2; the whole name must match
  std::string group = {};
  Place start = group_offsets();  ///< not asked after a restore
  /// For partitions without a group offset: earliest(), latest() or timestamp().
  Place group_fallback = earliest();
  /// Bounded: fixed at the first start of the process, new partitions are not taken.
  Place stop = never();
  Isolation isolation = Isolation::kReadCommitted;
  CommitOffsets commit_offsets = CommitOffsets::kOnCheckpoint;
  std::chrono::nanoseconds commit_interval = std::chrono::seconds(5);  ///< of kPeriodic
  OutOfRange out_of_range = OutOfRange::kFail;
  std::chrono::nanoseconds discovery_interval = std::chrono::seconds(30);  ///< zero: never
  bool wait_for_topics = false;  ///< true: missing topics are waited for instead of refused
  OnError on_error = OnError::kFail;
  std::size_t buffer_bytes_max = 64u << 20;  ///< fetched and not yet processed, all shards together
  std::chrono::nanoseconds unreachable_after = std::chrono::seconds(20);  ///< at the start
  Properties properties = {};           ///< any property of the client library
  std::shared_ptr<Client> client = {};  ///< in place of one made from brokers and properties
};

struct SinkOptions {
  std::string brokers = {};
  std::string topic = {};  ///< may be empty where the serializer names one for each record
  Delivery delivery = Delivery::kExactlyOnce;
  Partitioner partitioner = keep();
  bool write_timestamp = true;  ///< false: the client's clock
  std::chrono::milliseconds transaction_timeout = std::chrono::seconds(60);
  TooLarge too_large = TooLarge::kFail;
  std::string transactional_id = {};  ///< default: sluice-<job>; one a cluster and job
  std::string decision_group = {};    ///< private group of the registers; default: sluice-<job>
  /// Of the topic of the registers; 0: three, or as many as there are brokers.
  std::int32_t decision_replication = 0;
  std::chrono::nanoseconds unreachable_after = std::chrono::seconds(20);
  Properties properties = {};
  std::shared_ptr<Client> client = {};
};

}  // namespace sluice::kafka
