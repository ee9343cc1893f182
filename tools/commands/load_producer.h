#pragma once

#include "commands/cluster.h"
#include "commands/latencies.h"
#include "commands/test_record.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

/// One producer of `generate`: makes its records on one thread and keeps to its schedule, whatever
/// the broker does.
namespace sluice::tools {

struct LoadOptions {
  std::string topic;
  std::vector<std::int32_t> partitions;  ///< source partitions, taken in turn
  RecordFormat format = RecordFormat::kText;
  std::size_t size_bytes = 100;
  std::string key = "none";               ///< none, seq, or NAME:N for one of N keys
  double rate = 0;                        ///< records/s of this producer; 0: flat out
  std::chrono::microseconds offset{0};    ///< of its first record behind the common start
  std::uint64_t records = 0;              ///< 0: no limit
  std::chrono::microseconds duration{0};  ///< 0: no limit
  bool transactional = false;
  std::chrono::microseconds transaction_interval = std::chrono::milliseconds(100);
  std::uint64_t seed = 1;
};

/// Open loop: record k is due at start + offset + k / rate and says so itself; one that is sent
/// late stays due then.
///
/// Thread     run() on a thread of its own; sent() from any.
/// Errors     as to_status; what was sent before a failure is in the counts.
class LoadProducer {
 public:
  LoadProducer(std::string id, LoadOptions options, const Connection& connection);

  /// Connects; with transactions this fences an earlier producer of the same id.
  Status open();
  /// Sends everything, or what there is until Interrupt, and waits until the broker has it all.
  Status run(std::chrono::steady_clock::time_point start, std::int64_t start_us);

  struct Count {
    std::uint64_t sent = 0, failed = 0, delivered = 0;
  };
  [[nodiscard]] const std::string& id() const noexcept { return id_; }
  [[nodiscard]] const std::vector<Count>& counts() const noexcept {
    return counts_;
  }  ///< by index in partitions
  [[nodiscard]] const Latencies& lateness() const noexcept { return lateness_; }
  [[nodiscard]] std::uint64_t sent() const noexcept {
    return sent_total_.load(std::memory_order_relaxed);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static void on_failure(const rd_kafka_message_t& message, void* opaque);
  void add(std::size_t lane, std::uint64_t sequence, std::int64_t due_us);
  Status send_added();
  Status make_room(std::size_t records);
  Status settle();
  Status wait_for_delivery();
  Status commit();
  Status await_leaders(std::chrono::milliseconds timeout);
  Status check_failures() const;
  [[nodiscard]] std::uint64_t due_by(Clock::time_point now) const;
  [[nodiscard]] std::int64_t due_after_start_us(std::uint64_t k) const;
  void append_key(std::uint64_t sequence, std::string& out) const;

  const std::string id_;
  const LoadOptions options_;
  const Connection& connection_;
  std::string key_name_;
  std::uint64_t key_count_ = 0;
  std::size_t outstanding_max_ = 0;

  // Records of one partition that wait for one call; values lie in one buffer each.
  struct Lane {
    RecordWriter writer;
    std::uint64_t next_sequence = 0;
    std::string values, keys;
    std::vector<std::size_t> value_ends, key_ends;
  };
  std::vector<Lane> lanes_;
  std::vector<Count> counts_;
  std::vector<rd_kafka_message_t> messages_;
  std::unique_ptr<Handle> handle_;
  TopicHandle topic_;
  Latencies lateness_;
  std::atomic<std::uint64_t> sent_total_{0};
  Clock::time_point start_, transaction_began_;
  std::int64_t start_us_ = 0;
  rd_kafka_resp_err_t first_failure_ = RD_KAFKA_RESP_ERR_NO_ERROR;
};

}  // namespace sluice::tools
