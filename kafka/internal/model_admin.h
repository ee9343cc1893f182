#pragma once

#include <string>
#include <vector>

#include <sluice/kafka/internal/model_connection.h>

namespace sluice::kafka::internal {

/// Questions and commands; each is one request. Shard: of its executor.
class ModelAdmin final : public Admin {
 public:
  explicit ModelAdmin(ModelConnectionPtr connection) : connection_(std::move(connection)), state_(*connection_->state) {}

  [[nodiscard]] asio::awaitable<Result<std::vector<TopicMetadata>>> topics(std::vector<std::string> names,
                                                                           io::Monotonic deadline) override;
  [[nodiscard]] asio::awaitable<Status> create_topic(std::string name, std::int32_t partitions, std::int32_t replication,
                                                     Properties config, io::Monotonic deadline) override;
  [[nodiscard]] asio::awaitable<Result<std::vector<Offset>>> offsets(std::vector<TopicPartition> partitions, OffsetKind kind,
                                                                     EventTime time, bool read_committed,
                                                                     io::Monotonic deadline) override;
  [[nodiscard]] asio::awaitable<Result<std::vector<OffsetAndMetadata>>> committed(std::string group,
                                                                                  std::vector<TopicPartition> partitions,
                                                                                  io::Monotonic deadline) override;
  [[nodiscard]] asio::awaitable<Status> commit_offsets(std::string group, std::vector<OffsetAndMetadata> offsets,
                                                       io::Monotonic deadline) override;
  [[nodiscard]] asio::awaitable<Result<std::optional<std::string>>> broker_setting(std::string name,
                                                                                   io::Monotonic deadline) override;
  [[nodiscard]] asio::awaitable<Status> close() override;

 private:
  /// One request, and the steps that follow it. The mutex is held.
  [[nodiscard]] Status ask(ModelRequest type, std::string_view attempted, const std::function<ModelAnswer()>& request);
  [[nodiscard]] Result<std::vector<TopicMetadata>> topics_now(const std::vector<std::string>& names);
  [[nodiscard]] Status create_now(const std::string& name, std::int32_t partitions, std::int32_t replication,
                                  const Properties& config);
  [[nodiscard]] Result<std::vector<Offset>> offsets_now(const std::vector<TopicPartition>& partitions, OffsetKind kind,
                                                        EventTime time, bool read_committed);
  [[nodiscard]] Result<std::vector<OffsetAndMetadata>> committed_now(const std::string& group,
                                                                     const std::vector<TopicPartition>& partitions);
  [[nodiscard]] Status commit_now(const std::string& group, const std::vector<OffsetAndMetadata>& offsets);
  [[nodiscard]] Result<std::optional<std::string>> setting_now(const std::string& name);

  const ModelConnectionPtr connection_;
  ModelState& state_;
};

}  // namespace sluice::kafka::internal
