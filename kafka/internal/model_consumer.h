#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include <sluice/kafka/internal/model_connection.h>

namespace sluice::kafka::internal {

/// Reads logs in place: a fetch shares their segments. Shard: of its executor; on_log() any.
class ModelConsumer final : public Consumer, private ModelHandle {
 public:
  ModelConsumer(ModelConnectionPtr connection, io::Event& arrival, bool read_committed, Metrics& metrics);
  ModelConsumer(const ModelConsumer&) = delete;
  ModelConsumer& operator=(const ModelConsumer&) = delete;
  ~ModelConsumer() override;

  [[nodiscard]] asio::awaitable<Status> assign(std::vector<Assignment> added) override;
  [[nodiscard]] Result<Fetch> poll(std::size_t records_max) override;
  /// Nothing else is corrupt here.
  [[nodiscard]] bool out_of_range() const noexcept override { return failure_.code() == Code::kCorrupt; }
  void pause(std::uint32_t assignment) override;
  void resume(std::uint32_t assignment) override;
  [[nodiscard]] asio::awaitable<Status> close() override;

 private:
  struct Partition {
    TopicPartition name;
    std::int64_t next = 0;
    bool paused = false;
    bool at_end = false;  // As it was told last.
  };
  void on_log(const TopicPartition& at) override;
  void on_connect() override { arrival_.set(); }

  [[nodiscard]] Status assign_now(std::vector<Assignment> added);
  [[nodiscard]] Result<Fetch> fetch(std::size_t records_max);
  [[nodiscard]] Status readable(const Partition& partition) const;
  /// Whether the partition's end was reached.
  bool take(std::uint32_t assignment, std::size_t room, Fetch& fetch, std::vector<ModelSegmentPtr>& kept);

  const ModelConnectionPtr connection_;
  ModelState& state_;
  io::Event& arrival_;
  const bool read_committed_;
  const std::shared_ptr<Counter> repeated_;  // Stays 0: the model never hands out what it handed out before.
  std::vector<Partition> partitions_;
  std::map<TopicPartition, std::uint32_t> assignments_;
  std::size_t turn_ = 0;  // Who comes first in the next poll, so that a full partition starves nobody.
  Status failure_;
  bool closed_ = false;
};

}  // namespace sluice::kafka::internal
