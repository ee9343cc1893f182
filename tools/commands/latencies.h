#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

/// A distribution of microseconds in fixed memory: 64 steps a power of two, so a percentile is at
/// most 1.6 % too high. One thread records; merge those of several.
namespace sluice::tools {

class Latencies {
 public:
  /// Below zero counts as zero: two clocks may disagree by a little.
  void record(std::int64_t value_us, std::uint64_t times = 1) noexcept {
    const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(value_us, 0));
    counts_[bucket_of(value)] += times;
    count_ += times;
    max_us_ = std::max(max_us_, value);
  }
  void merge(const Latencies& other) noexcept {
    for (std::size_t at = 0; at < kBuckets; ++at) counts_[at] += other.counts_[at];
    count_ += other.count_;
    max_us_ = std::max(max_us_, other.max_us_);
  }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t max_us() const noexcept { return max_us_; }
  /// The value that `share` (0.99) of the values do not exceed; 0 when there are none.
  [[nodiscard]] std::uint64_t percentile_us(double share) const noexcept {
    const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(count_) + 0.5);
    std::uint64_t seen = 0;
    for (std::size_t at = 0; at < kBuckets; ++at) {
      seen += counts_[at];
      if (seen >= wanted && seen > 0) return std::min(upper_end_of(at), max_us_);
    }
    return max_us_;
  }

 private:
  static constexpr unsigned kBits = 6;
  static constexpr std::size_t kSteps = 1u << kBits;
  static constexpr std::size_t kBuckets = kSteps * (64 - kBits + 1);

  static std::size_t bucket_of(std::uint64_t value) noexcept {
    if (value < kSteps) return value;
    const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - kBits - 1;
    return kSteps * shift + static_cast<std::size_t>(value >> shift);
  }
  static std::uint64_t upper_end_of(std::size_t bucket) noexcept {
    if (bucket < 2 * kSteps) return bucket;
    const std::size_t shift = bucket / kSteps - 1;
    return ((bucket - kSteps * shift + 1) << shift) - 1;
  }

  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t count_ = 0;
  std::uint64_t max_us_ = 0;
};

}  // namespace sluice::tools
