#include "commands/topic_reader.h"

#include "commands/interrupt.h"
#include "commands/units.h"

#include <algorithm>
#include <thread>

namespace sluice::tools {

namespace {

constexpr std::size_t kBatchRecords = 4096;

std::chrono::milliseconds in_ms(std::chrono::microseconds duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration);
}

}  // namespace

TopicReader::~TopicReader() {
  if (queue_ != nullptr) {
    for (const Topic& topic : topics_) {
      for (std::size_t at = topic.first_lane;
           at < lanes_.size() && lanes_[at].topic == lanes_[topic.first_lane].topic; ++at) {
        rd_kafka_consume_stop(topic.handle.get(), lanes_[at].partition);
      }
    }
    rd_kafka_queue_destroy(queue_);
  }
  topics_.clear();  // Before the handle that they belong to.
}

Status TopicReader::open(const std::vector<std::string>& topics) {
  Handle::Settings settings;
  settings.fixed = {{"isolation.level", "read_committed"},
                    {"enable.partition.eof", "true"},
                    {"check.crcs", "true"}};
  // A full queue pauses librdkafka 2.0.2 for a second; this holds what is read in about that time.
  settings.defaults = {{"queued.min.messages", "400000"},
                       {"queued.max.messages.kbytes", "131072"},
                       {"fetch.message.max.bytes", "4194304"},
                       {"auto.offset.reset", "error"},
                       // The end of a partition shows in an empty answer; nobody waits long for it.
                       {"fetch.wait.max.ms", "20"}};
  auto handle = Handle::make(RD_KAFKA_CONSUMER, connection_, std::move(settings));
  if (!handle.ok()) return handle.status();
  handle_ = *std::move(handle);
  auto uncommitted = Handle::make(RD_KAFKA_CONSUMER, connection_,
                                  {.fixed = {{"isolation.level", "read_uncommitted"}}});
  if (!uncommitted.ok()) return uncommitted.status();
  uncommitted_ = *std::move(uncommitted);
  for (const std::string& name : topics) {
    // Not asked of handle_: a topic that it knows already would keep the settings it was made with,
    // and not take ours.
    const auto count = partition_count(*uncommitted_, name, in_ms(connection_.connect_timeout));
    if (!count.ok()) return count.status();
    Topic& topic = topics_.emplace_back();
    topic.first_lane = lanes_.size();
    rd_kafka_topic_conf_t* const conf = rd_kafka_topic_conf_new();
    rd_kafka_topic_conf_set_opaque(conf, &topic);
    // Without this the handle's default of auto.offset.reset is not inherited by a topic with its
    // own settings.
    rd_kafka_topic_conf_set(conf, "auto.offset.reset", "error", nullptr, 0);
    topic.handle.reset(rd_kafka_topic_new(handle_->get(), name.c_str(), conf));
    for (std::int32_t partition = 0; partition < *count; ++partition) {
      Lane& lane = lanes_.emplace_back(Lane{.topic = name, .partition = partition});
      SLUICE_TRY(query(*uncommitted_, lane, lane.begin, lane.high_watermark));
      lane.next = lane.begin;
    }
  }
  queue_ = rd_kafka_queue_new(handle_->get());
  messages_.resize(kBatchRecords);
  for (Topic& topic : topics_) SLUICE_TRY(start(topic));
  return mark_end();
}

Status TopicReader::start(Topic& topic) {
  const std::string& name = lanes_[topic.first_lane].topic;
  for (std::size_t at = topic.first_lane; at < lanes_.size() && lanes_[at].topic == name; ++at) {
    const int failed = rd_kafka_consume_start_queue(topic.handle.get(), lanes_[at].partition,
                                                    lanes_[at].begin, queue_);
    if (failed != 0) {
      return handle_->failure(rd_kafka_last_error(),
                              fmt::format("could not read {}[{}]", name, lanes_[at].partition));
    }
  }
  return {};
}

Status TopicReader::query(const Handle& handle, const Lane& lane, std::int64_t& low,
                          std::int64_t& high) const {
  const rd_kafka_resp_err_t error = rd_kafka_query_watermark_offsets(
      handle.get(), lane.topic.c_str(), lane.partition, &low, &high,
      static_cast<int>(in_ms(connection_.connect_timeout).count()));
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
  return handle.failure(
      error, fmt::format("could not ask for the end of {}[{}]", lane.topic, lane.partition));
}

Status TopicReader::mark_end() {
  std::int64_t low = 0;
  for (Lane& lane : lanes_) SLUICE_TRY(query(*uncommitted_, lane, low, lane.high_watermark));
  // A commit is acknowledged before its markers are in the partitions: for a moment what is
  // committed is not readable. And what a killed job left open ends by itself, or with its restart.
  const auto deadline = std::chrono::steady_clock::now() + settle_;
  for (bool settled = false; !settled;) {
    settled = true;
    for (Lane& lane : lanes_) {
      if (lane.end >= lane.high_watermark) continue;
      SLUICE_TRY(query(*handle_, lane, low, lane.end));
      settled = settled && lane.end >= lane.high_watermark;
    }
    if (settled || Interrupt::asked() || std::chrono::steady_clock::now() >= deadline) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  following_ = false;
  return {};
}

bool TopicReader::at_end() const noexcept {
  return std::all_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.at_end(); });
}

std::uint64_t TopicReader::distance() const noexcept {
  std::int64_t distance = 0;
  for (const Lane& lane : lanes_) distance += std::max<std::int64_t>(lane.end - lane.next, 0);
  return static_cast<std::uint64_t>(distance);
}

Result<std::size_t> TopicReader::poll(std::chrono::milliseconds wait, const OnRecord& on_record) {
  rd_kafka_poll(handle_->get(), 0);
  // The batch call waits until the batch is full; so one record is waited for, and then what is
  // there is taken.
  rd_kafka_message_t* const first = rd_kafka_consume_queue(queue_, static_cast<int>(wait.count()));
  if (first == nullptr) return std::size_t{0};
  messages_[0] = first;
  const ssize_t more =
      rd_kafka_consume_batch_queue(queue_, 0, messages_.data() + 1, messages_.size() - 1);
  received_us_ = wall_now_us();
  const std::size_t count = 1 + static_cast<std::size_t>(std::max<ssize_t>(more, 0));
  Status status;
  for (std::size_t at = 0; at < count; ++at) {
    if (status.ok()) status = take(*messages_[at], on_record);
    rd_kafka_message_destroy(messages_[at]);
  }
  if (!status.ok()) return status;
  return count;
}

Status TopicReader::take(const rd_kafka_message_t& message, const OnRecord& on_record) {
  if (message.rkt == nullptr)
    return handle_->failure(message.err, "could not read", rd_kafka_message_errstr(&message));
  const auto& topic = *static_cast<const Topic*>(rd_kafka_topic_opaque(message.rkt));
  const std::size_t number = topic.first_lane + static_cast<std::size_t>(message.partition);
  Lane& lane = lanes_[number];
  if (message.err == RD_KAFKA_RESP_ERR_NO_ERROR) {
    lane.next = message.offset + 1;
    if (following_ || message.offset < lane.end) on_record(number, message);
    return {};
  }
  if (message.err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
    lane.next = std::max(lane.next, message.offset);
    return {};
  }
  return handle_->failure(
      message.err,
      fmt::format("could not read {}[{}] at offset {}", lane.topic, lane.partition, lane.next),
      rd_kafka_message_errstr(&message));
}

}  // namespace sluice::tools
