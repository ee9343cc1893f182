#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <sluice/engine/record.h>
#include <sluice/kafka/client.h>

namespace sluice::kafka::internal {

/// What the broker says to a request.
enum class ModelAnswer : std::uint8_t {
  kOk,
  kNone,        ///< lost or delayed
  kUnreachable, ///< nobody there
  kBusy,        ///< retriable: concurrent transaction
  kMoved,       ///< retriable: not the coordinator; nothing happened
  kUnstable,    ///< retriable: a transaction holds the offsets back
  kFenced,      ///< a newer producer epoch
  kWrongState,  ///< not possible in this state of the transaction
  kOutOfOrder,  ///< sequence number
  kFailed,      ///< not written, for good
  kUnknownTopic,
  kDenied,
  kTimeout,     ///< the transaction timeout is above the broker's maximum
  kBadRequest,  ///< the text says what
};

/// Who writes, and the sequence number of the first record.
struct ModelStamp {
  std::int64_t producer = -1;
  int epoch = -1;
  std::int64_t sequence = -1;
  bool transactional = false;
};

/// Records of one produce request, copied; never changed, so that log, fetches and late requests share it.
class ModelSegment {
 public:
  explicit ModelSegment(std::span<const OutRecord* const> records);
  [[nodiscard]] std::span<const Record> records() const noexcept { return records_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return text_.size() + records_.size() * sizeof(Record); }

 private:
  Bytes copy(Bytes from);
  std::string text_;
  std::vector<Header> headers_;
  std::vector<Record> records_;
};
using ModelSegmentPtr = std::shared_ptr<const ModelSegment>;

/// As the broker counts a record against max.message.bytes, without its frame.
[[nodiscard]] std::size_t model_bytes_of(const OutRecord& record) noexcept;

/// The log of one partition. Callers hold the broker's mutex.
class ModelLog {
 public:
  enum class Part : std::uint8_t { kPlain, kOpen, kCommitted, kAborted, kControl };
  struct Entry {
    Record record;  // A view into the segment, with its offset.
    ModelSegmentPtr segment;
    std::int64_t producer = -1;
    Part part = Part::kPlain;
  };

  [[nodiscard]] ModelAnswer append(const ModelStamp& stamp, const ModelSegmentPtr& segment, EventTime now, bool log_append);
  /// The coordinator's commit or abort marker; one of an older producer epoch changes nothing.
  void mark(std::int64_t producer, int epoch, bool commit, EventTime now);
  /// Whether the producer has an open transaction here.
  [[nodiscard]] bool open(std::int64_t producer) const { return open_.contains(producer); }

  [[nodiscard]] std::int64_t start() const noexcept { return start_; }
  [[nodiscard]] std::int64_t end() const noexcept { return end_; }
  [[nodiscard]] std::int64_t last_stable() const noexcept;
  [[nodiscard]] std::int64_t readable_end(bool read_committed) const noexcept { return read_committed ? last_stable() : end_; }
  /// Adds up to `records_max` readable records from `position` on and returns the position behind them.
  std::int64_t read(std::int64_t position, bool read_committed, std::size_t records_max, std::vector<const Entry*>& into) const;
  [[nodiscard]] std::int64_t at_time(EventTime time, bool read_committed) const;

  void delete_before(std::int64_t offset);
  void compact(const std::vector<Offset>& offsets);

 private:
  struct Writer {
    int epoch = -1;
    std::int64_t next_sequence = 0;
  };
  [[nodiscard]] std::deque<Entry>::const_iterator from(std::int64_t offset) const;

  std::int64_t start_ = 0, end_ = 0;
  std::deque<Entry> entries_;  // By offset, with gaps.
  std::map<std::int64_t, Writer> writers_;
  std::map<std::int64_t, std::int64_t> open_;  // Producer -> first offset of its open transaction.
};

}  // namespace sluice::kafka::internal
