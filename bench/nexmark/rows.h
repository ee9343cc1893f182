#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>

namespace sluice::nexmark {

// What each query answers: one struct a result row. fields() gives its columns in the order in
// which digest.h writes them. Times are milliseconds since the Unix epoch; a window is named by its
// end, a session by its first bid and its end.

struct BidRow {  // q0, and q1 with the price in thousandths of a euro, × 908: a whole number, so
                 // nobody rounds
  std::int64_t auction, bidder, price, time_ms;
  std::string_view extra;
  [[nodiscard]] auto fields() const { return std::tie(auction, bidder, price, time_ms, extra); }
};

struct PriceRow {  // q2
  std::int64_t auction, price;
  [[nodiscard]] auto fields() const { return std::tie(auction, price); }
};

struct LocalItemRow {  // q3
  std::string_view name, city, state;
  std::int64_t auction;
  [[nodiscard]] auto fields() const { return std::tie(name, city, state, auction); }
};

struct HotItemRow {  // q5
  std::int64_t window_end_ms, auction, bids;
  [[nodiscard]] auto fields() const { return std::tie(window_end_ms, auction, bids); }
};

struct HighestBidRow {  // q7
  std::int64_t window_end_ms, auction, price, bidder, time_ms;
  std::string_view extra;
  [[nodiscard]] auto fields() const {
    return std::tie(window_end_ms, auction, price, bidder, time_ms, extra);
  }
};

struct NewSellerRow {  // q8
  std::int64_t window_end_ms, person;
  std::string_view name;
  [[nodiscard]] auto fields() const { return std::tie(window_end_ms, person, name); }
};

struct SessionRow {  // q11
  std::int64_t bidder, bids, start_ms, end_ms;
  [[nodiscard]] auto fields() const { return std::tie(bidder, bids, start_ms, end_ms); }
};

struct LastBidRow {  // q18
  std::int64_t auction, bidder, price;
  std::string_view channel, url;
  std::int64_t time_ms;
  std::string_view extra;
  [[nodiscard]] auto fields() const {
    return std::tie(auction, bidder, price, channel, url, time_ms, extra);
  }
};

}  // namespace sluice::nexmark
