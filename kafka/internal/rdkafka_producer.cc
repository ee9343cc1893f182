#include <sluice/kafka/internal/rdkafka_config.h>
#include <sluice/kafka/internal/rdkafka_error.h>
#include <sluice/kafka/internal/rdkafka_producer.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

namespace sluice::kafka::internal {
namespace {

using namespace std::chrono_literals;

constexpr auto kFullWait = 1ms;
constexpr auto kTopicTimeout = 30s;
// A broker's thread of the library wakes within this, and sends what it has; only while the call lasts it does not linger.
constexpr int kHurry_ms = 1;
constexpr auto kHurryAgain = 3ms;
// A record batch's frame and a record's own fields at their longest, as the broker counts them.
constexpr std::size_t kRecordOverhead_bytes = 61 + 5 + 1 + 10 + 5 + 5 + 5 + 5;
constexpr std::size_t kHeaderOverhead_bytes = 10;

std::size_t bytes_of(const OutRecord& record) noexcept {
  std::size_t bytes = record.key.size() + record.value.size();
  for (const Header& header : record.headers)
    bytes += header.name.size() + header.value.size() + kHeaderOverhead_bytes;
  return bytes;
}

/// Short at first, as a barrier waits for it; longer when the broker is slow anyway.
std::chrono::microseconds next_look(io::Monotonic started, io::Monotonic now) noexcept {
  return now - started < 20ms ? 100us : now - started < 200ms ? 500us : 2'000us;
}

}  // namespace

RdProducerCore::RdProducerCore(ClientOptions client, ProducerOptions options,
                               std::shared_ptr<RdHandle> handle, std::string purpose)
    : client_(std::move(client)),
      options_(std::move(options)),
      purpose_(std::move(purpose)),
      handle_(std::move(handle)),
      reaper_("sluice-retire"),
      hurrier_("sluice-hurry"),
      thread_("sluice-produce") {}

RdProducerCore::~RdProducerCore() = default;

Result<std::shared_ptr<RdHandle>> RdProducerCore::make_handle(const ClientOptions& client,
                                                              const ProducerOptions& options,
                                                              const std::string& purpose) {
  Result<RdConfig> config = producer_config(client, options);
  if (!config.ok()) return config.status();
  const auto watch =
      options.transactional_id.empty() ? RdHandle::Watch::kNothing : RdHandle::Watch::kTransactions;
  return RdHandle::make(RD_KAFKA_PRODUCER, std::move(*config).take(), purpose, client.brokers,
                        watch);
}

Status RdProducerCore::renew() {
  Result<std::shared_ptr<RdHandle>> made = make_handle(client_, options_, purpose_);
  if (!made.ok()) return made.status();
  std::shared_ptr<RdHandle> old;
  {
    const std::unique_lock lock(mutex_);
    old = std::exchange(handle_, std::move(*made));
    for (Topic& topic : topics_) topic.topic = handle_->topic(topic.name);
  }
  delivered_.store(handed_.load());
  retire(std::move(old));
  return {};
}

void RdProducerCore::retire(std::shared_ptr<RdHandle> handle) {
  // Nothing of the old handle may be sent from here on: what is queued is dropped at once, the rest
  // is joined beside.
  rd_kafka_purge(handle->get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT |
                                    RD_KAFKA_PURGE_F_NON_BLOCKING);
  reaper_.post([old = std::move(handle)]() mutable { old.reset(); });
}

std::shared_ptr<RdHandle> RdProducerCore::handle() const {
  const std::shared_lock lock(mutex_);
  return handle_;
}

asio::awaitable<Result<TopicInfo>> RdProducerCore::topic(std::string name) {
  {
    const std::shared_lock lock(mutex_);
    for (const Topic& known : topics_) {
      if (known.name == name) co_return known.info;
    }
  }
  if (!lookup_) {
    Result<std::unique_ptr<RdAdmin>> made = RdAdmin::make(client_);
    if (!made.ok()) co_return made.status();
    lookup_ = std::move(*made);
  }
  const io::Monotonic deadline = std::chrono::steady_clock::now() + kTopicTimeout;
  Result<RdAdmin::TopicLimits> limits = co_await lookup_->topic_limits(name, deadline);
  if (!limits.ok()) co_return limits.status();
  char text[32] = "1000000";
  std::size_t size = sizeof(text);
  const std::shared_ptr<RdHandle> current = handle();
  rd_kafka_conf_get(rd_kafka_conf(current->get()), "message.max.bytes", text, &size);
  const std::size_t client_max = std::stoull(text);
  size = sizeof(text);
  rd_kafka_conf_get(rd_kafka_conf(current->get()), "batch.size", text, &size);
  const std::size_t batch_max = std::stoull(text);
  const std::size_t topic_max = limits->record_bytes_max.value_or(client_max);
  if (std::min(batch_max, client_max) > topic_max) {
    // A batch of several small records would be refused, and the library gives up on it.
    co_return Status(
        Code::kInvalid,
        fmt::format(
            "could not write to topic {} at {}: its max.message.bytes is {}, a batch may grow to "
            "{} bytes; set the property batch.size to {} or raise max.message.bytes",
            name, client_.brokers, topic_max, std::min(batch_max, client_max), topic_max));
  }
  const std::size_t limit = std::min(topic_max, client_max);
  const std::unique_lock lock(mutex_);
  rd_kafka_topic_t* topic = handle_->topic(name);
  if (topic == nullptr) {
    co_return to_status(rd_kafka_last_error(), fmt::format("open topic {}", name), client_.brokers);
  }
  const TopicInfo info{.handle = static_cast<std::uint32_t>(topics_.size()),
                       .partitions = limits->partitions,
                       .record_bytes_max = limit - std::min(limit, kRecordOverhead_bytes)};
  topics_.push_back({.name = std::move(name), .topic = topic, .info = info});
  co_return info;
}

rd_kafka_resp_err_t RdProducerCore::send(rd_kafka_t* rk, rd_kafka_topic_t* topic,
                                         const OutRecord& record) {
  auto* value = const_cast<char*>(record.value.data());  // The library's signature; it copies.
  if (record.headers.empty() && record.time == kNoEventTime) {
    const int refused =
        rd_kafka_produce(topic, record.partition, RD_KAFKA_MSG_F_COPY, value, record.value.size(),
                         record.key.data(), record.key.size(), nullptr);
    return refused == 0 ? RD_KAFKA_RESP_ERR_NO_ERROR : rd_kafka_last_error();
  }
  std::array<rd_kafka_vu_t, 7> fields;
  std::size_t count = 0;
  const auto field = [&](rd_kafka_vtype_t type) -> rd_kafka_vu_t& {
    fields[count].vtype = type;
    return fields[count++];
  };
  field(RD_KAFKA_VTYPE_RKT).u.rkt = topic;
  field(RD_KAFKA_VTYPE_PARTITION).u.i32 = record.partition;
  field(RD_KAFKA_VTYPE_MSGFLAGS).u.i = RD_KAFKA_MSG_F_COPY;
  field(RD_KAFKA_VTYPE_VALUE).u.mem = {value, record.value.size()};
  field(RD_KAFKA_VTYPE_KEY).u.mem = {const_cast<char*>(record.key.data()), record.key.size()};
  if (record.time != kNoEventTime)
    field(RD_KAFKA_VTYPE_TIMESTAMP).u.i64 = record.time.time_since_epoch().count();
  rd_kafka_headers_t* headers = nullptr;
  if (!record.headers.empty()) {
    headers = rd_kafka_headers_new(record.headers.size());
    for (const Header& header : record.headers) {
      rd_kafka_header_add(headers, header.name.data(), static_cast<ssize_t>(header.name.size()),
                          header.value.data(), static_cast<ssize_t>(header.value.size()));
    }
    field(RD_KAFKA_VTYPE_HEADERS).u.headers = headers;
  }
  rd_kafka_error_t* error = rd_kafka_produceva(rk, fields.data(), count);
  if (error == nullptr) return RD_KAFKA_RESP_ERR_NO_ERROR;
  if (headers != nullptr) rd_kafka_headers_destroy(headers);  // Ours again.
  const rd_kafka_resp_err_t code = rd_kafka_error_code(error);
  rd_kafka_error_destroy(error);
  return code;
}

Status RdProducerCore::refused(rd_kafka_t* rk, rd_kafka_resp_err_t error, const OutRecord& record,
                               const Topic& topic) const {
  const std::string attempted = fmt::format("write to {}-{}", topic.name, record.partition);
  char reason[512] = "";
  if (error == RD_KAFKA_RESP_ERR__FATAL) error = rd_kafka_fatal_error(rk, reason, sizeof(reason));
  Status status = to_status(error, attempted, client_.brokers, reason);
  return status.code() == Code::kRetry ? std::move(status).as(Code::kRecover) : status;
}

Status RdProducerCore::hand_over(std::span<const OutRecord> records, std::size_t& count, Full& full,
                                 bool& too_large) {
  const std::shared_lock lock(mutex_);
  rd_kafka_t* rk = handle_->get();
  full = Full::kNo;
  std::size_t handed = 0;
  Status status;
  for (const OutRecord& record : records) {
    SLUICE_ASSERT(record.topic < topics_.size());
    const Topic& topic = topics_[record.topic];
    if (const std::size_t bytes = bytes_of(record); bytes > topic.info.record_bytes_max)
        [[unlikely]] {
      too_large = true;
      status = Status(
          Code::kExhausted,
          fmt::format(
              "could not write a record of {} bytes to topic {} at {}: the limit is {}; raise the "
              "topic's max.message.bytes and the property message.max.bytes",
              bytes, topic.name, client_.brokers, topic.info.record_bytes_max));
      break;
    }
    const rd_kafka_resp_err_t error = send(rk, topic.topic, record);
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) [[unlikely]] {
      if (error == RD_KAFKA_RESP_ERR__QUEUE_FULL) {
        full = Full::kYes;
      } else {
        too_large = error == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE;
        status = refused(rk, error, record, topic);
      }
      break;
    }
    ++handed;
  }
  handed_.fetch_add(handed, std::memory_order_release);
  count += handed;
  if (full == Full::kYes) {
    rd_kafka_poll(
        rk,
        0);  // Reports of failed deliveries hold their place in the queue until they are served.
    status = handle_->delivery_failure();
  }
  return status;
}

