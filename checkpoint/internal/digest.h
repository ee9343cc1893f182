#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace sluice::internal {

/// xxh3-64, the checksum at the end of a sealed file and of a single state.
[[nodiscard]] std::uint64_t checksum_of(std::string_view bytes) noexcept;

/// xxh3-128 of bytes that come in pieces.
class Digest {
 public:
  Digest();
  ~Digest();
  void update(std::string_view bytes) noexcept;
  [[nodiscard]] std::string hex() const;  ///< 32 hex digits, in the canonical (big-endian) order

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Whether `text` is what Digest::hex() gives: 32 hex digits in lower case.
[[nodiscard]] bool is_digest(std::string_view text) noexcept;

}  // namespace sluice::internal
