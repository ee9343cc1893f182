#pragma once

#include <sluice/io/base/result.h>
#include <sluice/kafka/internal/rdkafka_taint.h>

#include <librdkafka/rdkafka.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sluice::kafka::internal {

template <auto kDestroy>
struct RdDelete {
  template <class T>
  void operator()(T* object) const noexcept {
    kDestroy(object);
  }
};
using RdConf = std::unique_ptr<rd_kafka_conf_t, RdDelete<rd_kafka_conf_destroy>>;
using RdQueue = std::unique_ptr<rd_kafka_queue_t, RdDelete<rd_kafka_queue_destroy>>;
using RdEvent = std::unique_ptr<rd_kafka_event_t, RdDelete<rd_kafka_event_destroy>>;
using RdPartitions = std::unique_ptr<rd_kafka_topic_partition_list_t,
                                     RdDelete<rd_kafka_topic_partition_list_destroy>>;
using RdGroup = std::unique_ptr<rd_kafka_consumer_group_metadata_t,
                                RdDelete<rd_kafka_consumer_group_metadata_destroy>>;

/// One rd_kafka_t and what its callbacks write to. The callbacks run on librdkafka's threads and on
/// whoever polls.
///
/// Shard      any.
/// Errors     make: kInvalid, with the library's reason (settings that contradict each other,
/// unreadable certificates). Ownership  the destructor stops the library's threads and may take a
/// while: not on a shard's thread.
class RdHandle {
 public:
  enum class Watch : bool {
    kNothing,
    kTransactions
  };  ///< transactions: record what taints (rdkafka_taint.h)
  /// `purpose` names the handle in messages: "consumer", "producer of transactional.id orders".
  static Result<std::shared_ptr<RdHandle>> make(rd_kafka_type_t type, RdConf conf,
                                                std::string purpose, std::string brokers,
                                                Watch watch);
  RdHandle(const RdHandle&) = delete;
  RdHandle& operator=(const RdHandle&) = delete;
  ~RdHandle();

  [[nodiscard]] rd_kafka_t* get() const noexcept { return rk_; }
  [[nodiscard]] const std::string& brokers() const noexcept { return brokers_; }
  [[nodiscard]] const std::string& purpose() const noexcept { return purpose_; }
  [[nodiscard]] Taint& taint() noexcept { return taint_; }
  /// What the library last said went wrong with a connection; empty when nothing did.
  [[nodiscard]] std::string last_error() const;

  /// Whether a newer producer epoch than the handle's is known to it.
  [[nodiscard]] bool fenced() const noexcept;

  /// The first delivery that failed since the handle was made; ok when none did.
  [[nodiscard]] Status delivery_failure() const;

  /// A topic object that lives as long as the handle; null when the library refuses the name.
  [[nodiscard]] rd_kafka_topic_t* topic(const std::string& name);

 private:
  RdHandle(std::string purpose, std::string brokers);
  static void on_log(const rd_kafka_t* rk, int level, const char* facility, const char* text);
  static void on_error(rd_kafka_t* rk, int error, const char* reason, void* opaque);
  static void on_delivery(rd_kafka_t* rk, const rd_kafka_message_t* message, void* opaque);

  const std::string purpose_, brokers_;
  Taint taint_;
  mutable std::mutex mutex_;  // Guards what follows.
  std::string last_error_;
  Status delivery_failure_;
  std::vector<std::pair<std::string, rd_kafka_topic_t*>> topics_;
  rd_kafka_t* rk_ = nullptr;
};

}  // namespace sluice::kafka::internal
