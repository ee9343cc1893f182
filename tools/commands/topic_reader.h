#pragma once

#include "commands/cluster.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

/// Reads whole topics, read_committed, from the beginning to their last stable end; also beyond it,
/// live.
namespace sluice::tools {

/// Every partition of the given topics. The end is that at the time of open() or of mark_end():
/// what is written later is not handed out, so a topic that is being written to can be judged too.
///
/// Thread     one.
/// Errors     as to_status; a record that cannot be decoded (checksum, codec) is an error, never
/// skipped.
class TopicReader {
 public:
  struct Lane {
    std::string topic;
    std::int32_t partition = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;             ///< last stable offset when the end was marked
    std::int64_t high_watermark = 0;  ///< above `end`: an open transaction holds records back
    std::int64_t next = 0;            ///< what comes next; passes control records and aborted ones
    [[nodiscard]] bool at_end() const noexcept { return next >= end; }
  };
  /// Called for each record, in the order of its lane's offsets.
  using OnRecord = std::function<void(std::size_t lane, const rd_kafka_message_t& message)>;

  /// `settle`: how long mark_end() waits for transactions that are open.
  TopicReader(const Connection& connection, std::chrono::microseconds settle)
      : connection_(connection), settle_(settle) {}
  TopicReader(const TopicReader&) = delete;
  TopicReader& operator=(const TopicReader&) = delete;
  ~TopicReader();

  Status open(const std::vector<std::string>& topics);
  [[nodiscard]] const std::deque<Lane>& lanes() const noexcept { return lanes_; }

  /// Waits up to `wait` for records and hands out those that there are, a few thousand at most: how
  /// many. Records at or beyond a lane's end are left out, unless following.
  Result<std::size_t> poll(std::chrono::milliseconds wait, const OnRecord& on_record);
  /// When the records of the last poll() came out of the client: microseconds since the Unix epoch.
  [[nodiscard]] std::int64_t received_us() const noexcept { return received_us_; }
  /// Hands out what lies beyond the end as well, until mark_end().
  void follow() noexcept { following_ = true; }
  /// Takes the end of now as the end, and where transactions stay open before it, the last stable
  /// one.
  Status mark_end();
  [[nodiscard]] bool at_end() const noexcept;
  /// Records between the positions and the ends, control records included: for progress.
  [[nodiscard]] std::uint64_t distance() const noexcept;
  [[nodiscard]] std::string complaint() const { return handle_->complaint(); }

 private:
  struct Topic {
    std::size_t first_lane = 0;
    TopicHandle handle;
  };
  Status start(Topic& topic);
  Status query(const Handle& handle, const Lane& lane, std::int64_t& low, std::int64_t& high) const;
  Status take(const rd_kafka_message_t& message, const OnRecord& on_record);

  const Connection& connection_;
  const std::chrono::microseconds settle_;
  std::unique_ptr<Handle> handle_;       // read_committed: its offsets are last stable ones.
  std::unique_ptr<Handle> uncommitted_;  // Asked for high watermarks only.
  rd_kafka_queue_t* queue_ = nullptr;
  std::deque<Topic> topics_;
  std::deque<Lane> lanes_;
  std::vector<rd_kafka_message_t*> messages_;
  std::int64_t received_us_ = 0;
  bool following_ = false;
};

}  // namespace sluice::tools
