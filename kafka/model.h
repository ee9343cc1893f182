#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sluice/io/clock.h>
#include <sluice/kafka/client.h>

namespace sluice::kafka {

namespace internal {
class ModelState;
}

struct ModelOptions {
  std::int32_t brokers = 3;  ///< limits the replication of topics, nothing else
  /// A partition's and a group's first write in a transaction is checked with its coordinator (Kafka 3.6 and later). Without,
  /// a late request of the same producer epoch can open a transaction that nobody ends.
  bool verify_transactions = false;
  std::size_t producer_queue_records_max = 200'000;
  Properties settings = {};  ///< of the broker, above its defaults; effective: transaction.max.timeout.ms, message.max.bytes
};

/// A record with memory of its own.
struct ModelRecord {
  using Text = std::optional<std::string>;  ///< none: null, which is not empty
  Text key = {}, value = {};
  std::vector<std::pair<std::string, Text>> headers = {};
  EventTime time = kNoEventTime;  ///< none, in append(): the clock's; below 0: a record without one, to consumers
  Offset offset{-1};              ///< set by records()
};

/// The requests that a knob can name.
enum class ModelRequest : std::uint8_t {
  kInitProducerId,
  kAddPartitions,
  kAddOffsets,
  kTxnOffsetCommit,
  kProduce,
  kEndTxn,
  kMetadata,
  kCreateTopics,
  kListOffsets,
  kOffsetFetch,
  kOffsetCommit,
  kDescribeConfigs,
  kFetch,  ///< lost or delayed: nothing arrives this time, nothing is lost
};

/// Who sends a request again whose answer did not come.
enum class ModelResend : std::uint8_t {
  kCaller,   ///< the call ends with kRetry, and the next one sends it; records stay outstanding until delivered() or produce()
  kLibrary,  ///< the client, at once and without a word: the call succeeds, only tainted() tells (librdkafka with EndTxn)
};

/// What happens some time after the coordinator's decision.
enum class ModelStep : std::uint8_t {
  kLogMarkers,     ///< commit and abort markers of partitions; the last stable offset waits for them
  kOffsetMarkers,  ///< those of groups
  kOffsets,        ///< a marked group's offsets become visible
};

enum class ModelResource : std::uint8_t { kTopic, kGroup, kTransactionalId };
enum class ModelTransactionState : std::uint8_t {
  kEmpty,
  kOngoing,
  kPrepareCommit,
  kPrepareAbort,
  kCompleteCommit,
  kCompleteAbort,
};

/// A Kafka cluster in memory, behind the interface of kafka/client.h, for tests that no broker and no time disturbs.
///
/// It keeps what exactly-once rests on: logs with control records, last stable offsets and gaps; transactions whose
/// markers and offsets follow the decision; fencing by producer epoch; sequence numbers; group offsets that a transaction
/// holds back; requests that are lost, arrive late or hit a later transaction. Its rules are those of the explicit-state
/// model of the protocol. Each call is answered at once, whatever its deadline, and resumes through the caller's loop;
/// only produce() with a full queue and delivered() wait. A call that a real client would repeat until the deadline
/// (coordinator busy, answer lost) ends with kRetry.
///
/// Shard      any; one mutex. One io_context on one thread, no knob that waits: the same run every time.
/// Units      offsets count records and control records, as Kafka's do.
/// Errors     of its clients: those of kafka/client.h, with "model" as the broker where no name was given. Knobs assert on
///            names that do not exist.
/// Ownership  clients may outlive it; the clock outlives all of them.
///
///     ModelBroker broker({}, clock);
///     broker.create_topic("orders", 4);
///     const std::shared_ptr<Client> client = broker.client();
///     broker.lose_answer(ModelRequest::kEndTxn);          // the next commit: done, but nobody says so
///     …
///     EXPECT_EQ(broker.records({"orders", 0}).size(), 10);
class ModelBroker {
 public:
  explicit ModelBroker(ModelOptions options = {}, io::Clock& clock = io::system_clock());
  ModelBroker(const ModelBroker&) = delete;
  ModelBroker& operator=(const ModelBroker&) = delete;
  ~ModelBroker();

