#pragma once

#include <sluice/kafka/internal/rdkafka_admin.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::kafka::internal {

/// The blocking half of RdAdmin: every call waits for the cluster, until its deadline.
///
/// Shard      the thread of its RdAdmin.
class RdAdmin::Work {
 public:
  Work(ClientOptions client, std::shared_ptr<RdHandle> handle)
      : client_(std::move(client)), handle_(std::move(handle)) {}

  Result<std::vector<TopicMetadata>> topics(const std::vector<std::string>& names,
                                            io::Monotonic deadline);
  Status create_topic(const std::string& name, std::int32_t partitions, std::int32_t replication,
                      const Properties& config, io::Monotonic deadline);
  Result<std::vector<Offset>> offsets(const std::vector<TopicPartition>& partitions,
                                      OffsetKind kind, EventTime time, bool read_committed,
                                      io::Monotonic deadline);
  Result<std::vector<OffsetAndMetadata>> committed(const std::string& group,
                                                   const std::vector<TopicPartition>& partitions,
                                                   io::Monotonic deadline);
  Status commit_offsets(const std::string& group, const std::vector<OffsetAndMetadata>& offsets,
                        io::Monotonic deadline);
  Result<std::optional<std::string>> broker_setting(const std::string& name,
                                                    io::Monotonic deadline);
  Result<TopicLimits> topic_limits(const std::string& name, io::Monotonic deadline);
  void drop_handles();

 private:
  Result<TopicMetadata> topic(const std::string& name, io::Monotonic deadline);
  Result<std::vector<TopicMetadata>> all_topics(io::Monotonic deadline);
  Result<std::int32_t> any_broker(io::Monotonic deadline);
  Result<std::vector<std::int64_t>> list_offsets(RdHandle& handle,
                                                 const std::vector<TopicPartition>& partitions,
                                                 std::int64_t timestamp, io::Monotonic deadline);
  Result<std::shared_ptr<RdHandle>> reader(bool read_committed);
  Result<std::optional<std::string>> setting(rd_kafka_ResourceType_t type,
                                             const std::string& resource, const std::string& name,
                                             std::string_view attempted, io::Monotonic deadline);
  /// Waits for the answer to an admin request; kInvalid with exit status 69 when nobody answered.
  template <class Ask>
  Result<RdEvent> ask(rd_kafka_admin_op_t kind, std::string_view attempted, io::Monotonic deadline,
                      Ask send, bool stable = false);
  Status failed(rd_kafka_resp_err_t error, std::string_view attempted,
                std::string_view reason = {}) const;

  const ClientOptions client_;
  std::shared_ptr<RdHandle> handle_;       // read_committed
  std::shared_ptr<RdHandle> uncommitted_;  // Made when first asked for.
};

}  // namespace sluice::kafka::internal
