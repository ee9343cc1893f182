#include "commands/load_producer.h"

#include <sluice/io/base/random.h>

#include "commands/interrupt.h"
#include "commands/units.h"

#include <algorithm>
#include <charconv>
#include <thread>

namespace sluice::tools {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t kBatchRecords = 500;
constexpr std::size_t kOutstandingRecordsMax = 400'000;
constexpr std::size_t kOutstandingBytesMax = 256u << 20;
// Two records closer than this go out together; a wake-up a record would cost more than the
// records.
constexpr auto kTick = 1ms;

}  // namespace

LoadProducer::LoadProducer(std::string id, LoadOptions options, const Connection& connection)
    : id_(std::move(id)),
      options_(std::move(options)),
      connection_(connection),
      counts_(options_.partitions.size()) {
  // What the client may hold; kept here, so that it never refuses one record of a batch and takes
  // the next.
  outstanding_max_ = std::clamp<std::size_t>(kOutstandingBytesMax / (options_.size_bytes + 64), 64,
                                             kOutstandingRecordsMax);
  for (const std::int32_t partition : options_.partitions) {
    lanes_.push_back({.writer = RecordWriter({.format = options_.format,
                                              .producer = id_,
                                              .partition = partition,
                                              .size_bytes = options_.size_bytes,
                                              .seed = options_.seed}),
                      .values = {},
                      .keys = {},
                      .value_ends = {},
                      .key_ends = {}});
  }
  if (options_.key != "none" && options_.key != "seq") {
    const std::size_t colon = options_.key.rfind(':');
    key_name_ = options_.key.substr(0, colon);
    std::from_chars(options_.key.data() + colon + 1, options_.key.data() + options_.key.size(),
                    key_count_);
  }
}

Status LoadProducer::open() {
  Handle::Settings settings;
  settings.fixed = {{"enable.idempotence", "true"},
                    {"acks", "all"},
                    {"delivery.report.only.error", "true"},
                    {"queue.buffering.max.messages", std::to_string(2 * kOutstandingRecordsMax)},
                    {"queue.buffering.max.kbytes", "2097151"}};
  // As the Java client's. At 1 ms a partition soon has five requests on their way, the most that idempotence allows, and then
  // librdkafka's thread looks for room without a pause, on a core that who is measured needs.
  settings.defaults = {{"linger.ms", "5"}};
  if (options_.transactional) settings.fixed.emplace("transactional.id", "sluice-generate-" + id_);
  settings.delivery_failure = on_failure;
  settings.opaque = this;
  auto handle = Handle::make(RD_KAFKA_PRODUCER, connection_, std::move(settings));
  if (!handle.ok()) return handle.status();
  handle_ = *std::move(handle);
  topic_.reset(rd_kafka_topic_new(handle_->get(), options_.topic.c_str(), nullptr));
  const auto timeout =
      std::chrono::duration_cast<std::chrono::milliseconds>(connection_.connect_timeout);
  SLUICE_TRY(await_leaders(timeout));
  if (!options_.transactional) return {};
  rd_kafka_error_t* const error =
      rd_kafka_init_transactions(handle_->get(), static_cast<int>(timeout.count()));
  if (error == nullptr) return {};
  const Status status =
      handle_->failure(rd_kafka_error_code(error), "could not begin with transactions",
                       rd_kafka_error_string(error));
  rd_kafka_error_destroy(error);
  return status;
}

/// Of a topic that was just made, a leader may refuse the first record and take the second: then the
/// client counts the first one as delivered, though it is nowhere (kafka/decisions/0007).
Status LoadProducer::await_leaders(std::chrono::milliseconds timeout) {
  const auto until = Clock::now() + timeout;
  for (const std::int32_t partition : options_.partitions) {
    for (;;) {
      std::int64_t first = -1, end = -1;
      const rd_kafka_resp_err_t error = rd_kafka_query_watermark_offsets(
          handle_->get(), options_.topic.c_str(), partition, &first, &end,
          static_cast<int>(timeout.count()));
      if (error == RD_KAFKA_RESP_ERR_NO_ERROR && first >= 0) break;
      if (Clock::now() >= until || Interrupt::asked()) {
        return handle_->failure(error, fmt::format("could not reach the leader of topic \"{}\", "
                                                   "partition {}",
                                                   options_.topic, partition));
      }
      std::this_thread::sleep_for(20ms);
    }
  }
  return {};
}

