#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>

#include <sluice/io/clock.h>
#include <sluice/kafka/internal/model_log.h>
#include <sluice/kafka/model.h>

namespace sluice::kafka::internal {

/// What the coordinator knows of a transactional id.
struct ModelTransaction {
  using State = ModelTransactionState;
  std::int64_t producer = 0;
  int epoch = -1;
  State state = State::kEmpty;
  std::set<TopicPartition> partitions;  // With a part in the transaction; while it is being completed, those to be marked.
  std::set<std::string> groups;
  std::chrono::milliseconds timeout{0};
  io::Monotonic began{};

  [[nodiscard]] bool completing() const noexcept { return state == State::kPrepareCommit || state == State::kPrepareAbort; }
  [[nodiscard]] bool commits() const noexcept { return state == State::kPrepareCommit; }
};

/// The transaction coordinator: decides, and says which markers are to be written; who writes them is the broker.
/// Its rules are those of the first version of the transaction protocol: an epoch ends with init, not with each commit.
/// Callers hold the broker's mutex.
class ModelTransactions {
 public:
  struct Identity {
    std::int64_t producer = -1;
    int epoch = -1;
  };
  /// A producer without a transactional id.
  [[nodiscard]] Identity next_producer() { return {next_producer_++, 0}; }

  /// kBusy while a transaction of the id is being completed; an open one is aborted first, under a higher epoch.
  [[nodiscard]] ModelAnswer init(const std::string& id, std::chrono::milliseconds timeout, Identity& given);
  [[nodiscard]] ModelAnswer add_partition(const std::string& id, Identity who, const TopicPartition& at, io::Monotonic now);
  [[nodiscard]] ModelAnswer add_group(const std::string& id, Identity who, const std::string& group, io::Monotonic now);
  [[nodiscard]] ModelAnswer end(const std::string& id, Identity who, bool commit);
  /// Whether a write of `who` to the partition or group belongs to its open transaction.
  [[nodiscard]] ModelAnswer verify(const std::string& id, Identity who, const TopicPartition* at,
                                   const std::string* group) const;

  /// Aborts what is open for longer than its timeout, or everything.
  void expire(io::Monotonic now, bool all);
  [[nodiscard]] std::map<std::string, ModelTransaction>& all() noexcept { return ids_; }

 private:
  [[nodiscard]] ModelAnswer join(const std::string& id, Identity who, io::Monotonic now, ModelTransaction*& joined);

  std::map<std::string, ModelTransaction> ids_;
  std::int64_t next_producer_ = 1000;
};

}  // namespace sluice::kafka::internal
