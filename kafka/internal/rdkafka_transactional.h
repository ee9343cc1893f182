#pragma once

#include <sluice/kafka/internal/rdkafka_producer.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::kafka::internal {

/// kafka::TransactionalProducer on librdkafka.
///
/// The library initialises a handle once, so a second init() makes a new handle; the first one is
/// taken down beside.
class RdTransactionalProducer final : public TransactionalProducer {
 public:
  static Result<std::unique_ptr<TransactionalProducer>> make(const ClientOptions& client,
                                                             const ProducerOptions& options);
  explicit RdTransactionalProducer(std::unique_ptr<RdProducerCore> core) : core_(std::move(core)) {}

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

  [[nodiscard]] asio::awaitable<Status> init(io::Monotonic deadline) override;
  [[nodiscard]] asio::awaitable<Status> begin() override;
  [[nodiscard]] asio::awaitable<Status> send_offsets(std::string group,
                                                     std::vector<OffsetAndMetadata> offsets,
                                                     io::Monotonic deadline) override;
  [[nodiscard]] asio::awaitable<Status> commit(io::Monotonic deadline) override;
  [[nodiscard]] bool tainted() const noexcept override {
    return core_->handle()->taint().tainted();
  }
  [[nodiscard]] bool fenced() const noexcept override { return core_->handle()->fenced(); }

 private:
  /// Where the handle is in its one life.
  enum class Phase : unsigned char { kNew, kInitialising, kUsed };
  [[nodiscard]] std::string of_id(std::string_view what) const;

  const std::unique_ptr<RdProducerCore> core_;
  Phase phase_ = Phase::kNew;
  io::Monotonic begin_at_{};  // Not before: the coordinator completes the last commit.
};

}  // namespace sluice::kafka::internal
