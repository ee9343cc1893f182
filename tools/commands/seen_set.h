#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

/// Which numbers from 0 on were seen: a bit for each number above the first one that is missing,
/// nothing below it.
///
/// A history without holes costs a few words, whatever its length. One whose parts are read at
/// different times (one source partition spread over several output partitions) costs a bit a
/// record, so 100 million records are 12 MB.
namespace sluice::tools {

class SeenSet {
 public:
  enum class Added : unsigned char { kNew, kAgain, kFull };
  /// kFull: not added, as the numbers are spread too wide to remember (a gigabyte of bits).
  Added add(std::uint64_t number) {
    if (number < below_) return Added::kAgain;
    if (number == below_ && blocks_.empty()) {
      ++below_;
      return Added::kNew;
    }
    return add_bit(number);
  }
  /// How many below `end` were not seen.
  [[nodiscard]] std::uint64_t missing_below(std::uint64_t end) const;
  /// The first of them, at most `count`.
  [[nodiscard]] std::vector<std::uint64_t> first_missing_below(std::uint64_t end,
                                                               std::size_t count) const;

 private:
  static constexpr std::uint64_t kBlockBits = 65'536;
  static constexpr std::uint64_t kBlockWords = kBlockBits / 64;
  static constexpr std::size_t kBlocksMax = (1u << 30) / (kBlockBits / 8);
  struct Block {
    std::uint64_t words[kBlockWords] = {};
  };
  Added add_bit(std::uint64_t number);
  void advance();
  [[nodiscard]] bool seen(std::uint64_t number) const;

  std::uint64_t below_ = 0;                                 // All numbers below it were seen.
  std::map<std::uint64_t, std::unique_ptr<Block>> blocks_;  // By number / kBlockBits.
  std::uint64_t last_index_ =
      UINT64_MAX;  // The block used last: neighbours come one after the other.
  Block* last_ = nullptr;
};

}  // namespace sluice::tools
