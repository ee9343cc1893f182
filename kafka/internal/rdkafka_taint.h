#pragma once

#include <sluice/kafka/internal/commit_pause.h>

#include <librdkafka/rdkafka.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

namespace sluice::kafka::internal {

/// Knows whether a request of a transactional handle may still be on its way although the library
/// has given it up.
///
/// Such a request can arrive after the transaction that it belongs to and hit the next one
/// (KIP-890); the library resends it without a word. Tainted is the handle once
///   - a connection closed that had carried a request of a transaction (produce, add, offsets,
///   end), answered or not, or
///     an init that was not answered. Others, such as those to the bootstrap addresses, do not
///     count, nor does that to a coordinator which answered that it is none (any more): the first
///     init of a new cluster would always taint;
///   - a request timed out, or an answer came that nobody waited for any more.
/// A handle is initialised once, so "since the last init" is "since the handle was made".
///
/// Also passes the kill points "commit.sent" and "offsets.sent" when EndTxn and TxnOffsetCommit
/// have left, and tells commit_pause() when partitions are added.
///
/// Shard      any; the callbacks run on librdkafka's broker threads.
/// Ownership  a member of the RdHandle that it watches.
class Taint {
 public:
  /// Adds the callbacks to a configuration whose opaque is the RdHandle.
  void watch(rd_kafka_conf_t* conf);
  [[nodiscard]] bool tainted() const noexcept { return tainted_.load(std::memory_order_acquire); }
  [[nodiscard]] CommitPause& commit_pause() noexcept { return commit_pause_; }

 private:
  static int on_close(int socket, void* opaque);
  static rd_kafka_resp_err_t on_new(rd_kafka_t* rk, const rd_kafka_conf_t* conf, void* self,
                                    char* reason, size_t size);
  static rd_kafka_resp_err_t on_sent(rd_kafka_t* rk, int socket, const char* broker,
                                     int32_t broker_id, int16_t api_key, int16_t api_version,
                                     int32_t correlation, size_t size, void* self);
  static rd_kafka_resp_err_t on_answer(rd_kafka_t* rk, int socket, const char* broker,
                                       int32_t broker_id, int16_t api_key, int16_t api_version,
                                       int32_t correlation, size_t size, int64_t rtt,
                                       rd_kafka_resp_err_t error, void* self);

  std::atomic<bool> tainted_{false};
  CommitPause commit_pause_;
  std::mutex mutex_;
  enum class Carried : std::uint8_t { kInit, kTransaction };
  std::map<int, Carried> carried_;  // Open sockets over which such a request went.
  bool init_unanswered_ = false;    // The library has one on its way at most.
};

}  // namespace sluice::kafka::internal
