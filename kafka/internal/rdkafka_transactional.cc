#include <sluice/kafka/internal/rdkafka_error.h>
#include <sluice/kafka/internal/rdkafka_transactional.h>
#include <sluice/kafka/internal/rdkafka_watchdog.h>

#include <algorithm>

namespace sluice::kafka::internal {
namespace {

using namespace std::chrono_literals;

// How long a call stays on the handle's thread before it looks at its deadline.
constexpr auto kSlice = 200ms;
// The library tries to get its producer id every 500 ms, for instance while the coordinator still
// aborts what a crash left open; but each call makes it try at once, so calls are short. Measured:
// rdkafka_client_test, InitAfterACrash.
constexpr int kInitStep_ms = 10;

int milliseconds_until(io::Monotonic deadline, std::chrono::milliseconds at_most) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 1, at_most.count()));
}

}  // namespace

Result<std::unique_ptr<TransactionalProducer>> RdTransactionalProducer::make(
    const ClientOptions& client, const ProducerOptions& options) {
  if (options.transactional_id.empty()) {
    return Status(
        Code::kInvalid,
        "could not make a transactional producer: it has no transactional id; give it one");
  }
  if (!options.acks_all) {
    return Status(
        Code::kInvalid,
        "could not make a transactional producer: transactions need all acknowledgements");
  }
  const std::string purpose =
      fmt::format("producer of transactional.id {}", options.transactional_id);
  Result<std::shared_ptr<RdHandle>> handle = RdProducerCore::make_handle(client, options, purpose);
  if (!handle.ok()) return handle.status();
  auto core = std::make_unique<RdProducerCore>(client, options, std::move(*handle), purpose);
  return std::unique_ptr<TransactionalProducer>(
      std::make_unique<RdTransactionalProducer>(std::move(core)));
}

std::string RdTransactionalProducer::of_id(std::string_view what) const {
  return fmt::format("{} of transactional.id {}", what, core_->options().transactional_id);
}

asio::awaitable<Status> RdTransactionalProducer::init(io::Monotonic deadline) {
  if (phase_ == Phase::kUsed) {
    Status renewed = core_->renew();
    if (!renewed.ok()) co_return renewed;
  }
  phase_ = Phase::kInitialising;
  const std::shared_ptr<RdHandle> handle = core_->handle();
  for (;;) {
    const io::Monotonic end = std::min(deadline, std::chrono::steady_clock::now() + kSlice);
    auto slice = [rk = handle->get(), end] {
      for (;;) {
        rd_kafka_error_t* error = rd_kafka_init_transactions(rk, kInitStep_ms);
        if (error == nullptr || rd_kafka_error_is_retriable(error) == 0) return error;
        if (std::chrono::steady_clock::now() >= end) return error;
        rd_kafka_error_destroy(error);
      }
    };
    rd_kafka_error_t* error = co_await io::offload(core_->thread(), std::move(slice));
    std::string attempted = of_id("initialise the producer");
    if (error != nullptr &&
        rd_kafka_error_code(error) == RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT) {
      attempted += fmt::format(" with a transaction timeout of {} ms",
                               core_->options().transaction_timeout.count());
    }
    Status status = to_status(error, attempted, core_->brokers());
    if (status.code() != Code::kRetry) {
      phase_ = Phase::kUsed;
      co_return status;
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      const std::string last = handle->last_error();
      co_return last.empty() ? status : status.with(fmt::format("(last: {})", last));
    }
  }
}

asio::awaitable<Status> RdTransactionalProducer::begin() {
  if (const auto wait = begin_at_ - std::chrono::steady_clock::now(); wait > 0us) {
    const Status waited = co_await io::system_clock().sleep(wait);
    if (!waited.ok()) co_return waited;
  }
  const std::shared_ptr<RdHandle> handle = core_->handle();
  auto call = [rk = handle->get()] { return rd_kafka_begin_transaction(rk); };
  rd_kafka_error_t* error = co_await io::offload(core_->thread(), std::move(call));
  co_return to_status(error, of_id("begin a transaction"), core_->brokers());
}

asio::awaitable<Status> RdTransactionalProducer::send_offsets(
    std::string group, std::vector<OffsetAndMetadata> offsets, io::Monotonic deadline) {
  if (offsets.empty()) co_return Status();
  RdPartitions list(rd_kafka_topic_partition_list_new(static_cast<int>(offsets.size())));
  for (const OffsetAndMetadata& given : offsets) {
    SLUICE_ASSERT(given.offset >= 0);
    rd_kafka_topic_partition_t* at = rd_kafka_topic_partition_list_add(
        list.get(), given.partition.topic.c_str(), given.partition.partition);
    at->offset = given.offset;
    if (given.metadata.empty()) continue;
    at->metadata = ::strdup(given.metadata.c_str());  // The list frees it.
    at->metadata_size = given.metadata.size();
  }
  const RdGroup metadata(rd_kafka_consumer_group_metadata_new(group.c_str()));
  const std::string attempted =
      of_id(fmt::format("send offsets of group {} in a transaction", group));
  const std::shared_ptr<RdHandle> handle = core_->handle();
  auto call = [rk = handle->get(), list = list.get(), metadata = metadata.get(), deadline,
               &attempted] {
    const Watchdog::Guard guard = Watchdog::of_process().watch(deadline, attempted);
    return rd_kafka_send_offsets_to_transaction(rk, list, metadata,
                                                milliseconds_until(deadline, 1h));
  };
  rd_kafka_error_t* error = co_await io::offload(core_->thread(), std::move(call));
  co_return to_status(error, attempted, core_->brokers());
}

asio::awaitable<Status> RdTransactionalProducer::commit(io::Monotonic deadline) {
  SLUICE_ASSERT(core_->outstanding() == 0);
  const std::shared_ptr<RdHandle> handle = core_->handle();
  for (;;) {
    auto slice = [rk = handle->get(), deadline] {
      return rd_kafka_commit_transaction(rk, milliseconds_until(deadline, kSlice));
    };
    rd_kafka_error_t* error = co_await io::offload(core_->thread(), std::move(slice));
    const bool resume = error != nullptr && rd_kafka_error_is_retriable(error) != 0 &&
                        rd_kafka_error_code(error) == RD_KAFKA_RESP_ERR__TIMED_OUT;
    Status status = to_status(error, of_id("commit the transaction"), core_->brokers());
    if (status.ok()) begin_at_ = std::chrono::steady_clock::now() + handle->taint().commit_pause().next();
    if (!resume || std::chrono::steady_clock::now() >= deadline) co_return status;
  }
}

}  // namespace sluice::kafka::internal