asio::awaitable<Status> RdProducerCore::produce(std::span<const OutRecord> records,
                                                std::size_t* too_large) {
  std::size_t count = 0;
  for (;;) {
    if (!draining_.load(std::memory_order_acquire)) {
      Full full = Full::kNo;
      bool over_limit = false;
      Status status = hand_over(records.subspan(count), count, full, over_limit);
      if (over_limit && too_large != nullptr) *too_large = count;
      if (!status.ok() || full == Full::kNo) co_return status;
    }
    const Status waited = co_await io::system_clock().sleep(kFullWait);
    if (!waited.ok()) co_return waited;
  }
}

void RdProducerCore::hurry() {
  if (outstanding() == 0) return;
  hurrier_.post([current = handle()] { rd_kafka_flush(current->get(), kHurry_ms); });
}

asio::awaitable<Status> RdProducerCore::delivered(io::Monotonic deadline) {
  // Others wait with produce() meanwhile, or a steady stream of records would never let the queue
  // run empty.
  struct Drain {
    std::atomic<bool>& flag;
    explicit Drain(std::atomic<bool>& of) : flag(of) {
      flag.store(true, std::memory_order_release);
    }
    ~Drain() { flag.store(false, std::memory_order_release); }
  };
  const Drain drain(draining_);
  const std::shared_ptr<RdHandle> current = handle();
  const std::uint64_t handed = handed_.load(std::memory_order_acquire);
  const io::Monotonic started = std::chrono::steady_clock::now();
  io::Monotonic hurry_at = started;
  for (;;) {
    rd_kafka_poll(current->get(), 0);
    // In this order: another thread may serve the report of a failure between the two.
    const bool empty = rd_kafka_outq_len(current->get()) == 0;
    Status failure = current->delivery_failure();
    if (!failure.ok()) co_return failure;
    if (empty) {
      delivered_.store(handed, std::memory_order_release);
      co_return Status();
    }
    const io::Monotonic now = std::chrono::steady_clock::now();
    if (now >= deadline) {
      co_return Status(Code::kRetry, fmt::format("could not deliver {} records to {} in time: {}",
                                                 rd_kafka_outq_len(current->get()), client_.brokers,
                                                 current->last_error()));
    }
    // Again and again: what had no room among the five requests of a partition, or no answer about its partition, lingers anew.
    if (options_.linger >= kHurryAgain && now >= hurry_at) {
      hurry();
      hurry_at = now + std::min(kHurryAgain + (now - started) / 4, io::Monotonic::duration(100ms));
    }
    const Status waited = co_await io::system_clock().sleep(next_look(started, now));
    if (!waited.ok()) co_return waited;
  }
}

