#include <sluice/io/base/log.h>
#include <sluice/kafka/internal/rdkafka_config.h>
#include <sluice/kafka/internal/rdkafka_consumer.h>
#include <sluice/kafka/internal/rdkafka_error.h>
#include <sluice/kafka/internal/rdkafka_messages.h>

#include <algorithm>
#include <utility>

namespace sluice::kafka::internal {
namespace {

constexpr std::size_t kMessageOverhead_bytes =
    330;  // What the library allocates for a message besides its bytes.
constexpr std::size_t kStored_messages_max = 10'000;
constexpr int kRangeTimeout_ms = 5'000;

void on_arrival(rd_kafka_t*, void* event) { static_cast<io::Event*>(event)->set(); }

std::size_t weight(const rd_kafka_message_t* message) noexcept {
  return kMessageOverhead_bytes + message->len + message->key_len;
}

std::size_t conf_number(rd_kafka_t* rk, const char* name) {
  char text[32] = "0";
  std::size_t size = sizeof(text);
  rd_kafka_conf_get(rd_kafka_conf(rk), name, text, &size);
  return std::stoull(text);
}

}  // namespace

Result<std::unique_ptr<Consumer>> RdConsumer::make(const ClientOptions& client, io::Event& arrival,
                                                   const ConsumerOptions& options,
                                                   Metrics& metrics) {
  Result<RdConfig> config = consumer_config(client, options);
  if (!config.ok()) return config.status();
  ConsumerOptions all = options;
  for (const auto& [name, value] : client.properties) all.properties.try_emplace(name, value);
  Result<std::shared_ptr<RdHandle>> handle =
      RdHandle::make(RD_KAFKA_CONSUMER, std::move(*config).take(), "consumer", client.brokers,
                     RdHandle::Watch::kNothing);
  if (!handle.ok()) return handle.status();
  rd_kafka_poll_set_consumer(
      (*handle)->get());  // Errors and logs are served by the one queue, too.
  return std::unique_ptr<Consumer>(new RdConsumer(std::move(*handle), arrival, all, metrics));
}

RdConsumer::RdConsumer(std::shared_ptr<RdHandle> handle, io::Event& arrival,
                       const ConsumerOptions& options, Metrics& metrics)
    : handle_(std::move(handle)),
      queue_(rd_kafka_queue_get_consumer(handle_->get())),
      arrival_(arrival),
      repeated_(metrics.counter("sluice_kafka_repeated_records_total")),
      must_wake_(!RdConfig::known("fetch.queue.backoff.ms")),
      user_(options.properties.contains("sasl.username") ? options.properties.at("sasl.username")
                                                         : "-"),
      password_(options.properties.contains("sasl.password")
                    ? options.properties.at("sasl.password")
                    : "-"),
      limit_messages_(conf_number(handle_->get(), "queued.min.messages")),
      limit_bytes_(conf_number(handle_->get(), "queued.max.messages.kbytes") * 1024),
      offload_("sluice-consume") {
  rd_kafka_queue_cb_event_enable(queue_.get(), &on_arrival, &arrival_);
}

RdConsumer::~RdConsumer() {
  rd_kafka_queue_cb_event_enable(queue_.get(), nullptr, nullptr);
  for (Partition& partition : partitions_) {
    for (rd_kafka_message_t* message : partition.stored) rd_kafka_message_destroy(message);
  }
}

asio::awaitable<Status> RdConsumer::assign(std::vector<Assignment> added) {
  if (closed_) co_return Status(Code::kCancelled, "the consumer is closed");
  RdPartitions list(rd_kafka_topic_partition_list_new(static_cast<int>(added.size())));
  for (const Assignment& assignment : added) {
    SLUICE_ASSERT(assignment.start.value() >= 0);
    const auto known =
        std::find_if(partitions_.begin(), partitions_.end(),
                     [&](const Partition& at) { return at.name == assignment.partition; });
    SLUICE_ASSERT(known == partitions_.end());  // Assigned already.
    const TopicPartition& name = assignment.partition;
    rd_kafka_topic_partition_list_add(list.get(), name.topic.c_str(), name.partition)->offset =
        assignment.start.value();
    // Before the call: its messages may be polled while it is on its way.
    partitions_.push_back({.name = name, .next = assignment.start, .stored = {}});
  }
  // Incremental: the others keep their position, and what was prefetched for them.
  auto call = [rk = handle_->get(), raw = list.get()] {
    return rd_kafka_incremental_assign(rk, raw);
  };
  rd_kafka_error_t* error = co_await io::offload(offload_, std::move(call));
  arrival_.set();
  co_return to_status(error, "assign partitions", handle_->brokers());
}

std::uint32_t RdConsumer::assignment_of(const rd_kafka_message_t* message) {
  const Place place{message->rkt, message->partition};
  if (place == last_place_) return last_assignment_;
  auto at = places_.find(place);
  if (at == places_.end()) {
    const char* topic = rd_kafka_topic_name(message->rkt);
    const auto found =
        std::find_if(partitions_.begin(), partitions_.end(), [&](const Partition& partition) {
          return partition.name.partition == message->partition && partition.name.topic == topic;
        });
    SLUICE_ASSERT(found != partitions_.end());
    at = places_.emplace(place, static_cast<std::uint32_t>(found - partitions_.begin())).first;
  }
  last_place_ = place;
  last_assignment_ = at->second;
  return last_assignment_;
}

Result<Fetch> RdConsumer::fail(Status status) {
  failure_ = std::move(status);
  return failure_;
}

Result<Fetch> RdConsumer::poll(std::size_t records_max) {
  if (closed_) return Status(Code::kCancelled, "the consumer is closed");
  if (!failure_.ok()) return failure_;
  if (range_failed_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(range_mutex_);
    return fail(range_failure_);
  }
  Fetch fetch;
  auto memory = std::make_shared<Messages>(handle_);
  while (!resumed_.empty() && memory->count() < records_max) {
    Partition& partition = partitions_[resumed_.back()];
    if (partition.paused || partition.stored.empty()) {
      if (!partition.paused && partition.paused_in_library) set_paused_in_library(partition, false);
      resumed_.pop_back();
      continue;
    }
    rd_kafka_message_t* message = partition.stored.front();
    partition.stored.pop_front();
    hand_out(resumed_.back(), message, *memory, fetch);
  }
  std::size_t taken = 0, bytes = 0;
  bool drained = false;
  // Until something is there to hand out or the queue was seen empty: it rings only when it stops
  // being empty.
  while (!drained && fetch.runs.empty() && failure_.ok()) {
    const std::size_t room =
        std::max<std::size_t>(records_max - std::min(records_max, memory->count()), 1);
    taken_.resize(room);
    const ssize_t count = rd_kafka_consume_batch_queue(queue_.get(), 0, taken_.data(), room);
    const std::size_t got = count < 0 ? 0 : static_cast<std::size_t>(count);
    drained = got < room;
    memory->reserve(memory->count() + got);
    fetch.records.reserve(fetch.records.size() + got);
    for (std::size_t i = 0; i < got; ++i) {
      bytes += taken_[i]->len;
      take(taken_[i], *memory, fetch);
    }
    taken += got;
  }
  if (must_wake_ && taken != 0) wake_fetchers(taken, bytes, drained);
  if (!failure_.ok()) return failure_;
  fetch.memory = std::move(memory);
  return fetch;
}

void RdConsumer::take(rd_kafka_message_t* message, Messages& memory, Fetch& fetch) {
  if (message->rkt == nullptr) {  // Not of a partition: an error of the whole client, which heals
                                  // or is said elsewhere.
    log().debug("consumer for {}: {}", handle_->brokers(), rd_kafka_message_errstr(message));
    rd_kafka_message_destroy(message);
    return;
  }
  const std::uint32_t assignment = assignment_of(message);
  Partition& partition = partitions_[assignment];
  if (partition.paused || !partition.stored.empty()) {
    store(partition, message);
  } else {
    hand_out(assignment, message, memory, fetch);
  }
}

void RdConsumer::store(Partition& partition, rd_kafka_message_t* message) {
  partition.stored.push_back(message);
  if (partition.stored.size() >= kStored_messages_max && !partition.paused_in_library) {
    set_paused_in_library(partition, true);
  }
}

void RdConsumer::hand_out(std::uint32_t assignment, rd_kafka_message_t* message, Messages& memory,
                          Fetch& fetch) {
  if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) [[unlikely]] {
    notice(assignment, message, fetch);
    rd_kafka_message_destroy(message);
    return;
  }
  Partition& partition = partitions_[assignment];
  if (message->offset < partition.next.value()) [[unlikely]] {
    repeated_->add(1);
    rd_kafka_message_destroy(message);
    return;
  }
  memory.keep(message);
  rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
  const std::int64_t time = rd_kafka_message_timestamp(message, &type);
  Record& record = fetch.records.emplace_back();
  if (message->key != nullptr)
    record.key = Bytes(static_cast<const char*>(message->key), message->key_len);
  if (message->payload != nullptr)
    record.value = Bytes(static_cast<const char*>(message->payload), message->len);
  record.headers = memory.headers_of(message);
  record.offset = Offset(message->offset);
  if (type != RD_KAFKA_TIMESTAMP_NOT_AVAILABLE && time >= 0) {
    record.time = EventTime(EventDuration(time));
    record.time_type =
        type == RD_KAFKA_TIMESTAMP_CREATE_TIME ? TimestampType::kCreate : TimestampType::kLogAppend;
  }
  fetch.bytes += weight(message);
  partition.next = record.offset.next();
  if (fetch.runs.empty() || fetch.runs.back().assignment != assignment ||
      fetch.runs.back().at_end) {
    fetch.runs.push_back(
        {.assignment = assignment, .first = static_cast<std::uint32_t>(fetch.records.size() - 1)});
  }
  FetchedRun& run = fetch.runs.back();
  ++run.count;
  run.next = partition.next;
}

