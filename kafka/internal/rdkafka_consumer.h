#pragma once

#include <sluice/io/offload.h>
#include <sluice/kafka/client.h>
#include <sluice/kafka/internal/rdkafka_handle.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace sluice::kafka::internal {

class Messages;

/// kafka::Consumer on librdkafka: one handle, partitions assigned by hand, one queue for all of
/// them.
///
/// `arrival` is set by a callback of the queue, which fires when the queue stops being empty.
/// poll() therefore drains it before it returns an empty Fetch; after a Fetch that holds something
/// the caller polls again before it waits.
///
/// A partition that is paused keeps what is on its way in a small store, and is paused in the
/// library only when that is full: there, a pause throws the prefetched records away and fetches
/// them again.
class RdConsumer final : public Consumer {
 public:
  static Result<std::unique_ptr<Consumer>> make(const ClientOptions& client, io::Event& arrival,
                                                const ConsumerOptions& options, Metrics& metrics);
  ~RdConsumer() override;

  [[nodiscard]] asio::awaitable<Status> assign(std::vector<Assignment> added) override;
  [[nodiscard]] Result<Fetch> poll(std::size_t records_max) override;
  [[nodiscard]] bool out_of_range() const noexcept override {
    return range_failed_.load(std::memory_order_acquire);
  }
  void pause(std::uint32_t assignment) override;
  void resume(std::uint32_t assignment) override;
  [[nodiscard]] asio::awaitable<Status> close() override;

 private:
  struct Partition {
    TopicPartition name;
    Offset next{0};  // Position behind what was handed out; what comes below it is dropped.
    bool paused = false, paused_in_library = false;
    std::deque<rd_kafka_message_t*>
        stored;  // Arrived while paused; errors and ends of partition, too.
  };
  struct Place {  // Where a message came from, without comparing names.
    rd_kafka_topic_t* topic = nullptr;
    std::int32_t partition = -1;
    bool operator==(const Place&) const = default;
  };
  struct PlaceHash {
    std::size_t operator()(const Place& place) const noexcept {
      return std::hash<void*>()(place.topic) * 31 + static_cast<std::size_t>(place.partition);
    }
  };

  RdConsumer(std::shared_ptr<RdHandle> handle, io::Event& arrival, const ConsumerOptions& options,
             Metrics& metrics);
  std::uint32_t assignment_of(const rd_kafka_message_t* message);
  void take(rd_kafka_message_t* message, Messages& memory, Fetch& fetch);
  void store(Partition& partition, rd_kafka_message_t* message);
  void hand_out(std::uint32_t assignment, rd_kafka_message_t* message, Messages& memory,
                Fetch& fetch);
  void notice(std::uint32_t assignment, const rd_kafka_message_t* message, Fetch& fetch);
  void look_up_range(const Partition& partition, Offset wanted);
  void wake_fetchers(std::size_t taken, std::size_t bytes, bool drained);
  void set_paused_in_library(Partition& partition, bool paused);
  Result<Fetch> fail(Status status);

  const std::shared_ptr<RdHandle> handle_;
  const RdQueue queue_;
  io::Event& arrival_;
  const std::shared_ptr<Counter> repeated_;
  std::vector<Partition> partitions_;
  std::unordered_map<Place, std::uint32_t, PlaceHash> places_;
  Place last_place_;  // The cache of one in front of places_: messages come in runs.
  std::uint32_t last_assignment_ = 0;
  std::vector<rd_kafka_message_t*> taken_;  // Reused between polls.
  std::vector<std::uint32_t>
      resumed_;     // Assignments that were resumed and still have something stored.
  Status failure_;  // Once set, every poll says so.
  bool closed_ = false;

  // For wake_fetchers().
  const bool must_wake_;
  const std::string user_, password_;
  const std::size_t limit_messages_, limit_bytes_;
  std::size_t since_empty_messages_ = 0, since_empty_bytes_ = 0;
  io::Monotonic woken_{};

  std::mutex range_mutex_;
  Status range_failure_;  // Written by the offload thread.
  std::atomic<bool> range_failed_{false};
  bool looking_up_ = false;
  io::OffloadThread offload_;  // Last: joined before what its work uses goes away.
};

}  // namespace sluice::kafka::internal
