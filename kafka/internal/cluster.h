#pragma once

#include <sluice/engine/context.h>
#include <sluice/kafka/client.h>

#include <memory>
#include <string>
#include <vector>

namespace sluice::kafka::internal {

/// A cluster as the sources and sinks of one attempt see it: its client, and one admin handle for
/// all of them, whose questions are asked again until a deadline.
///
/// Shard      the control thread.
/// Errors     kRetry never comes out: at the deadline it is kInvalid, exit status 69, naming the
/// brokers. Ownership  shared; who called use() or retain() calls release(), the last one closes
/// the admin handle.
class Cluster {
 public:
  /// The attempt's cluster for these settings, opened by the first that asks.
  static Result<std::shared_ptr<Cluster>> use(Attempt& attempt, const std::string& brokers,
                                              const kafka::Properties& properties,
                                              const std::shared_ptr<kafka::Client>& given);
  /// What tells clusters apart: the brokers' addresses, or the client that was given.
  static std::string key(const std::string& brokers, const std::shared_ptr<kafka::Client>& given);

  Cluster(std::shared_ptr<kafka::Client> client, std::string brokers, kafka::Properties properties,
          io::Clock& clock)
      : client_(std::move(client)),
        brokers_(std::move(brokers)),
        properties_(std::move(properties)),
        clock_(clock) {}

  [[nodiscard]] kafka::Client& client() noexcept { return *client_; }
  [[nodiscard]] const std::shared_ptr<kafka::Client>& client_ref() const noexcept {
    return client_;
  }
  [[nodiscard]] const std::string& brokers() const noexcept { return brokers_; }
  /// For handles of a client that was given and so has not got them.
  [[nodiscard]] const kafka::Properties& properties() const noexcept { return properties_; }
  [[nodiscard]] io::Clock& clock() noexcept { return clock_; }
  [[nodiscard]] io::Monotonic in(std::chrono::nanoseconds time) const {
    return clock_.now() + std::chrono::duration_cast<io::Monotonic::duration>(time);
  }

  [[nodiscard]] asio::awaitable<Result<std::vector<kafka::TopicMetadata>>> topics(
      std::vector<std::string> names, io::Monotonic deadline);
  [[nodiscard]] asio::awaitable<Status> create_topic(std::string name, std::int32_t partitions,
                                                     std::int32_t replication,
                                                     kafka::Properties config,
                                                     io::Monotonic deadline);
  [[nodiscard]] asio::awaitable<Result<std::vector<Offset>>> offsets(
      std::vector<kafka::TopicPartition> partitions, kafka::OffsetKind kind, EventTime time,
      bool read_committed, io::Monotonic deadline);
  /// The one question whose kRetry comes out: a transaction is open, and was for longer than the
  /// caller's patience. A cluster that does not answer at all is waited for until `deadline`.
  [[nodiscard]] asio::awaitable<Result<std::vector<kafka::OffsetAndMetadata>>> committed(
      std::string group, std::vector<kafka::TopicPartition> partitions, io::Monotonic deadline,
      io::Monotonic patience);
  [[nodiscard]] asio::awaitable<Status> commit_offsets(
      std::string group, std::vector<kafka::OffsetAndMetadata> offsets, io::Monotonic deadline);
  [[nodiscard]] asio::awaitable<Result<std::optional<std::string>>> broker_setting(
      std::string name, io::Monotonic deadline);
  /// One more user, who releases.
  void retain() noexcept { ++users_; }
  [[nodiscard]] asio::awaitable<Status> release();

 private:
  [[nodiscard]] Status unanswered(const Status& last, std::string_view what) const;
  const std::shared_ptr<kafka::Client> client_;
  const std::string brokers_;
  const kafka::Properties properties_;
  io::Clock& clock_;
  std::unique_ptr<kafka::Admin> admin_;
  std::size_t users_ = 0;
};

/// All of `names` that do not exist in one message (exit status 78), or that may not be looked at
/// (77). ok: all are there. `found` gets one entry a name, in order.
[[nodiscard]] asio::awaitable<Status> check_topics(std::shared_ptr<Cluster> cluster,
                                                   std::vector<std::string> names,
                                                   std::string whose, bool may_be_missing,
                                                   io::Monotonic deadline,
                                                   std::vector<kafka::TopicMetadata>* found);

}  // namespace sluice::kafka::internal
