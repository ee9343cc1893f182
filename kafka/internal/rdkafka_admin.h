#pragma once

#include <sluice/io/offload.h>
#include <sluice/kafka/client.h>
#include <sluice/kafka/internal/rdkafka_handle.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::kafka::internal {

/// kafka::Admin on librdkafka. Its calls block, so they run on a thread of their own, one at a
/// time.
///
/// Two handles: ListOffsets answers with the last stable offset when the handle is a read_committed
/// consumer, with the high watermark when it is not; the second one is made when it is first asked
/// for.
class RdAdmin final : public Admin {
 public:
  static Result<std::unique_ptr<RdAdmin>> make(const ClientOptions& client);
  ~RdAdmin() override;

  [[nodiscard]] asio::awaitable<Result<std::vector<TopicMetadata>>> topics(
      std::vector<std::string> names, io::Monotonic deadline) override;
  [[nodiscard]] asio::awaitable<Status> create_topic(std::string name, std::int32_t partitions,
                                                     std::int32_t replication, Properties config,
                                                     io::Monotonic deadline) override;
  [[nodiscard]] asio::awaitable<Result<std::vector<Offset>>> offsets(
      std::vector<TopicPartition> partitions, OffsetKind kind, EventTime time, bool read_committed,
      io::Monotonic deadline) override;
  [[nodiscard]] asio::awaitable<Result<std::vector<OffsetAndMetadata>>> committed(
      std::string group, std::vector<TopicPartition> partitions, io::Monotonic deadline) override;
  [[nodiscard]] asio::awaitable<Status> commit_offsets(std::string group,
                                                       std::vector<OffsetAndMetadata> offsets,
                                                       io::Monotonic deadline) override;
  [[nodiscard]] asio::awaitable<Result<std::optional<std::string>>> broker_setting(
      std::string name, io::Monotonic deadline) override;
  [[nodiscard]] asio::awaitable<Status> close() override;

  struct TopicLimits {
    std::int32_t partitions = 0;
    std::optional<std::size_t> record_bytes_max;  ///< max.message.bytes; none where we may not ask
  };
  /// Waits a moment for a topic that was just created. kInvalid when there is none.
  [[nodiscard]] asio::awaitable<Result<TopicLimits>> topic_limits(std::string name,
                                                                  io::Monotonic deadline);

 private:
  class Work;  // The blocking calls themselves, on the thread.
  explicit RdAdmin(std::unique_ptr<Work> work);

  std::unique_ptr<Work> work_;
  io::OffloadThread thread_;
};

}  // namespace sluice::kafka::internal