  [[nodiscard]] std::shared_ptr<Client> client(ClientOptions options = {});

  // ---- topics and logs ----
  /// `config`: max.message.bytes, message.timestamp.type.
  void create_topic(const std::string& name, std::int32_t partitions, const Properties& config = {});
  /// Its group offsets go with it. A topic made again under the name starts empty.
  void delete_topic(const std::string& name);
  void add_partitions(const std::string& name, std::int32_t total);
  /// A record by a producer without transactions.
  Offset append(const TopicPartition& at, const ModelRecord& record);
  /// What a consumer sees from the log's start to its end.
  [[nodiscard]] std::vector<ModelRecord> records(const TopicPartition& at, bool read_committed = true) const;
  [[nodiscard]] Offset start(const TopicPartition& at) const;
  [[nodiscard]] Offset end(const TopicPartition& at) const;
  [[nodiscard]] Offset last_stable(const TopicPartition& at) const;
  /// Retention: the log starts at `before`, or at its end where that is lower.
  void delete_records(const TopicPartition& at, Offset before);
  /// Compaction: these records are gone, their offsets stay unused.
  void compact(const TopicPartition& at, const std::vector<Offset>& offsets);

  // ---- transactions ----
  [[nodiscard]] ModelTransactionState transaction_state(const std::string& transactional_id) const;
  /// -1: not known.
  [[nodiscard]] int producer_epoch(const std::string& transactional_id) const;
  /// Every open transaction times out now: aborted, its producer fenced. By the clock alone this happens with the next
  /// request or poll of anybody, or tick().
  void expire_transactions();
  void tick();
  /// The step does not happen until release(); what waits happens then.
  void hold(ModelStep step);
  void release(ModelStep step);

  // ---- groups ----
  /// The visible offset; -1 where there is none. Pending ones do not count.
  [[nodiscard]] OffsetAndMetadata committed(const std::string& group, const TopicPartition& at) const;
  [[nodiscard]] bool pending(const std::string& group, const TopicPartition& at) const;
  /// An operator's reset; offset -1 removes.
  void set_committed(const std::string& group, OffsetAndMetadata offset);
  void delete_group(const std::string& group);
  /// The groups' coordinator moves; the old one keeps the offsets as they are and answers the next `count` OffsetFetch.
  void depose_coordinator(int count);

  // ---- faults ----
  /// The next `count` requests of the type are executed, but their answers are lost.
  void lose_answer(ModelRequest type, int count = 1, ModelResend resend = ModelResend::kCaller);
  /// The next `count` requests of the type stay in the network until release_delayed(), and are then executed, whoever
  /// has sent them again or died meanwhile.
  void delay(ModelRequest type, int count = 1, ModelResend resend = ModelResend::kCaller);
  void release_delayed();
  void drop_delayed();
  [[nodiscard]] std::size_t delayed() const;
  /// The next `count` requests of the type are answered "not the coordinator": nothing happened, nothing is tainted.
  void refuse(ModelRequest type, int count = 1);
  /// Knobs that no request has met yet.
  [[nodiscard]] std::size_t faults_left() const;
  /// The next `count` produce requests fail for good.
  void fail_deliveries(int count = 1);
  /// true: records stay in the producers' queues.
  void hold_deliveries(bool held);
  /// false: nothing answers, and open connections are closed.
  void set_reachable(bool reachable);
  /// Taints every transactional producer.
  void close_connections();
  void deny(ModelResource kind, const std::string& name);
  void allow(ModelResource kind, const std::string& name);

 private:
  std::shared_ptr<internal::ModelState> state_;
};

}  // namespace sluice::kafka
