#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <sluice/engine/event_time.h>
#include <sluice/io/base/id.h>

namespace sluice {

/// A view of bytes that may be null: a null key is not an empty key, a null value (tombstone) is not an empty value.
class Bytes {
 public:
  constexpr Bytes() noexcept = default;  ///< null
  constexpr Bytes(std::string_view text) noexcept  // NOLINT(google-explicit-constructor)
      : data_(text.data() == nullptr ? "" : text.data()), size_(text.size()) {}
  constexpr Bytes(const char* data, std::size_t size) noexcept : data_(data), size_(size) {}
  [[nodiscard]] constexpr bool null() const noexcept { return data_ == nullptr; }
  [[nodiscard]] constexpr const char* data() const noexcept { return data_; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  /// Empty for null.
  [[nodiscard]] constexpr std::string_view view() const noexcept { return {data_, size_}; }
  constexpr bool operator==(const Bytes& other) const noexcept {
    return null() == other.null() && view() == other.view();
  }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

struct Header {
  std::string_view name;
  Bytes value;
};

enum class TimestampType : std::uint8_t { kNone, kCreate, kLogAppend };

/// A whole record as a source handed it out or a sink will write it. A view: the batch that carries it owns the memory.
/// Topic and partition of its origin are those of the batch (Batch::split).
struct Record {
  Bytes key;
  Bytes value;
  std::span<const Header> headers;
  EventTime time = kNoEventTime;
  Offset offset{-1};
  TimestampType time_type = TimestampType::kNone;
};

}  // namespace sluice
