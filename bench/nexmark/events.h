#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>

namespace sluice::nexmark {

inline constexpr std::int64_t kFirstPersonId = 1'000;
inline constexpr std::int64_t kFirstAuctionId = 1'000;
inline constexpr std::int64_t kFirstCategory = 10;
inline constexpr std::int64_t kCategories = 5;

/// Someone who sells and bids. Times are event times; texts are views into the generator's tables,
/// which live as long as the process.
struct Person {
  std::int64_t id = 0;
  std::string_view name, email, credit_card, city, state;
  std::int64_t time_ms = 0;
  std::string_view extra;  // Fills an event up to its nominal size.
  [[nodiscard]] auto fields() const {
    return std::tie(id, name, email, credit_card, city, state, time_ms, extra);
  }
};

struct Auction {
  std::int64_t id = 0;
  std::string_view item_name, description;
  std::int64_t initial_bid = 0, reserve = 0;
  std::int64_t time_ms = 0, expires_ms = 0;
  std::int64_t seller = 0, category = 0;
  std::string_view extra;
  [[nodiscard]] auto fields() const {
    return std::tie(id, item_name, description, initial_bid, reserve, time_ms, expires_ms, seller,
                    category, extra);
  }
};

struct Bid {
  std::int64_t auction = 0, bidder = 0, price = 0;
  std::string_view channel, url;
  std::int64_t time_ms = 0;
  std::string_view extra;
  [[nodiscard]] auto fields() const {
    return std::tie(auction, bidder, price, channel, url, time_ms, extra);
  }
};

using Event = std::variant<Person, Auction, Bid>;
static_assert(std::is_trivially_copyable_v<Event>, "a batch of events is moved as bytes");

}  // namespace sluice::nexmark
