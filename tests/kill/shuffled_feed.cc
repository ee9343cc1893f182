#include "shuffled_feed.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <librdkafka/rdkafka.h>

namespace sluice::testing {

using std::chrono::steady_clock;

ShuffledFeed::ShuffledFeed(const std::string& brokers, std::string topic, const ShuffledStream& stream, int rate)
    : topic_(std::move(topic)), stream_(stream), rate_(rate) {
  char text[512];
  rd_kafka_conf_t* const conf = rd_kafka_conf_new();
  for (const auto& [name, value] : {std::pair("bootstrap.servers", brokers.c_str()), std::pair("enable.idempotence", "true"),
                                    std::pair("linger.ms", "5")}) {
    if (rd_kafka_conf_set(conf, name, value, text, sizeof text) != RD_KAFKA_CONF_OK) throw std::runtime_error(text);
  }
  rd_kafka_conf_set_opaque(conf, this);
  rd_kafka_conf_set_dr_msg_cb(conf, [](rd_kafka_t*, const rd_kafka_message_t* message, void* self) {
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) ++static_cast<ShuffledFeed*>(self)->refused_;
  });
  producer_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof text);
  if (producer_ == nullptr) throw std::runtime_error(text);
  thread_ = std::thread([this] { feed(); });
}

ShuffledFeed::~ShuffledFeed() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
  rd_kafka_destroy(producer_);
}

std::int64_t ShuffledFeed::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
  const bool flushed = rd_kafka_flush(producer_, 60'000) == RD_KAFKA_RESP_ERR_NO_ERROR;
  if (!flushed || refused_ > 0) {
    throw std::runtime_error(fmt::format("topic {}: {} of {} records were not taken", topic_,
                                         flushed ? refused_.load() : rd_kafka_outq_len(producer_), written_.load()));
  }
  return written_;
}

void ShuffledFeed::feed() {
  // What a machine that stands still did not write is not made up for: nobody could read it in the time of a test.
  constexpr std::chrono::duration<double> kMadeUpFor = std::chrono::milliseconds(100);
  double due = 0;
  for (auto before = steady_clock::now(); !stopping_;) {
    const auto now = steady_clock::now();
    due += std::min<std::chrono::duration<double>>(now - std::exchange(before, now), kMadeUpFor).count() * rate_;
    for (; due >= 1 && !stopping_; --due) write(stream_.at(written_));
    rd_kafka_poll(producer_, 5);
  }
}

void ShuffledFeed::write(const ShuffledStream::Event& event) {
  std::string key = ShuffledStream::key_text(event.key), value = fmt::format("{} {}", event.number, event.amount);
  const rd_kafka_resp_err_t error = rd_kafka_producev(
      producer_, RD_KAFKA_V_TOPIC(topic_.c_str()), RD_KAFKA_V_PARTITION(event.partition), RD_KAFKA_V_KEY(key.data(), key.size()),
      RD_KAFKA_V_VALUE(value.data(), value.size()), RD_KAFKA_V_TIMESTAMP(event.time_ms), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
      RD_KAFKA_V_END);
  if (error == RD_KAFKA_RESP_ERR__QUEUE_FULL) {
    rd_kafka_poll(producer_, 5);
    return;  // It is the next one still.
  }
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    ++refused_;
    stopping_ = true;
    return;
  }
  ++written_;
}

}  // namespace sluice::testing