void RdConsumer::notice(std::uint32_t assignment, const rd_kafka_message_t* message, Fetch& fetch) {
  Partition& partition = partitions_[assignment];
  if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
    // The position of the library: behind control records, aborted records and gaps that no record
    // told about.
    partition.next = std::max(partition.next, Offset(message->offset));
    if (fetch.runs.empty() || fetch.runs.back().assignment != assignment) {
      fetch.runs.push_back(
          {.assignment = assignment, .first = static_cast<std::uint32_t>(fetch.records.size())});
    }
    fetch.runs.back().next = partition.next;
    fetch.runs.back().at_end = true;
    return;
  }
  const std::string reason = rd_kafka_message_errstr(message);
  if (message->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
      message->err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE) {
    look_up_range(partition, Offset(message->offset));
    return;
  }
  const std::string attempted =
      fmt::format("read {}-{} from offset {}", partition.name.topic, partition.name.partition,
                  std::max<std::int64_t>(message->offset, 0));
  Status status = to_status(message->err, attempted, handle_->brokers(), reason);
  if (status.code() == Code::kInvalid || status.code() == Code::kCorrupt ||
      status.code() == Code::kExhausted) {
    failure_ = std::move(status);
    return;
  }
  log().warn("{}; the client goes on trying",
             status.message());  // The library backs off and fetches again.
}

