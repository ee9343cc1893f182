#include <sluice/kafka/internal/model_transactions.h>

namespace sluice::kafka::internal {

using State = ModelTransactionState;

ModelAnswer ModelTransactions::init(const std::string& id, std::chrono::milliseconds timeout, Identity& given) {
  const auto [at, fresh] = ids_.try_emplace(id);
  ModelTransaction& transaction = at->second;
  if (fresh) transaction.producer = next_producer_++;
  if (transaction.completing()) return ModelAnswer::kBusy;
  if (transaction.state == State::kOngoing) {
    ++transaction.epoch;  // Before the abort: whoever opened it is fenced from here on.
    transaction.state = State::kPrepareAbort;
    return ModelAnswer::kBusy;
  }
  ++transaction.epoch;
  transaction.state = State::kEmpty;
  transaction.timeout = timeout;
  given = {transaction.producer, transaction.epoch};
  return ModelAnswer::kOk;
}

ModelAnswer ModelTransactions::join(const std::string& id, Identity who, io::Monotonic now, ModelTransaction*& joined) {
  const auto at = ids_.find(id);
  if (at == ids_.end() || at->second.epoch != who.epoch) return ModelAnswer::kFenced;
  ModelTransaction& transaction = at->second;
  if (transaction.completing()) return ModelAnswer::kBusy;
  if (transaction.state != State::kOngoing) transaction.began = now;
  transaction.state = State::kOngoing;  // Also after a completed one: a late request opens a transaction (KIP-890).
  joined = &transaction;
  return ModelAnswer::kOk;
}

ModelAnswer ModelTransactions::add_partition(const std::string& id, Identity who, const TopicPartition& at,
                                             io::Monotonic now) {
  ModelTransaction* joined = nullptr;
  const ModelAnswer answer = join(id, who, now, joined);
  if (joined != nullptr) joined->partitions.insert(at);
  return answer;
}

ModelAnswer ModelTransactions::add_group(const std::string& id, Identity who, const std::string& group,
                                         io::Monotonic now) {
  ModelTransaction* joined = nullptr;
  const ModelAnswer answer = join(id, who, now, joined);
  if (joined != nullptr) joined->groups.insert(group);
  return answer;
}

ModelAnswer ModelTransactions::end(const std::string& id, Identity who, bool commit) {
  const auto at = ids_.find(id);
  if (at == ids_.end() || at->second.epoch != who.epoch) return ModelAnswer::kFenced;
  ModelTransaction& transaction = at->second;
  if (transaction.state == State::kOngoing) {
    transaction.state = commit ? State::kPrepareCommit : State::kPrepareAbort;
    return ModelAnswer::kOk;  // Decided; the markers follow.
  }
  if (transaction.state == (commit ? State::kCompleteCommit : State::kCompleteAbort)) return ModelAnswer::kOk;
  if (transaction.state == (commit ? State::kPrepareCommit : State::kPrepareAbort)) return ModelAnswer::kBusy;
  return ModelAnswer::kWrongState;
}

ModelAnswer ModelTransactions::verify(const std::string& id, Identity who, const TopicPartition* at,
                                      const std::string* group) const {
  const auto found = ids_.find(id);
  if (found == ids_.end() || found->second.epoch != who.epoch) return ModelAnswer::kFenced;
  const ModelTransaction& transaction = found->second;
  const bool part = at != nullptr ? transaction.partitions.contains(*at) : transaction.groups.contains(*group);
  return transaction.state == State::kOngoing && part ? ModelAnswer::kOk : ModelAnswer::kWrongState;
}

void ModelTransactions::expire(io::Monotonic now, bool all) {
  for (auto& [id, transaction] : ids_) {
    if (transaction.state != State::kOngoing) continue;
    if (!all && now - transaction.began < transaction.timeout) continue;
    ++transaction.epoch;
    transaction.state = State::kPrepareAbort;
  }
}

}  // namespace sluice::kafka::internal
