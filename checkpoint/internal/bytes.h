#pragma once

#include <sluice/engine/split.h>
#include <sluice/io/base/random.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::internal {

/// Writes the primitives of format.md: little-endian integers of fixed width, varints, strings with
/// a varint length.
class ByteWriter {
 public:
  void u8(std::uint8_t value) { bytes_ += static_cast<char>(value); }
  void u16(std::uint16_t value) { fixed(value, 2); }
  void u32(std::uint32_t value) { fixed(value, 4); }
  void u64(std::uint64_t value) { fixed(value, 8); }
  void varint(std::uint64_t value);
  void string(std::string_view text);
  void raw(std::string_view bytes) { bytes_ += bytes; }
  void uuid(Uuid id) { raw(id.to_string()); }
  void positions(const std::vector<SplitPosition>& positions);

  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::string take() && { return std::move(bytes_); }

 private:
  void fixed(std::uint64_t value, int width);
  std::string bytes_;
};

/// Reads them back from bytes that nobody vouches for. The first thing that does not fit makes it
/// fail for good: from then on it yields zeros and empty strings, so that a decoder checks ok()
/// once a record and not once a field.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) noexcept : left_(bytes) {}
  std::uint8_t u8() { return static_cast<std::uint8_t>(fixed(1)); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(fixed(2)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(fixed(4)); }
  std::uint64_t u64() { return fixed(8); }
  std::uint64_t varint();  ///< the shortest spelling only, so that equal values have equal bytes
  std::string string();
  std::string_view raw(std::uint64_t size);
  Uuid uuid();  ///< never nil
  std::string digest();
  std::vector<SplitPosition> positions();
  /// How many records follow; fails where that many of `bytes_min` each cannot.
  std::uint64_t count(std::uint64_t bytes_min);

  void fail() noexcept {
    failed_ = true;
    left_ = {};
  }
  [[nodiscard]] bool ok() const noexcept { return !failed_; }
  [[nodiscard]] bool done() const noexcept { return !failed_ && left_.empty(); }

 private:
  std::uint64_t fixed(unsigned width);
  std::string_view left_;
  bool failed_ = false;
};

}  // namespace sluice::internal
