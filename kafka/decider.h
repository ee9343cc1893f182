#pragma once

#include <sluice/engine/context.h>
#include <sluice/engine/decider.h>
#include <sluice/kafka/client.h>
#include <sluice/kafka/registers.h>

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sluice::kafka::internal {
class Cluster;
struct KafkaInputs;
}  // namespace sluice::kafka::internal

namespace sluice::kafka {

/// The decision is a Kafka transaction's commit: one transactional handle, two registers, the
/// commit protocol step by step. One a job and cluster, shared by the sinks that write to that
/// cluster; made anew for every attempt.
///
/// Shard      the control thread; producer()'s produce() from any.
/// Errors     as Decider says. Past a deadline with the brokers gone: kInvalid, exit status 69,
/// naming them. Ownership  of the attempt; close() before it goes.
class TransactionDecider final : public Decider {
 public:
  struct Options {
    RegisterPlace place;
    std::string job_id;
    std::string transactional_id;
    std::chrono::milliseconds transaction_timeout{60'000};
    std::chrono::milliseconds linger{1};
    std::int32_t replication =
        0;  ///< of the topic of the registers; 0: three, or as many as there are brokers
    Properties properties = {};  ///< of the producer
    std::chrono::nanoseconds recovery_max =
        std::chrono::seconds(25);  ///< for read() and claim() together
    std::chrono::nanoseconds unstable_max =
        std::chrono::milliseconds(300);  ///< how long read() waits for an open transaction
    std::chrono::nanoseconds owner_wait =
        std::chrono::milliseconds(500);  ///< still_owner(): a claim may be on its way
    std::uint64_t taint_every =
        0;  ///< tests: every nth epoch counts as tainted; SLUICE_FAULT_TAINT_EVERY
  };
  /// `cluster` and `inputs` are the attempt's.
  TransactionDecider(Options options, std::shared_ptr<internal::Cluster> cluster,
                     std::shared_ptr<internal::KafkaInputs> inputs, io::Executor executor,
                     Metrics& metrics);
  ~TransactionDecider() override;

  /// Makes the transactional handle; says now what is wrong with its settings.
  [[nodiscard]] Status open();
  [[nodiscard]] TransactionalProducer& producer() noexcept { return *producer_; }
  [[nodiscard]] const Options& options() const noexcept { return options_; }
  /// The engine knows of it, and will close it.
  [[nodiscard]] bool asked() const noexcept { return read_before_ || recovery_deadline_; }

  [[nodiscard]] asio::awaitable<Result<Decision>> read() override;
  [[nodiscard]] asio::awaitable<Result<Decision>> claim() override;
  [[nodiscard]] Uuid claim_id() const noexcept override { return claim_; }
  [[nodiscard]] bool carries(const std::vector<SplitPosition>& positions) const override;
  [[nodiscard]] asio::awaitable<Status> begin(Epoch epoch) override;
  [[nodiscard]] asio::awaitable<Status> delivered() override;
  [[nodiscard]] asio::awaitable<Status> decide(Decision decision,
                                               std::vector<SplitPosition> positions) override;
  [[nodiscard]] asio::awaitable<Status> settle(const Decision& decided) override;
  [[nodiscard]] asio::awaitable<Status> still_owner() override;
  [[nodiscard]] bool fenced() const noexcept override { return producer_ && producer_->fenced(); }
  [[nodiscard]] std::optional<std::chrono::nanoseconds> open_max() const noexcept override {
    return options_.transaction_timeout / 2;
  }
  [[nodiscard]] asio::awaitable<Status> reset() override;
  [[nodiscard]] asio::awaitable<Status> close() override;

 private:
  enum class Why : std::uint8_t { kRecovery, kFirst, kTaint, kReset };
  [[nodiscard]] asio::awaitable<Status> ensure_topic(io::Monotonic deadline);
  [[nodiscard]] asio::awaitable<Result<Registers>> read_registers(io::Monotonic deadline,
                                                                  io::Monotonic patience);
  [[nodiscard]] asio::awaitable<Status> init(io::Monotonic deadline);
  [[nodiscard]] asio::awaitable<Status> write_claim(Uuid uuid, Why why, io::Monotonic deadline);
  [[nodiscard]] asio::awaitable<Result<Registers>> confirm(Uuid uuid, io::Monotonic deadline);
  [[nodiscard]] asio::awaitable<Status> send(std::string group,
                                             std::vector<OffsetAndMetadata> offsets,
                                             io::Monotonic deadline);
  [[nodiscard]] asio::awaitable<Status> commit(io::Monotonic deadline);
  [[nodiscard]] Status gone(const Status& last, std::string_view what) const;
  [[nodiscard]] Status lost(const Status& last, std::string_view what) const;
  void remember(const Registers& registers);
  [[nodiscard]] std::vector<OffsetAndMetadata> marks_for(
      const Decision& decision, const std::vector<SplitPosition>& positions);
  [[nodiscard]] std::vector<OffsetAndMetadata> for_group(
      const std::string& source, const std::vector<SplitPosition>& positions) const;

  const Options options_;
  const std::shared_ptr<internal::Cluster> cluster_;
  const std::shared_ptr<internal::KafkaInputs> inputs_;
  const io::Executor executor_;
  Metrics& metrics_;
  io::Clock& clock_;
  std::unique_ptr<TransactionalProducer> producer_;
  std::optional<io::Monotonic> recovery_deadline_;  // Set by the first of read() and claim().
  bool read_before_ = false;
  bool read_ = false;         // The registers were read and nothing was written since.
  bool initialised_ = false;  // init() was the last thing that happened to the handle.
  bool open_ = false;         // A transaction is begun.
  bool closed_ = false;
  Uuid claim_;
  Uuid decided_by_;         // Writer of the last decision made here.
  Uuid seen_owner_;         // By the last good read; nil: none.
  std::set<TopicPartition> marked_;  // By this decider, since marked_at_.
  io::Monotonic marked_at_{};
  std::vector<Uuid> mine_;  // Every claim of this decider that may have been written.
  Epoch known_{0};          // The latest decision that was seen or made.
  Epoch epoch_{0};          // Begun.
  io::Monotonic begun_{};
  std::shared_ptr<Counter> committed_total_, failed_total_, tainted_total_, claims_total_;
};

}  // namespace sluice::kafka
