#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The records that `generate` writes and `verify` judges. README.md describes both formats byte by
/// byte.
namespace sluice::tools {

enum class RecordFormat : unsigned char { kText, kJson };

/// What a record says about itself.
struct RecordHeader {
  std::string_view producer;   ///< p: points into the value that was parsed, or into the parser
  std::int32_t partition = 0;  ///< n: of the source topic
  std::uint64_t sequence = 0;  ///< s: from 0 for each (producer, source partition)
  std::int64_t due_us = 0;     ///< d: when it was due, microseconds since the Unix epoch
  std::optional<std::uint64_t> number;  ///< c: what the `number` operator counted, when it ran
};

/// Reads headers; keeps what the last one points into. One thread.
class RecordParser {
 public:
  /// False: no header there. `why` says what is wrong, for people.
  bool parse_text(std::string_view value, RecordHeader& header);
  bool parse_json(std::string_view value, RecordHeader& header);
  /// "{" begins JSON, also behind "c=<number>;"; anything else is text.
  bool parse(std::string_view value, RecordHeader& header);
  [[nodiscard]] std::string_view why() const noexcept { return why_; }

 private:
  bool fail(std::string_view why) noexcept {
    why_ = why;
    return false;
  }
  std::string producer_;
  std::string_view why_;
};

/// Writes the records of one producer and one source partition.
class RecordWriter {
 public:
  struct Options {
    RecordFormat format = RecordFormat::kText;
    std::string producer;
    std::int32_t partition = 0;
    std::size_t size_bytes = 100;  ///< of the value; one whose header is longer is longer
    std::uint64_t seed = 1;
  };
  explicit RecordWriter(Options options);
  /// Appends the value of record `sequence` to `out`.
  void append(std::uint64_t sequence, std::int64_t due_us, std::string& out) const;

 private:
  void append_text(std::uint64_t sequence, std::int64_t due_us, std::string& out) const;
  void append_json(std::uint64_t sequence, std::int64_t due_us, std::string& out) const;
  [[nodiscard]] std::string_view padding(std::uint64_t sequence, std::size_t bytes) const;

  const Options options_;
  std::string prefix_;  // What does not change from record to record.
  std::string noise_;   // Padding is cut from here, at a place that the sequence gives.
};

/// The CRC-32 (of zlib, PNG and java.util.zip) that a generated JSON document carries of its own
/// second half.
std::uint32_t body_checksum(std::string_view body);

}  // namespace sluice::tools
