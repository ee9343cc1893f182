#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// The bytes of Kafka's protocol, flexible versions: big-endian numbers, compact strings and
/// arrays, tagged fields.
namespace sluice::tools {

class WireWriter {
 public:
  void i8(std::int8_t value) { number(static_cast<std::uint8_t>(value)); }
  void i16(std::int16_t value) { number(static_cast<std::uint16_t>(value)); }
  void i32(std::int32_t value) { number(static_cast<std::uint32_t>(value)); }
  void i64(std::int64_t value) { number(static_cast<std::uint64_t>(value)); }
  void uvarint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7f) | 0x80);
    bytes_ += static_cast<char>(value);
  }
  void compact_string(std::string_view text) {
    uvarint(text.size() + 1);
    bytes_ += text;
  }
  void string(std::string_view text) {  // As in request headers, which are older than compact ones.
    i16(static_cast<std::int16_t>(text.size()));
    bytes_ += text;
  }
  void array(std::size_t count) { uvarint(count + 1); }
  void no_tags() { uvarint(0); }
  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

 private:
  template <class Unsigned>
  void number(Unsigned value) {
    for (int shift = 8 * (static_cast<int>(sizeof value) - 1); shift >= 0; shift -= 8) {
      bytes_ += static_cast<char>(value >> shift & 0xff);
    }
  }
  std::string bytes_;
};

/// Reads what a peer sent, which may be anything: past the end every value is zero or empty and
/// ok() is false, and an array never claims more elements than there are bytes left.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}
  std::int8_t i8() { return static_cast<std::int8_t>(number<std::uint8_t>()); }
  std::int16_t i16() { return static_cast<std::int16_t>(number<std::uint16_t>()); }
  std::int32_t i32() { return static_cast<std::int32_t>(number<std::uint32_t>()); }
  std::int64_t i64() { return static_cast<std::int64_t>(number<std::uint64_t>()); }
  std::uint64_t uvarint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = number<std::uint8_t>();
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return fail();
  }
  /// A null string is an empty one: no field that we read tells them apart.
  std::string compact_string() {
    const std::uint64_t size = uvarint();
    return size == 0 ? std::string() : std::string(take(size - 1));
  }
  std::string string16() {  // As in older versions; null is -1.
    const std::int16_t size = i16();
    return size < 0 ? std::string() : std::string(take(static_cast<std::uint64_t>(size)));
  }
  std::size_t array() {
    const std::uint64_t count = uvarint();
    if (count == 0) return 0;
    return count - 1 > rest_.size() ? fail() : count - 1;
  }
  std::size_t array32() {
    const std::int32_t count = i32();
    return count < 0 || static_cast<std::size_t>(count) > rest_.size()
               ? fail()
               : static_cast<std::size_t>(count);
  }
  void skip_tags() {
    for (std::size_t count = array_of_tags(); count > 0 && ok_; --count) {
      uvarint();
      take(uvarint());
    }
  }
  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] std::size_t left() const noexcept { return rest_.size(); }

 private:
  std::size_t array_of_tags() {
    const std::uint64_t count = uvarint();
    return count > rest_.size() ? fail() : count;
  }
  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) {
      fail();
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  template <class Unsigned>
  Unsigned number() {
    Unsigned value = 0;
    for (const char byte : take(sizeof value))
      value = static_cast<Unsigned>(value << 8 | static_cast<std::uint8_t>(byte));
    return value;
  }
  std::size_t fail() noexcept {
    ok_ = false;
    rest_ = {};
    return 0;
  }
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace sluice::tools
