#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <sluice/kafka/internal/model_connection.h>

namespace sluice::kafka::internal {

/// The client's side of writing: a queue of produce requests in order, sequence numbers, partitions of the transaction.
/// Of both kinds of producer, which are thin. produce() and outstanding() any shard; the rest the control thread's.
class ModelProducerCore final : private ModelHandle {
 public:
  ModelProducerCore(ModelConnectionPtr connection, ProducerOptions options);
  ModelProducerCore(const ModelProducerCore&) = delete;
  ModelProducerCore& operator=(const ModelProducerCore&) = delete;
  ~ModelProducerCore() override;

  [[nodiscard]] asio::awaitable<Result<TopicInfo>> topic(std::string name);
  [[nodiscard]] asio::awaitable<Status> produce(std::span<const OutRecord> records, std::size_t* too_large);
  [[nodiscard]] asio::awaitable<Status> delivered(io::Monotonic deadline);
  [[nodiscard]] std::size_t outstanding() const noexcept { return outstanding_.load(std::memory_order_acquire); }
  [[nodiscard]] bool tainted() const noexcept { return tainted_.load(std::memory_order_acquire); }
  [[nodiscard]] bool fenced() const noexcept { return fenced_.load(std::memory_order_acquire); }
  void close();

  // ---- for the transactional producer; all of them whole requests ----
  [[nodiscard]] Status init();
  [[nodiscard]] Status begin();
  [[nodiscard]] Status send_offsets(const std::string& group, const std::vector<OffsetAndMetadata>& offsets);
  [[nodiscard]] Status commit();

 private:
  enum class Phase : std::uint8_t { kNew, kReady, kInTransaction, kCommitting };
  struct Topic {
    std::string name;
    TopicInfo info;
  };
  struct Request {
    TopicPartition at;
    ModelSegmentPtr segment;
    std::int64_t sequence = 0;
  };
  void on_progress() override { pump(); }
  void on_disconnect() override { tainted_.store(true, std::memory_order_release); }

  [[nodiscard]] bool transactional() const noexcept { return !options_.transactional_id.empty(); }
  [[nodiscard]] std::string of_id(std::string_view what) const;
  [[nodiscard]] Result<TopicInfo> look_up(const std::string& name);
  /// Hands over what there is room for, from `count` on.
  [[nodiscard]] Status hand_over(std::span<const OutRecord> records, std::size_t& count, bool& too_large);
  void enqueue(std::span<const OutRecord> records);
  /// Sends what can be sent.
  void pump();
  [[nodiscard]] bool register_partition(const TopicPartition& at);
  void fail(ModelAnswer answer, const TopicPartition& at);
  [[nodiscard]] ModelAnswer send(ModelRequest type, const std::function<ModelAnswer()>& request);
  /// The failure stays: only init() helps.
  [[nodiscard]] Status finish(ModelAnswer answer, std::string_view attempted);
  void drop_queue();
  void wake();

  const ModelConnectionPtr connection_;
  ModelState& state_;  // Its mutex guards what follows.
  const ProducerOptions options_;
  std::vector<Topic> topics_;
  Phase phase_ = Phase::kNew;
  ModelState::Identity who_;
  std::map<TopicPartition, std::int64_t> sequences_;
  std::set<TopicPartition> registered_;  // With the transaction's coordinator.
  bool has_offsets_ = false;
  std::deque<Request> queue_;
  Status failure_;
  bool closed_ = false;
  std::vector<io::Event*> bells_;  // Of those who wait for room or for deliveries, on executors of their own.
  std::atomic<std::size_t> outstanding_{0};
  std::atomic<bool> tainted_{false}, fenced_{false};
};

class ModelProducer final : public Producer {
 public:
  ModelProducer(ModelConnectionPtr connection, ProducerOptions options) : core_(std::move(connection), std::move(options)) {}
  [[nodiscard]] asio::awaitable<Result<TopicInfo>> topic(std::string name) override { return core_.topic(std::move(name)); }
  [[nodiscard]] asio::awaitable<Status> produce(std::span<const OutRecord> records, std::size_t* too_large) override {
    return core_.produce(records, too_large);
  }
  [[nodiscard]] asio::awaitable<Status> delivered(io::Monotonic deadline) override { return core_.delivered(deadline); }
  [[nodiscard]] std::size_t outstanding() const noexcept override { return core_.outstanding(); }
  [[nodiscard]] asio::awaitable<Status> close() override;

 private:
  ModelProducerCore core_;
};

class ModelTransactionalProducer final : public TransactionalProducer {
 public:
  ModelTransactionalProducer(ModelConnectionPtr connection, ProducerOptions options)
      : core_(std::move(connection), std::move(options)) {}
  [[nodiscard]] asio::awaitable<Result<TopicInfo>> topic(std::string name) override { return core_.topic(std::move(name)); }
  [[nodiscard]] asio::awaitable<Status> produce(std::span<const OutRecord> records, std::size_t* too_large) override {
    return core_.produce(records, too_large);
  }
  [[nodiscard]] asio::awaitable<Status> delivered(io::Monotonic deadline) override { return core_.delivered(deadline); }
  [[nodiscard]] std::size_t outstanding() const noexcept override { return core_.outstanding(); }
  [[nodiscard]] asio::awaitable<Status> close() override;
  [[nodiscard]] asio::awaitable<Status> init(io::Monotonic deadline) override;
  [[nodiscard]] asio::awaitable<Status> begin() override;
  [[nodiscard]] asio::awaitable<Status> send_offsets(std::string group, std::vector<OffsetAndMetadata> offsets,
                                                     io::Monotonic deadline) override;
  [[nodiscard]] asio::awaitable<Status> commit(io::Monotonic deadline) override;
  [[nodiscard]] bool tainted() const noexcept override { return core_.tainted(); }
  [[nodiscard]] bool fenced() const noexcept override { return core_.fenced(); }

 private:
  ModelProducerCore core_;
};

}  // namespace sluice::kafka::internal
