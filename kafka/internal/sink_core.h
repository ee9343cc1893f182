#pragma once

#include <sluice/engine/context.h>
#include <sluice/kafka/decider.h>
#include <sluice/kafka/internal/cluster.h>
#include <sluice/kafka/options.h>

#include <map>
#include <memory>
#include <string>

namespace sluice::kafka::internal {

/// What a Kafka sink does on the control thread, whatever the type of its values: checks, the
/// producer (the decider's, or its own), topics.
///
/// Shard      the control thread; what is marked "any" from any, once start() has returned.
/// Ownership  one a job; the attempt's parts are let go in close().
class SinkCore {
 public:
  explicit SinkCore(kafka::SinkOptions options) : options_(std::move(options)) {}
  [[nodiscard]] const kafka::SinkOptions& options() const noexcept { return options_; }
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] bool transactional() const noexcept {
    return options_.delivery == Delivery::kExactlyOnce;
  }

  [[nodiscard]] asio::awaitable<Status> check(Attempt& attempt, std::string id);
  [[nodiscard]] asio::awaitable<Status> start();
  [[nodiscard]] asio::awaitable<Status> delivered();
  [[nodiscard]] asio::awaitable<Status> close();
  /// A topic that a record named; looked up once a job. Control thread.
  [[nodiscard]] asio::awaitable<Result<kafka::TopicInfo>> topic(std::string name);

  // Any shard.
  [[nodiscard]] kafka::Producer& producer() noexcept { return *producer_; }
  [[nodiscard]] const kafka::TopicInfo& own_topic() const noexcept { return own_topic_; }
  [[nodiscard]] asio::awaitable<Result<kafka::TopicInfo>> topic_from_shard(std::string name);

 private:
  [[nodiscard]] Status check_options(Attempt& attempt) const;
  [[nodiscard]] asio::awaitable<Status> check_timeout(io::Monotonic deadline);
  [[nodiscard]] Status share_decider(Attempt& attempt);

  const kafka::SinkOptions options_;
  // For an attempt.
  std::string id_;
  std::shared_ptr<Cluster> cluster_;
  std::shared_ptr<kafka::TransactionDecider> decider_;
  bool decides_ = false;                  // The engine closes the decider.
  std::unique_ptr<kafka::Producer> own_;  // Without a transaction.
  kafka::Producer* producer_ = nullptr;
  io::Executor control_;
  kafka::TopicInfo own_topic_;
  std::map<std::string, kafka::TopicInfo> topics_;
};

}  // namespace sluice::kafka::internal
