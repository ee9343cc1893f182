#pragma once

#include <sluice/io/offload.h>
#include <sluice/kafka/client.h>
#include <sluice/kafka/internal/rdkafka_admin.h>
#include <sluice/kafka/internal/rdkafka_handle.h>

#include <atomic>
#include <deque>
#include <memory>
#include <shared_mutex>
#include <string>

namespace sluice::kafka::internal {

/// What both producers do: topics, handing records over, waiting until they are delivered.
///
/// The handle may be replaced, see renew(): topics keep their numbers.
class RdProducerCore {
 public:
  RdProducerCore(ClientOptions client, ProducerOptions options, std::shared_ptr<RdHandle> handle,
                 std::string purpose);
  ~RdProducerCore();

  static Result<std::shared_ptr<RdHandle>> make_handle(const ClientOptions& client,
                                                       const ProducerOptions& options,
                                                       const std::string& purpose);
  /// Replaces the handle by a new one; the old one is taken down beside, on a thread for that.
  Status renew();

  asio::awaitable<Result<TopicInfo>> topic(std::string name);
  asio::awaitable<Status> produce(std::span<const OutRecord> records, std::size_t* too_large);
  asio::awaitable<Status> delivered(io::Monotonic deadline);
  void hurry();
  [[nodiscard]] std::size_t outstanding() const noexcept;
  asio::awaitable<Status> close();

  [[nodiscard]] std::shared_ptr<RdHandle> handle() const;
  [[nodiscard]] io::OffloadThread& thread() noexcept { return thread_; }
  [[nodiscard]] const ProducerOptions& options() const noexcept { return options_; }
  [[nodiscard]] const std::string& brokers() const noexcept { return client_.brokers; }

 private:
  struct Topic {
    std::string name;
    rd_kafka_topic_t* topic = nullptr;  // Of the current handle.
    TopicInfo info;
  };
  enum class Full : bool { kNo, kYes };
  /// Hands over as many as fit, without waiting; counts them.
  Status hand_over(std::span<const OutRecord> records, std::size_t& count, Full& full,
                   bool& too_large);
  rd_kafka_resp_err_t send(rd_kafka_t* rk, rd_kafka_topic_t* topic, const OutRecord& record);
  Status refused(rd_kafka_t* rk, rd_kafka_resp_err_t error, const OutRecord& record,
                 const Topic& topic) const;
  void retire(std::shared_ptr<RdHandle> handle);

  const ClientOptions client_;
  const ProducerOptions options_;
  const std::string purpose_;
  mutable std::shared_mutex mutex_;  // Guards handle_ and topics_; taken shared once a batch.
  std::shared_ptr<RdHandle> handle_;
  std::deque<Topic> topics_;
  std::unique_ptr<RdAdmin> lookup_;  // Metadata through a handle of its own: a producer's look-up
                                     // would create the topic.
  std::atomic<std::uint64_t> handed_{0},
      delivered_{0};  // delivered_: handed_ when all of it was acknowledged.
  std::atomic<bool> draining_{false};
  bool closed_ = false;
  io::OffloadThread reaper_;
  io::OffloadThread hurrier_;  // thread_ may be in a call that takes long, reaper_ in taking a handle down.
  io::OffloadThread thread_;
};

/// kafka::Producer on librdkafka.
class RdProducer final : public Producer {
 public:
  static Result<std::unique_ptr<Producer>> make(const ClientOptions& client,
                                                const ProducerOptions& options);
  explicit RdProducer(std::unique_ptr<RdProducerCore> core) : core_(std::move(core)) {}

  [[nodiscard]] asio::awaitable<Result<TopicInfo>> topic(std::string name) override {
    return core_->topic(std::move(name));
  }
  [[nodiscard]] asio::awaitable<Status> produce(std::span<const OutRecord> records,
                                                std::size_t* too_large) override {
    return core_->produce(records, too_large);
  }
  [[nodiscard]] asio::awaitable<Status> delivered(io::Monotonic deadline) override {
    return core_->delivered(deadline);
  }
  void hurry() override { core_->hurry(); }
  [[nodiscard]] std::size_t outstanding() const noexcept override { return core_->outstanding(); }
  [[nodiscard]] asio::awaitable<Status> close() override { return core_->close(); }

 private:
  const std::unique_ptr<RdProducerCore> core_;
};

}  // namespace sluice::kafka::internal
