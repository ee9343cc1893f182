#pragma once

#include "commands/seen_set.h"
#include "commands/test_record.h"

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// Judges what a topic holds: is every record of the source there once, and in order?
///
/// A stream is what one producer wrote to one source partition; a lane is one partition of the
/// topics that are judged. A stream may be spread over several lanes; within each its numbers must
/// rise, and all lanes together must hold each number once. With Options::numbers the counts that
/// the `number` operator wrote (c=) are judged the same way, for each source partition: they rise
/// within a lane, and all together are 1, 2, 3, … without a hole.
///
/// Memory     a few words for each stream and lane, and a bit a record while the lanes of a stream
/// are read at
///            different times (seen_set.h); no entry a record.
/// Thread     one.
namespace sluice::tools {

class HistoryCheck {
 public:
  struct Options {
    bool numbers = false;
    std::size_t examples_max = 5;  ///< of each kind
  };
  enum class Kind : unsigned char {
    kLost,
    kDuplicate,
    kDisorder,
    kNumber,
    kUnexpected,
    kUnreadable
  };
  static constexpr std::size_t kKinds = 6;
  static std::string_view name_of(Kind kind);  ///< "lost", "duplicate", …: as in the JSON output
  struct Example {
    Kind kind = Kind::kLost;
    std::string topic;  ///< where it was found; empty: nowhere, as it is missing
    std::int32_t partition = 0;
    std::int64_t offset = -1;
    std::string producer;  ///< what it is about; empty where the record could not be read
    std::int32_t source_partition = 0;
    std::uint64_t sequence = 0;
    std::string detail;
    [[nodiscard]] std::string to_string() const;
  };
  struct Verdict {
    std::uint64_t records = 0, expected = 0, streams = 0;
    bool knows_expected =
        false;  ///< otherwise what is missing at the end of a stream cannot be seen
    std::array<std::uint64_t, kKinds> counts{};
    std::vector<Example> examples;
    [[nodiscard]] bool clean() const noexcept;
    [[nodiscard]] std::uint64_t count(Kind kind) const noexcept {
      return counts[static_cast<std::size_t>(kind)];
    }
  };

  explicit HistoryCheck(Options options) : options_(options) {}

  /// Says that the stream has the sequence numbers 0 to `records` - 1, from the given source topic.
  /// Once one stream is expected, a record that is in none is kUnexpected.
  void expect(std::string_view producer, std::int32_t partition, std::uint64_t records,
              std::string_view source_topic);
  /// A partition that will be read; the number by which record() knows it.
  std::size_t add_lane(std::string topic, std::int32_t partition);
  /// The records of a lane in the order of their offsets.
  void record(std::size_t lane, std::int64_t offset, const RecordHeader& header);
  /// A record that has no header, or one that is damaged.
  void unreadable(std::size_t lane, std::int64_t offset, std::string_view why);
  /// After the last record: adds what is missing.
  [[nodiscard]] Verdict finish();

  struct StreamSummary {
    std::string producer;
    std::int32_t partition = 0;
    std::uint64_t records = 0;  ///< highest sequence number + 1
  };
  [[nodiscard]] std::vector<StreamSummary> streams() const;
  [[nodiscard]] std::uint64_t records() const noexcept { return records_; }

 private:
  struct Source {  // A source partition, whoever wrote to it.
    std::size_t id = 0;
    std::string topic;
    std::int32_t partition = 0;
    SeenSet numbers;  // c - 1
    std::uint64_t numbers_end = 0;
  };
  struct Stream {
    std::size_t id = 0;
    std::string producer;
    std::int32_t partition = 0;
    SeenSet seen;
    std::uint64_t end = 0;       // Highest sequence number + 1.
    std::uint64_t expected = 0;  // Meant only when something is expected at all.
    Source* source = nullptr;
  };
  struct Lane {
    std::string topic;
    std::int32_t partition = 0;
    std::vector<std::uint64_t> next_sequence;  // By stream: one above the highest so far.
    std::vector<std::uint64_t> next_number;    // By source.
    Stream* last = nullptr;  // The stream of the record before: mostly the same one.
  };
  struct Key {
    std::string_view producer;
    std::int32_t partition;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept {
      return std::hash<std::string_view>()(key.producer) * 31 +
             static_cast<std::size_t>(key.partition);
    }
  };
  Stream& stream_of(std::string_view producer, std::int32_t partition,
                    std::string_view source_topic);
  void check_number(Lane& lane, std::int64_t offset, const Stream& stream,
                    const RecordHeader& header);
  void found(Kind kind, const Lane& lane, std::int64_t offset, const RecordHeader& header,
             std::string detail);
  bool wants_example(Kind kind);

  const Options options_;
  std::deque<Lane> lanes_;
  std::deque<Stream> streams_;  // Does not move them: keys and lanes point there.
  std::deque<Source> sources_;
  std::unordered_map<Key, Stream*, KeyHash> by_key_;
  bool expects_ = false;
  std::uint64_t records_ = 0;
  std::array<std::uint64_t, kKinds> counts_{};
  std::vector<Example> examples_;
};

}  // namespace sluice::tools
