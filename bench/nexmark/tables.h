#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::nexmark {

/// The finaliser of splitmix64. Whole numbers only, so that the same events can be made in any
/// language.
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t word) noexcept {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
  return word ^ (word >> 31);
}

/// Uniform in [0, range), range below 2^32, from the lower half of a random word.
[[nodiscard]] constexpr std::int64_t below(std::int64_t range, std::uint64_t word) noexcept {
  return static_cast<std::int64_t>(((word & 0xffff'ffffu) * static_cast<std::uint64_t>(range)) >>
                                   32);
}

/// Everything that events have views into, or that would cost too much to compute for each. The
/// same for every seed.
class Tables {
 public:
  struct Channel {
    std::string_view name, url;
  };
  static constexpr std::size_t kChannels = 10'000;
  static constexpr std::size_t kPersonTexts = 4'096;
  static constexpr std::size_t kTextStarts = 65'536;  // A text starts at any of them.
  static constexpr std::size_t kTextBytesMax = 1'024;

  [[nodiscard]] static const Tables& get();  // Made at the first call.
  Tables(const Tables&) = delete;

  std::array<Channel, 4> hot_channels;
  std::vector<Channel> channels;
  std::vector<std::string_view> names, emails, credit_cards;
  std::array<std::string_view, 10> cities;
  std::array<std::string_view, 6> states;
  // 100 × 10^(6u) for u = word / 2^32, as a product of one factor for each byte of the word. No
  // function of the C library is involved, and a product rounds the same everywhere.
  std::array<std::array<double, 256>, 4> price;

  [[nodiscard]] std::string_view text(std::uint64_t start, std::int64_t bytes) const noexcept {
    return {text_.data() + (start & (kTextStarts - 1)), static_cast<std::size_t>(bytes)};
  }

 private:
  Tables();
  std::string_view kept(std::string text);

  std::string text_;                // Random letters: no blanks and no separators.
  std::vector<std::string> owned_;  // Reserved before it is filled: nothing in it ever moves.
};

}  // namespace sluice::nexmark
