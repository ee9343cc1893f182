#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/engine/record.h>
#include <sluice/io/base/metrics.h>
#include <sluice/io/base/result.h>
#include <sluice/io/clock.h>
#include <sluice/io/event.h>
#include <sluice/io/executor.h>

/// The engine's view of a Kafka cluster: asynchronous, in whole batches, the same for every client underneath.
/// Implementations: librdkafka (make_client) and a model of a broker in memory (kafka/model.h).
/// Nothing above this file may know which one runs.
///
/// Errors, the same everywhere:
///   kCancelled       asked to stop
///   kRetry           nothing happened, or the same call resumes it; under the caller's deadline
///   kRecover         a delivery failed, an abortable or fatal error; fencing too, as the client cannot tell a
///                    timeout from a second instance (the registers can): init() again, from a new handle
///   kInvalid         exit status 69 unreachable, 77 refused by authorisation, 78 anything a person must correct;
///                    the message names broker, topic, option and remedy
///   kExhausted       a record is larger than the limit that the message names
///   kCorrupt         the broker's data cannot be right (checksum, out-of-range position: message says which)
namespace sluice::kafka {

struct TopicPartition {
  std::string topic;
  std::int32_t partition = 0;
  auto operator<=>(const TopicPartition&) const = default;
};

using Properties = std::map<std::string, std::string>;

// ---- consumer ----

/// Records of one partition, in order of offset.
struct FetchedRun {
  std::uint32_t assignment = 0;  ///< index, in the order in which assign() named the partitions
  std::uint32_t first = 0, count = 0;  ///< in Fetch::records; count may be 0: only the position moved
  Offset next{0};  ///< position behind this run; passes control records, aborted records and compaction gaps
  bool at_end = false;  ///< nothing more is readable behind `next` at this moment
};

/// What arrived. Views point into `memory`, which lives as long as somebody holds it.
struct Fetch {
  std::vector<Record> records;
  std::vector<FetchedRun> runs;
  std::shared_ptr<const void> memory;
  std::size_t bytes = 0;  ///< weight of the memory
};

struct ConsumerOptions {
  bool read_committed = true;
  std::size_t buffer_bytes_max = 64u << 20;  ///< what the client may hold ready, all partitions together
  Properties properties;                     ///< passed through
};

/// Reads given partitions from given positions; no group membership.
///
/// Shard      the one of the executor it was made for, all calls; `arrival` is set from a thread of the client.
/// Ownership  fetches may outlive the consumer's close() but not its destruction.
class Consumer {
 public:
  struct Assignment {
    TopicPartition partition;
    Offset start{0};  ///< a number, never "earliest"
  };
  virtual ~Consumer() = default;
  /// Adds partitions; those assigned already keep their position.
  [[nodiscard]] virtual asio::awaitable<Status> assign(std::vector<Assignment> added) = 0;
  /// What is there, at once: an empty Fetch when nothing is. `arrival` (see Client::consumer) is set when asking again is
  /// worth it. Records below the position that was handed out are dropped and counted
  /// (sluice_kafka_repeated_records_total). A start that retention has passed: kCorrupt, with the numbers wanted and there.
  [[nodiscard]] virtual Result<Fetch> poll(std::size_t records_max) = 0;
  /// Whether that is why poll() failed; kCorrupt may also mean bytes that do not check.
  [[nodiscard]] virtual bool out_of_range() const noexcept = 0;
  virtual void pause(std::uint32_t assignment) = 0;
  virtual void resume(std::uint32_t assignment) = 0;
  [[nodiscard]] virtual asio::awaitable<Status> close() = 0;
};

// ---- producer ----

struct TopicInfo {
  std::uint32_t handle = 0;  ///< for OutRecord::topic
  std::int32_t partitions = 0;
  std::size_t record_bytes_max = 0;  ///< the smaller of the topic's max.message.bytes and the client's, less overhead
};

struct OutRecord {
  std::uint32_t topic = 0;
  std::int32_t partition = 0;  ///< always given: the engine computes it
  Bytes key, value;
  std::span<const Header> headers;
  EventTime time = kNoEventTime;  ///< none: the client's clock
};

struct ProducerOptions {
  std::string transactional_id;  ///< empty: idempotent only
  std::chrono::milliseconds transaction_timeout{60'000};
  std::chrono::milliseconds linger{1};  ///< how long a record may wait for others of its request
  bool acks_all = true;  ///< false: `delivery: none`
  Properties properties;
};

struct OffsetAndMetadata {
  TopicPartition partition;
  std::int64_t offset = -1;  ///< -1: none committed. Handing out a negative one asserts.
  std::string metadata;
};

/// Shard      produce() from any shard, each its own records; everything else from the control thread. Callers resume
///            on the executor they came from.
class Producer {
 public:
  virtual ~Producer() = default;
  /// Looked up once, before the first record. Unknown topic or no right to write: kInvalid.
  [[nodiscard]] virtual asio::awaitable<Result<TopicInfo>> topic(std::string name) = 0;
  /// Hands all of `records` over in order (bytes are copied); waits while the client's queue is full. kExhausted: record
  /// `*too_large` (index) is over the limit, those before it are handed over, it and those behind are not.
  [[nodiscard]] virtual asio::awaitable<Status> produce(std::span<const OutRecord> records, std::size_t* too_large) = 0;
  /// Hurries what lingers for 3 ms or more, and waits until every record handed over so far is acknowledged; a failed delivery, of any record since init: kRecover.
  /// kRetry at the deadline.
  [[nodiscard]] virtual asio::awaitable<Status> delivered(io::Monotonic deadline) = 0;
  /// A barrier is here: what waits for others of its request (`linger`) goes at once. Does not wait.
  virtual void hurry() {}
  /// Not delivered yet; any thread.
  [[nodiscard]] virtual std::size_t outstanding() const noexcept = 0;
  /// Joins the client's threads, on a thread of its own; drops what is not delivered.
  [[nodiscard]] virtual asio::awaitable<Status> close() = 0;
};

/// One transactional handle of a cluster. Blocking calls of the client run on a thread of its own; a call that goes past
/// its deadline by more than a grace and cannot be resumed ends the process with exit status 1 (librdkafka 2.0.2:
/// send_offsets with the coordinator gone).
class TransactionalProducer : public Producer {
 public:
  /// Fences and aborts what another handle left open. Resumed in slices; kRetry at the deadline. Clears tainted().
  [[nodiscard]] virtual asio::awaitable<Status> init(io::Monotonic deadline) = 0;
  [[nodiscard]] virtual asio::awaitable<Status> begin() = 0;
  /// Negative offsets assert: librdkafka would say success and do nothing.
  [[nodiscard]] virtual asio::awaitable<Status> send_offsets(std::string group, std::vector<OffsetAndMetadata> offsets,
                                                             io::Monotonic deadline) = 0;
  /// Requires outstanding() == 0 (asserted). A timeout or retriable error: kRetry, and only commit() may follow.
  [[nodiscard]] virtual asio::awaitable<Status> commit(io::Monotonic deadline) = 0;
  /// Since the last init a connection of the handle closed or a request timed out, or was answered late: a request may
  /// still arrive and hit a later transaction. Any thread.
  [[nodiscard]] virtual bool tainted() const noexcept = 0;
  /// Since the last init the broker refused this handle's producer epoch: another handle's init, or a transaction that timed
  /// out. Any thread.
  [[nodiscard]] virtual bool fenced() const noexcept = 0;
  // There is no abort: a producer epoch that stays would let a late produce request into the next transaction.
};

// ---- the rest ----

struct TopicMetadata {
  std::string name;
  std::int32_t partitions = 0;  ///< 0: does not exist
  Status status;                ///< not ok: no right to describe, or another error of this topic
};

enum class OffsetKind : std::uint8_t { kEarliest, kLatest, kAtTime };  ///< latest: last stable offset if read_committed

/// Questions and rare commands. Blocking calls of the client run on a thread of its own.
/// Shard: of the executor it was made for.
class Admin {
 public:
  virtual ~Admin() = default;
  /// Named topics; with an empty list all topics. A topic that does not exist comes back with 0 partitions and is not
  /// created by the look-up.
  [[nodiscard]] virtual asio::awaitable<Result<std::vector<TopicMetadata>>> topics(std::vector<std::string> names,
                                                                                   io::Monotonic deadline) = 0;
  /// ok when it exists already.
  [[nodiscard]] virtual asio::awaitable<Status> create_topic(std::string name, std::int32_t partitions,
                                                             std::int32_t replication, Properties config,
                                                             io::Monotonic deadline) = 0;
  /// One answer an input, in its order. kAtTime: first record at or after `time`, the end where there is none.
  [[nodiscard]] virtual asio::awaitable<Result<std::vector<Offset>>> offsets(std::vector<TopicPartition> partitions,
                                                                             OffsetKind kind, EventTime time,
                                                                             bool read_committed,
                                                                             io::Monotonic deadline) = 0;
  /// Committed offsets of a group, by name, in ONE request that requires stable offsets: an open or completing transaction
  /// that touches one of them gives kRetry, never an older value.
  [[nodiscard]] virtual asio::awaitable<Result<std::vector<OffsetAndMetadata>>> committed(
      std::string group, std::vector<TopicPartition> partitions, io::Monotonic deadline) = 0;
  /// Commits outside a transaction (group offsets of jobs without exactly once).
  [[nodiscard]] virtual asio::awaitable<Status> commit_offsets(std::string group, std::vector<OffsetAndMetadata> offsets,
                                                               io::Monotonic deadline) = 0;
  /// Value of a broker's setting, such as transaction.max.timeout.ms; none where it is not shown.
  [[nodiscard]] virtual asio::awaitable<Result<std::optional<std::string>>> broker_setting(std::string name,
                                                                                           io::Monotonic deadline) = 0;
  [[nodiscard]] virtual asio::awaitable<Status> close() = 0;
};

struct ClientOptions {
  std::string brokers;  ///< host:port,…
  std::string client_id = "sluice";
  Properties properties;  ///< any property of the client library, passed through to every handle
};

/// One cluster. Any thread; handles are made for one executor each.
class Client {
 public:
  virtual ~Client() = default;
  /// `arrival` is set whenever poll() may have something; it must outlive the consumer.
  [[nodiscard]] virtual Result<std::unique_ptr<Consumer>> consumer(io::Executor executor, io::Event& arrival,
                                                                   ConsumerOptions options, Metrics& metrics) = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<Producer>> producer(io::Executor executor, ProducerOptions options,
                                                                   Metrics& metrics) = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<TransactionalProducer>> transactional_producer(io::Executor executor,
                                                                                              ProducerOptions options,
                                                                                              Metrics& metrics) = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<Admin>> admin(io::Executor executor) = 0;
  [[nodiscard]] virtual const ClientOptions& options() const noexcept = 0;
};

/// The client on librdkafka (2.0.2 or later). Settings that are unknown, or break what the engine relies on
/// (enable.auto.commit, isolation.level against the option, transactional.id in properties, …): kInvalid, exit status 78,
/// with the reason, from the call that makes the handle. Checked without a connection.
[[nodiscard]] std::shared_ptr<Client> make_client(ClientOptions options);

}  // namespace sluice::kafka