void LoadProducer::on_failure(const rd_kafka_message_t& message, void* opaque) {
  auto& self = *static_cast<LoadProducer*>(opaque);
  if (self.first_failure_ == RD_KAFKA_RESP_ERR_NO_ERROR) self.first_failure_ = message.err;
  const auto& partitions = self.options_.partitions;
  const auto at = std::lower_bound(partitions.begin(), partitions.end(), message.partition);
  if (at != partitions.end())
    ++self.counts_[static_cast<std::size_t>(at - partitions.begin())].failed;
}

std::int64_t LoadProducer::due_after_start_us(std::uint64_t k) const {
  return options_.offset.count() +
         static_cast<std::int64_t>(static_cast<double>(k) * 1e6 / options_.rate);
}

std::uint64_t LoadProducer::due_by(Clock::time_point now) const {
  const auto since_us =
      std::chrono::duration_cast<std::chrono::microseconds>(now - start_).count() -
      options_.offset.count();
  if (since_us < 0) return 0;
  auto due = static_cast<std::uint64_t>(static_cast<double>(since_us) * options_.rate / 1e6);
  while (due_after_start_us(due) - options_.offset.count() <= since_us)
    ++due;  // Past the rounding.
  return due;
}

void LoadProducer::append_key(std::uint64_t sequence, std::string& out) const {
  if (options_.key == "none") return;
  if (key_count_ == 0) {
    out += std::to_string(sequence);
  } else {
    out += key_name_;
    out += '-';
    out += std::to_string(Random(options_.seed + sequence).below(key_count_));
  }
}

void LoadProducer::add(std::size_t lane, std::uint64_t sequence, std::int64_t due_us) {
  Lane& to = lanes_[lane];
  to.writer.append(sequence, due_us, to.values);
  to.value_ends.push_back(to.values.size());
  append_key(sequence, to.keys);
  to.key_ends.push_back(to.keys.size());
}

Status LoadProducer::make_room(std::size_t records) {
  rd_kafka_poll(handle_->get(), 0);
  while (static_cast<std::size_t>(rd_kafka_outq_len(handle_->get())) + records > outstanding_max_) {
    rd_kafka_poll(handle_->get(), 1);
    SLUICE_TRY(check_failures());
  }
  return check_failures();
}