std::size_t RdProducerCore::outstanding() const noexcept {
  if (handed_.load(std::memory_order_acquire) == delivered_.load(std::memory_order_acquire))
    return 0;
  const std::shared_lock lock(mutex_);
  return static_cast<std::size_t>(std::max(rd_kafka_outq_len(handle_->get()), 0));
}

asio::awaitable<Status> RdProducerCore::close() {
  if (std::exchange(closed_, true)) co_return Status();
  if (lookup_) {
    const Status closed = co_await lookup_->close();
    (void)closed;
  }
  // The handle itself goes with the destructor; here its queue is dropped, so that nothing more is
  // sent.
  auto drop = [rk = handle()->get()] {
    return rd_kafka_purge(rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
  };
  const rd_kafka_resp_err_t error = co_await io::offload(thread_, std::move(drop));
  co_return to_status(error, "close the " + purpose_, client_.brokers);
}

Result<std::unique_ptr<Producer>> RdProducer::make(const ClientOptions& client,
                                                   const ProducerOptions& options) {
  if (!options.transactional_id.empty()) {
    return Status(
        Code::kInvalid,
        "could not make a producer: it has a transactional id; ask for a transactional one");
  }
  Result<std::shared_ptr<RdHandle>> handle =
      RdProducerCore::make_handle(client, options, "producer");
  if (!handle.ok()) return handle.status();
  auto core = std::make_unique<RdProducerCore>(client, options, std::move(*handle), "producer");
  return std::unique_ptr<Producer>(std::make_unique<RdProducer>(std::move(core)));
}

}  // namespace sluice::kafka::internal