void RdConsumer::look_up_range(const Partition& partition, Offset wanted) {
  if (std::exchange(looking_up_, true)) return;
  offload_.post([this, name = partition.name, wanted] {
    std::int64_t first = -1, end = -1;
    const rd_kafka_resp_err_t error = rd_kafka_query_watermark_offsets(
        handle_->get(), name.topic.c_str(), name.partition, &first, &end, kRangeTimeout_ms);
    const std::string there =
        error == RD_KAFKA_RESP_ERR_NO_ERROR
            ? fmt::format("there are {} to {}", first, end)
            : fmt::format("what is there is not known ({})", rd_kafka_err2str(error));
    {
      const std::lock_guard lock(range_mutex_);
      range_failure_ = Status(
          Code::kCorrupt,
          fmt::format("could not read {}-{} at {}: offset {} is wanted, {}; retention passed it, "
                      "or the topic was "
                      "truncated or made anew: choose out_of_range, or restore the records",
                      name.topic, name.partition, handle_->brokers(), wanted.value(), there));
    }
    range_failed_.store(true, std::memory_order_release);
    arrival_.set();
  });
}

void RdConsumer::wake_fetchers(std::size_t taken, std::size_t bytes, bool drained) {
  // librdkafka before 2.2 stops fetching while its queue is over a limit, and looks again only when
  // something happens on its broker thread or a second has passed. Setting the credentials to what
  // they are wakes those threads, without a request; it is the one call of the public interface
  // that does so and nothing else.
  since_empty_messages_ += taken;
  since_empty_bytes_ += bytes;
  const std::size_t waiting = drained ? 0 : rd_kafka_queue_length(queue_.get());
  // The queue was over a limit at some time since it was last empty only if that much has been in
  // it since.
  const bool was_full =
      since_empty_messages_ + waiting >= limit_messages_ || since_empty_bytes_ >= limit_bytes_ / 2;
  if (drained) since_empty_messages_ = since_empty_bytes_ = 0;
  if (!was_full || waiting >= limit_messages_) return;
  const io::Monotonic now = std::chrono::steady_clock::now();
  if (!drained && now - woken_ < std::chrono::milliseconds(1)) return;
  woken_ = now;
  rd_kafka_error_t* error =
      rd_kafka_sasl_set_credentials(handle_->get(), user_.c_str(), password_.c_str());
  if (error != nullptr) rd_kafka_error_destroy(error);
}

void RdConsumer::set_paused_in_library(Partition& partition, bool paused) {
  RdPartitions list(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(list.get(), partition.name.topic.c_str(),
                                    partition.name.partition);
  if (paused) {
    rd_kafka_pause_partitions(handle_->get(), list.get());
  } else {
    rd_kafka_resume_partitions(handle_->get(), list.get());
  }
  partition.paused_in_library = paused;
}

void RdConsumer::pause(std::uint32_t assignment) {
  SLUICE_ASSERT(assignment < partitions_.size());
  partitions_[assignment].paused = true;
}

void RdConsumer::resume(std::uint32_t assignment) {
  SLUICE_ASSERT(assignment < partitions_.size());
  Partition& partition = partitions_[assignment];
  if (!std::exchange(partition.paused, false)) return;
  if (!partition.stored.empty() || partition.paused_in_library) {
    resumed_.push_back(assignment);
    arrival_.set();
  }
}

asio::awaitable<Status> RdConsumer::close() {
  if (std::exchange(closed_, true)) co_return Status();
  rd_kafka_queue_cb_event_enable(queue_.get(), nullptr, nullptr);
  for (Partition& partition : partitions_) {
    for (rd_kafka_message_t* message : partition.stored) rd_kafka_message_destroy(message);
    partition.stored.clear();
  }
  auto call = [rk = handle_->get()] { return rd_kafka_consumer_close(rk); };
  const rd_kafka_resp_err_t error = co_await io::offload(offload_, std::move(call));
  co_return to_status(error, "close the consumer", handle_->brokers());
}

}  // namespace sluice::kafka::internal
