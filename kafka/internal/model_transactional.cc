#include <fmt/format.h>

#include <sluice/kafka/internal/model_producer.h>

namespace sluice::kafka::internal {

Status ModelProducerCore::finish(ModelAnswer answer, std::string_view attempted) {
  Status status = connection_->status(answer, of_id(attempted));
  if (status.code() == Code::kRecover) {
    failure_ = status;
    if (answer == ModelAnswer::kFenced) fenced_.store(true, std::memory_order_release);
    drop_queue();
    wake();
  }
  state_.settle();
  return status;
}

Status ModelProducerCore::init() {
  const std::lock_guard lock(state_.mutex);
  // As good as a new handle: nothing of the old one is sent from here on.
  drop_queue();
  wake();
  failure_ = Status();
  fenced_.store(false, std::memory_order_release);
  sequences_.clear();
  registered_.clear();
  has_offsets_ = false;
  phase_ = Phase::kNew;
  ModelAnswer answer = ModelAnswer::kBusy;
  const auto given = std::make_shared<ModelState::Identity>();  // The request may outlive us.
  // At most: one that aborts what is open, one that gets an epoch.
  for (int attempt = 0; attempt < 2 && answer == ModelAnswer::kBusy; ++attempt) {
    answer = send(ModelRequest::kInitProducerId,
                  [state = &state_, id = options_.transactional_id, timeout = options_.transaction_timeout, given] {
                    return state->init_producer(id, timeout, *given);
                  });
  }
  if (answer == ModelAnswer::kOk) {
    who_ = *given;
    phase_ = Phase::kReady;
    tainted_.store(false, std::memory_order_release);
  }
  Status status = connection_->status(answer, of_id("initialise the producer"));
  state_.settle();
  return answer == ModelAnswer::kUnreachable ? status.as(Code::kRetry) : status;  // Whoever asked admin() knows why.
}

Status ModelProducerCore::begin() {
  const std::lock_guard lock(state_.mutex);
  if (!failure_.ok()) return failure_;
  SLUICE_ASSERT(phase_ == Phase::kReady);
  phase_ = Phase::kInTransaction;
  registered_.clear();
  has_offsets_ = false;
  return {};
}

Status ModelProducerCore::send_offsets(const std::string& group, const std::vector<OffsetAndMetadata>& offsets) {
  const std::lock_guard lock(state_.mutex);
  for (const OffsetAndMetadata& offset : offsets) SLUICE_ASSERT(offset.offset >= 0);
  if (!failure_.ok()) return failure_;
  SLUICE_ASSERT(phase_ == Phase::kInTransaction);
  if (offsets.empty()) return {};
  const std::string attempted = fmt::format("send offsets of group {} in a transaction", group);
  const std::string& id = options_.transactional_id;
  ModelAnswer answer = send(ModelRequest::kAddOffsets, [state = &state_, id, who = who_, group] {
    return state->add_offsets(id, who, group);
  });
  if (answer != ModelAnswer::kOk) return finish(answer, attempted);
  has_offsets_ = true;
  answer = send(ModelRequest::kTxnOffsetCommit, [state = &state_, id, who = who_, group, offsets] {
    return state->commit_offsets(id, who, group, offsets);
  });
  return finish(answer, attempted);
}

Status ModelProducerCore::commit() {
  const std::lock_guard lock(state_.mutex);
  SLUICE_ASSERT(outstanding() == 0);
  if (!failure_.ok()) return failure_;
  SLUICE_ASSERT(phase_ == Phase::kInTransaction || phase_ == Phase::kCommitting);
  ModelAnswer answer = ModelAnswer::kOk;
  if (!registered_.empty() || has_offsets_) {  // librdkafka says success to an empty transaction and sends nothing.
    phase_ = Phase::kCommitting;
    answer = send(ModelRequest::kEndTxn, [state = &state_, id = options_.transactional_id, who = who_] {
      return state->end_transaction(id, who, true);
    });
  }
  if (answer == ModelAnswer::kOk) phase_ = Phase::kReady;
  return finish(answer, "commit the transaction");
}

asio::awaitable<Status> ModelTransactionalProducer::init(io::Monotonic) {
  Status status = core_.init();
  co_await model_answered();
  co_return status;
}
asio::awaitable<Status> ModelTransactionalProducer::begin() {
  Status status = core_.begin();
  co_await model_answered();
  co_return status;
}
asio::awaitable<Status> ModelTransactionalProducer::send_offsets(std::string group, std::vector<OffsetAndMetadata> offsets,
                                                                 io::Monotonic) {
  Status status = core_.send_offsets(group, offsets);
  co_await model_answered();
  co_return status;
}
asio::awaitable<Status> ModelTransactionalProducer::commit(io::Monotonic) {
  Status status = core_.commit();
  co_await model_answered();
  co_return status;
}
asio::awaitable<Status> ModelTransactionalProducer::close() {
  core_.close();
  co_await model_answered();
  co_return Status();
}
asio::awaitable<Status> ModelProducer::close() {
  core_.close();
  co_await model_answered();
  co_return Status();
}

}  // namespace sluice::kafka::internal
