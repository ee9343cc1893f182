#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

/// A small seeded generator (splitmix64, after Steele, Lea and Flood): the same seed gives the same run.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t next() noexcept {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  /// Uniform in [0, bound); the bias of a modulus is below 2^-40 for what we draw.
  std::uint64_t below(std::uint64_t bound) noexcept { return next() % bound; }
  static std::uint64_t seed_from_system();

 private:
  std::uint64_t state_;
};

/// 128 random bits as a name: of a claim, and of the files it writes. Never reused, not even within a process.
class Uuid {
 public:
  Uuid() = default;
  static Uuid make();  ///< from the system's generator
  static Uuid parse(std::string_view text);  ///< 32 hex digits; anything else gives the nil one
  [[nodiscard]] std::string to_string() const;  ///< 32 hex digits
  [[nodiscard]] bool nil() const noexcept { return words_[0] == 0 && words_[1] == 0; }
  bool operator==(const Uuid&) const noexcept = default;

 private:
  std::array<std::uint64_t, 2> words_{};
};

}  // namespace sluice
