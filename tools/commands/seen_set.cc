#include "commands/seen_set.h"

#include <algorithm>
#include <bit>

namespace sluice::tools {

SeenSet::Added SeenSet::add_bit(std::uint64_t number) {
  const std::uint64_t index = number / kBlockBits;
  if (index != last_index_) {
    auto found = blocks_.find(index);
    if (found == blocks_.end()) {
      if (blocks_.size() >= kBlocksMax) return Added::kFull;
      found = blocks_.emplace(index, std::make_unique<Block>()).first;
    }
    last_index_ = index;
    last_ = found->second.get();
  }
  std::uint64_t& word = last_->words[number % kBlockBits / 64];
  const std::uint64_t bit = std::uint64_t{1} << (number % 64);
  if ((word & bit) != 0) return Added::kAgain;
  word |= bit;
  if (number == below_) advance();
  return Added::kNew;
}

// Moves below_ to the next number that was not seen, and drops the blocks that are behind it.
void SeenSet::advance() {
  while (!blocks_.empty()) {
    const auto block = blocks_.begin();
    if (block->first != below_ / kBlockBits) return;
    for (;;) {
      const std::uint64_t word = block->second->words[below_ % kBlockBits / 64] >> (below_ % 64);
      const auto ones = static_cast<std::uint64_t>(std::countr_one(word));
      below_ += ones;
      if (below_ / kBlockBits != block->first) break;  // The whole block was seen.
      if (ones == 0 || below_ % 64 != 0) return;
    }
    if (last_ == block->second.get()) {
      last_ = nullptr;
      last_index_ = UINT64_MAX;
    }
    blocks_.erase(block);
  }
}

bool SeenSet::seen(std::uint64_t number) const {
  if (number < below_) return true;
  const auto block = blocks_.find(number / kBlockBits);
  if (block == blocks_.end()) return false;
  return (block->second->words[number % kBlockBits / 64] >> (number % 64) & 1) != 0;
}

std::uint64_t SeenSet::missing_below(std::uint64_t end) const {
  if (end <= below_) return 0;
  std::uint64_t missing = end - below_;
  for (const auto& [index, block] : blocks_) {
    const std::uint64_t first = index * kBlockBits;
    if (first >= end) break;
    for (std::uint64_t word = 0; word < kBlockWords; ++word) {
      const std::uint64_t start = first + word * 64;
      if (start >= end) break;
      std::uint64_t bits = block->words[word];
      if (start < below_)
        bits = below_ - start >= 64 ? 0 : bits >> (below_ - start) << (below_ - start);
      if (end - start < 64) bits &= (std::uint64_t{1} << (end - start)) - 1;
      missing -= static_cast<std::uint64_t>(std::popcount(bits));
    }
  }
  return missing;
}

std::vector<std::uint64_t> SeenSet::first_missing_below(std::uint64_t end,
                                                        std::size_t count) const {
  std::vector<std::uint64_t> missing;
  for (std::uint64_t number = below_; number < end && missing.size() < count; ++number) {
    if (!seen(number)) missing.push_back(number);
  }
  return missing;
}

}  // namespace sluice::tools
