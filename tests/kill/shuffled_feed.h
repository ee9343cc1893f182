#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "shuffled_stream.h"

struct rd_kafka_s;

namespace sluice::testing {

/// Writes a stream into a topic, `rate` records/s, until stop(): key, "number amount", and the event time as timestamp. A partition's
/// records stand in the order of their numbers, each once.
///
/// Errors     std::runtime_error when the broker does not take a record.
class ShuffledFeed {
 public:
  ShuffledFeed(const std::string& brokers, std::string topic, const ShuffledStream& stream, int rate);
  ShuffledFeed(const ShuffledFeed&) = delete;
  ~ShuffledFeed();

  [[nodiscard]] std::int64_t written() const noexcept { return written_; }
  /// Returns when all are acknowledged: how many.
  std::int64_t stop();

 private:
  void feed();
  void write(const ShuffledStream::Event& event);

  const std::string topic_;
  const ShuffledStream stream_;
  const int rate_;
  rd_kafka_s* producer_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::int64_t> written_{0}, refused_{0};
  std::thread thread_;
};

}  // namespace sluice::testing