Status LoadProducer::check_failures() const {
  SLUICE_TRY(handle_->fatal());
  if (first_failure_ == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
  return handle_->failure(
      first_failure_, fmt::format("could not deliver a record to topic \"{}\"", options_.topic));
}

Status LoadProducer::send_added() {
  std::uint64_t sent = 0;
  for (std::size_t at = 0; at < lanes_.size(); ++at) {
    Lane& lane = lanes_[at];
    const std::size_t records = lane.value_ends.size();
    if (records == 0) continue;
    SLUICE_TRY(make_room(records));
    messages_.assign(records, {});
    std::size_t value = 0, key = 0;
    for (std::size_t i = 0; i < records; ++i) {
      messages_[i].payload = lane.values.data() + value;
      messages_[i].len = lane.value_ends[i] - value;
      value = lane.value_ends[i];
      if (lane.key_ends[i] != key) {
        messages_[i].key = lane.keys.data() + key;
        messages_[i].key_len = lane.key_ends[i] - key;
        key = lane.key_ends[i];
      }
    }
    const int taken =
        rd_kafka_produce_batch(topic_.get(), options_.partitions[at], RD_KAFKA_MSG_F_COPY,
                               messages_.data(), static_cast<int>(records));
    counts_[at].sent += static_cast<std::uint64_t>(taken);
    sent += static_cast<std::uint64_t>(taken);
    lane.values.clear();
    lane.keys.clear();
    lane.value_ends.clear();
    lane.key_ends.clear();
    if (static_cast<std::size_t>(taken) == records) continue;
    const auto refused = std::find_if(messages_.begin(), messages_.end(),
                                      [](const auto& message) { return message.err != 0; });
    return handle_->failure(refused->err,
                            fmt::format("could not send a record to topic \"{}\", partition {}",
                                        options_.topic, options_.partitions[at]));
  }
  sent_total_.store(sent_total_.load(std::memory_order_relaxed) + sent, std::memory_order_relaxed);
  return {};
}

Status LoadProducer::wait_for_delivery() {
  // Not rd_kafka_flush, which moves in steps of 10 ms and sends at once what linger.ms holds back
  // anyway.
  while (rd_kafka_outq_len(handle_->get()) > 0) {
    rd_kafka_poll(handle_->get(), 1);
    SLUICE_TRY(handle_->fatal());
    if (options_.transactional) SLUICE_TRY(check_failures());
  }
  return check_failures();
}

Status LoadProducer::commit() {
  SLUICE_TRY(wait_for_delivery());
  for (;;) {
    rd_kafka_error_t* const error = rd_kafka_commit_transaction(handle_->get(), -1);
    if (error == nullptr) break;
    const bool again = rd_kafka_error_is_retriable(error) != 0;
    const Status status = handle_->failure(
        rd_kafka_error_code(error), "could not commit a transaction", rd_kafka_error_string(error));
    rd_kafka_error_destroy(error);
    if (!again) return status;
  }
  for (Count& count : counts_) count.delivered = count.sent;
  return {};
}

Status LoadProducer::settle() {
  if (options_.transactional) return commit();
  const Status status = wait_for_delivery();
  for (Count& count : counts_) count.delivered = count.sent - count.failed;
  return status;
}

Status LoadProducer::run(Clock::time_point start, std::int64_t start_us) {
  start_ = start;
  start_us_ = start_us;
  const auto end =
      options_.duration.count() > 0 ? start + options_.duration : Clock::time_point::max();
  const std::uint64_t records_max = options_.records > 0 ? options_.records : UINT64_MAX;
  std::uint64_t k = 0;
  bool in_transaction = false;
  Status status;
  while (status.ok() && k < records_max && !Interrupt::asked()) {
    const auto now = Clock::now();
    // The schedule ends with the duration, not the clock: what is late by then was due all the
    // same.
    const std::uint64_t due =
        options_.rate > 0 ? std::min(records_max, due_by(std::min(now, end - 1us))) : records_max;
    const std::uint64_t batch =
        std::min<std::uint64_t>(due - std::min(due, k), kBatchRecords * lanes_.size());
    if (now >= end && (options_.rate == 0 || batch == 0)) break;
    if (options_.transactional && !in_transaction) {
      if (rd_kafka_error_t* const error = rd_kafka_begin_transaction(handle_->get())) {
        status = handle_->failure(rd_kafka_error_code(error), "could not begin a transaction",
                                  rd_kafka_error_string(error));
        rd_kafka_error_destroy(error);
        break;
      }
      in_transaction = true;
      transaction_began_ = now;
    }
    const std::int64_t now_us =
        start_us_ + std::chrono::duration_cast<std::chrono::microseconds>(now - start_).count();
    for (std::uint64_t i = 0; i < batch; ++i, ++k) {
      const std::int64_t due_us = options_.rate > 0 ? start_us_ + due_after_start_us(k) : now_us;
      if (options_.rate > 0) lateness_.record(now_us - due_us);
      add(k % lanes_.size(), k / lanes_.size(), due_us);
    }
    status = send_added();
    if (status.ok() && in_transaction &&
        Clock::now() - transaction_began_ >= options_.transaction_interval) {
      status = commit();
      in_transaction = false;
    }
    if (options_.rate > 0 && k < records_max && status.ok()) {
      // Slices, so that a signal is noticed at a rate of one record an hour too.
      const auto next = std::min(start_ + std::chrono::microseconds(due_after_start_us(k)), end);
      const auto wake = std::max(next, now + kTick);
      std::this_thread::sleep_until(std::min(wake, Clock::now() + 50ms));
      rd_kafka_poll(handle_->get(), 0);
    }
  }
  if (!status.ok()) {
    // What is left comes back as failed, so that the counts say what the broker is known to have.
    rd_kafka_purge(handle_->get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    for (int tries = 0; tries < 500 && rd_kafka_outq_len(handle_->get()) > 0; ++tries)
      rd_kafka_poll(handle_->get(), 10);
    for (Count& count : counts_) {
      if (!options_.transactional) count.delivered = count.sent - count.failed;
    }
    return status;
  }
  return options_.transactional && !in_transaction ? Status() : settle();
}

}  // namespace sluice::tools
