#pragma once

#include "nexmark/events.h"
#include "nexmark/rows.h"
#include <boost/unordered/unordered_flat_map.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

namespace sluice::nexmark {

inline constexpr std::int64_t kWindow_ms = 10'000;
inline constexpr std::int64_t kHop_ms = 2'000;
inline constexpr std::int64_t kSessionGap_ms = 10'000;

/// Windows are half-open, [end - size, end), and begin at multiples of their size since the Unix
/// epoch.
[[nodiscard]] constexpr std::int64_t window_end_ms(std::int64_t time_ms, std::int64_t size_ms) {
  return (time_ms / size_ms + 1) * size_ms;
}

/// q5: the auctions with the most bids of the last ten seconds, every two seconds. Bids are counted
/// once, by slices of two seconds; a window is the sum of five.
template <class Rows>
class Q5 {
 public:
  explicit Q5(Rows& rows) : rows_(rows) {}
  void process(std::span<const Event> events) {
    for (const Event& event : events) {
      const Bid* bid = std::get_if<Bid>(&event);
      if (bid == nullptr) continue;
      if (bid->time_ms >= slice_end_ms_) reach(bid->time_ms);
      Counts& counts = auctions_[bid->auction];
      ++counts.slices[slice_];
      ++counts.total;
    }
  }
  void finish() {
    while (!auctions_.empty()) close_slice();
  }

 private:
  static constexpr std::size_t kSlices = kWindow_ms / kHop_ms;
  struct Counts {
    std::array<std::uint32_t, kSlices> slices{};
    std::uint32_t total = 0;
  };
  void reach(std::int64_t time_ms) {
    while (!auctions_.empty() && slice_end_ms_ <= time_ms) close_slice();
    slice_end_ms_ = window_end_ms(time_ms, kHop_ms);
  }
  // The window that ends here is answered, and the slice that no later window needs makes room for
  // the next.
  void close_slice() {
    std::uint32_t most = 0;
    for (const auto& [auction, counts] : auctions_) most = std::max(most, counts.total);
    const std::size_t oldest = (slice_ + 1) % kSlices;
    for (auto at = auctions_.begin(); at != auctions_.end();) {
      Counts& counts = at->second;
      if (counts.total == most) rows_.emit(HotItemRow{slice_end_ms_, at->first, counts.total});
      counts.total -= counts.slices[oldest];
      counts.slices[oldest] = 0;
      if (counts.total == 0) {
        auctions_.erase(at++);
      } else {
        ++at;
      }
    }
    slice_ = oldest;
    slice_end_ms_ += kHop_ms;
  }

  Rows& rows_;
  std::int64_t slice_end_ms_ = 0;
  std::size_t slice_ = 0;  // Where the slice that ends at slice_end_ms_ is counted.
  boost::unordered_flat_map<std::int64_t, Counts> auctions_;
};

/// q7: the highest bids of every ten seconds; all of them when several are as high.
template <class Rows>
class Q7 {
 public:
  explicit Q7(Rows& rows) : rows_(rows) {}
  void process(std::span<const Event> events) {
    for (const Event& event : events) {
      const Bid* bid = std::get_if<Bid>(&event);
      if (bid == nullptr) continue;
      if (bid->time_ms >= end_ms_) {
        finish();
        end_ms_ = window_end_ms(bid->time_ms, kWindow_ms);
      }
      if (bid->price < highest_) continue;
      if (bid->price > highest_) bids_.clear();
      highest_ = bid->price;
      bids_.push_back(*bid);
    }
  }
  void finish() {
    for (const Bid& bid : bids_) {
      rows_.emit(
          HighestBidRow{end_ms_, bid.auction, bid.price, bid.bidder, bid.time_ms, bid.extra});
    }
    bids_.clear();
    highest_ = 0;
  }

 private:
  Rows& rows_;
  std::int64_t end_ms_ = 0, highest_ = 0;
  std::vector<Bid> bids_;
};

}  // namespace sluice::nexmark
