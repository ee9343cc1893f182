#include <sluice/kafka/internal/model_producer.h>

#include <algorithm>

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include <sluice/engine/internal/alarm.h>
#include <sluice/io/event.h>

namespace sluice::kafka::internal {
namespace {

constexpr std::size_t kClientBytesMax = 1'000'000;  // librdkafka's default of message.max.bytes.
constexpr std::size_t kRecordOverhead_bytes = 97;   // A batch's frame and a record's own fields.

/// Listed with the producer while its coroutine waits, and out again before the bell dies.
class Listed {
 public:
  Listed(std::mutex& mutex, std::vector<io::Event*>& bells, io::Event& bell)
      : mutex_(mutex), bells_(bells), bell_(bell) {
    const std::lock_guard lock(mutex_);
    bells_.push_back(&bell_);
  }
  Listed(const Listed&) = delete;
  ~Listed() {
    const std::lock_guard lock(mutex_);
    std::erase(bells_, &bell_);
  }

 private:
  std::mutex& mutex_;
  std::vector<io::Event*>& bells_;
  io::Event& bell_;
};

}  // namespace

ModelProducerCore::ModelProducerCore(ModelConnectionPtr connection, ProducerOptions options)
    : connection_(std::move(connection)), state_(*connection_->state), options_(std::move(options)) {
  const std::lock_guard lock(state_.mutex);
  state_.add(this);
  if (!transactional()) who_ = state_.transactions.next_producer();
}

ModelProducerCore::~ModelProducerCore() {
  const std::lock_guard lock(state_.mutex);
  state_.remove(this);
}

std::string ModelProducerCore::of_id(std::string_view what) const {
  return fmt::format("{} of transactional.id {}", what, options_.transactional_id);
}

ModelAnswer ModelProducerCore::send(ModelRequest type, const std::function<ModelAnswer()>& request) {
  const ModelFaults::Reply reply = connection_->send(type, request);
  if (reply.late) tainted_.store(true, std::memory_order_release);
  return reply.answer;
}

Result<TopicInfo> ModelProducerCore::look_up(const std::string& name) {
  const std::lock_guard lock(state_.mutex);
  const auto known = std::find_if(topics_.begin(), topics_.end(), [&](const Topic& topic) { return topic.name == name; });
  if (known != topics_.end()) return known->info;
  const ModelAnswer answer = connection_->send(ModelRequest::kMetadata, [state = &state_, name] {
                               return state->check({name, 0});
                             }).answer;
  const std::string attempted = "write to topic " + name;
  if (answer != ModelAnswer::kOk) return connection_->status(answer, attempted);
  const ModelState::Topic& topic = *state_.topic(name);
  const std::size_t limit = std::min(topic.message_bytes_max, kClientBytesMax);
  const TopicInfo info{.handle = static_cast<std::uint32_t>(topics_.size()),
                       .partitions = static_cast<std::int32_t>(topic.logs.size()),
                       .record_bytes_max = limit - std::min(limit, kRecordOverhead_bytes)};
  topics_.push_back({name, info});
  return info;
}

asio::awaitable<Result<TopicInfo>> ModelProducerCore::topic(std::string name) {
  Result<TopicInfo> info = look_up(name);
  co_await model_answered();
  co_return info;
}

asio::awaitable<Status> ModelProducerCore::produce(std::span<const OutRecord> records, std::size_t* too_large) {
  std::size_t count = 0;
  bool over_limit = false;
  Status status = hand_over(records, count, over_limit);
  if (status.ok() && count < records.size()) {
    const io::Executor here = co_await asio::this_coro::executor;
    io::Event bell(here);
    const Listed listed(state_.mutex, bells_, bell);
    for (;;) {
      status = hand_over(records, count, over_limit);
      if (!status.ok() || count == records.size()) break;
      Status waited = co_await bell.wait();
      if (!waited.ok()) co_return waited;
    }
  }
  if (over_limit && too_large != nullptr) *too_large = count;
  co_return status;
}

Status ModelProducerCore::hand_over(std::span<const OutRecord> records, std::size_t& count, bool& too_large) {
  const std::lock_guard lock(state_.mutex);
  if (closed_) return Status(Code::kCancelled, "the producer is closed");
  if (transactional()) {
    if (!failure_.ok()) return failure_;
    SLUICE_ASSERT(phase_ == Phase::kInTransaction);
  }
  const std::size_t queue_max = state_.options.producer_queue_records_max;
  const std::size_t first = count;
  std::size_t room = queue_max - std::min(queue_max, outstanding());
  Status status;
  for (; count < records.size() && room > 0; ++count, --room) {
    const OutRecord& record = records[count];
    SLUICE_ASSERT(record.topic < topics_.size());
    const Topic& topic = topics_[record.topic];
    const std::size_t bytes = model_bytes_of(record);
    if (bytes <= topic.info.record_bytes_max) continue;
    too_large = true;
    status = Status(Code::kExhausted,
                    fmt::format("could not write a record of {} bytes to topic {} at {}: the limit is {}; raise the topic's "
                                "max.message.bytes and the property message.max.bytes",
                                bytes, topic.name, connection_->name(), topic.info.record_bytes_max));
    break;
  }
  enqueue(records.subspan(first, count - first));
  pump();
  state_.settle();
  return status;
}

void ModelProducerCore::enqueue(std::span<const OutRecord> records) {
  std::map<TopicPartition, std::vector<const OutRecord*>> batches;
  for (const OutRecord& record : records) batches[{topics_[record.topic].name, record.partition}].push_back(&record);
  for (const auto& [at, batch] : batches) {
    std::int64_t& sequence = sequences_[at];
    queue_.push_back({.at = at, .segment = std::make_shared<const ModelSegment>(batch), .sequence = sequence});
    sequence += static_cast<std::int64_t>(batch.size());
  }
  outstanding_.fetch_add(records.size(), std::memory_order_release);
}

bool ModelProducerCore::register_partition(const TopicPartition& at) {
  if (!transactional() || registered_.contains(at)) return true;
  const ModelAnswer answer = send(ModelRequest::kAddPartitions,
                                  [state = &state_, id = options_.transactional_id, who = who_, at] {
                                    return state->add_partition(id, who, at);
                                  });
  if (answer == ModelAnswer::kOk) {
    registered_.insert(at);
    return true;
  }
  fail(answer, at);
  return false;
}

void ModelProducerCore::pump() {
  while (!queue_.empty()) {
    const Request request = queue_.front();
    if (!register_partition(request.at)) break;
    if (state_.faults.deliveries_held || !state_.faults.reachable) break;
    ModelAnswer answer = ModelAnswer::kFailed;
    if (!state_.faults.take_failed_delivery()) {
      const ModelStamp stamp{who_.producer, who_.epoch, request.sequence, transactional()};
      answer = send(ModelRequest::kProduce, [state = &state_, id = options_.transactional_id, stamp, request] {
        return state->produce(id, stamp, request.at, request.segment);
      });
    }
    if (answer == ModelAnswer::kOk) {
      outstanding_.fetch_sub(request.segment->records().size(), std::memory_order_release);
      queue_.pop_front();
      wake();  // Only now: whoever waits pumps too, and would wake itself for ever.
      continue;
    }
    fail(answer, request.at);
    break;
  }
}

void ModelProducerCore::fail(ModelAnswer answer, const TopicPartition& at) {
  Status status = connection_->status(answer, fmt::format("write to {}-{}", at.topic, at.partition));
  // An answer that may still come is waited for, in the queue.
  if (status.code() == Code::kRetry || answer == ModelAnswer::kUnreachable) return;
  failure_ = std::move(status);
  if (answer == ModelAnswer::kFenced) fenced_.store(true, std::memory_order_release);
  drop_queue();
  wake();
  if (transactional()) return;
  who_ = state_.transactions.next_producer();  // The gap in the sequence numbers would fail every later record.
  sequences_.clear();
}

void ModelProducerCore::drop_queue() {
  queue_.clear();
  outstanding_.store(0, std::memory_order_release);
}

void ModelProducerCore::wake() {
  for (io::Event* bell : bells_) bell->set();
}

asio::awaitable<Status> ModelProducerCore::delivered(io::Monotonic deadline) {
  const io::Executor here = co_await asio::this_coro::executor;
  io::Event bell(here);
  const Listed listed(state_.mutex, bells_, bell);
  for (bool first = true;; first = false) {
    {
      const std::lock_guard lock(state_.mutex);
      if (first) {
        pump();  // Sends again what was not answered.
        state_.settle();
      }
      if (!failure_.ok()) co_return failure_;
      if (outstanding() == 0) co_return Status();
      if (state_.clock.now() >= deadline) {
        co_return Status(Code::kRetry, fmt::format("could not deliver {} records to {} in time", outstanding(),
                                                   connection_->name()));
      }
    }
    Status waited = co_await sluice::internal::wait_until(here, bell, state_.clock, deadline);
    if (!waited.ok()) co_return waited;
  }
}

void ModelProducerCore::close() {
  const std::lock_guard lock(state_.mutex);
  closed_ = true;
  drop_queue();
  state_.remove(this);
  wake();
}

}  // namespace sluice::kafka::internal
