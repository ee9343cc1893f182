#include "nexmark/generator.h"

#include <sluice/io/base/assert.h>

#include <algorithm>

namespace sluice::nexmark {
namespace {

// Of 50 events in a row the first is a person and the next three are auctions.
constexpr std::int64_t kRound = 50;
constexpr std::int64_t kAuctionsARound = 3;
constexpr std::int64_t kHotSpan = 100;  // One of each hundred ids is hot until the next begins.
constexpr std::int64_t kActivePersons = 1'000;
constexpr std::int64_t kOpenAuctions = 100;
constexpr std::int64_t kIdsAhead = 10;  // References to what does not exist yet.
constexpr std::uint64_t kOpenAuctionsSpan =
    kOpenAuctions * kRound / kAuctionsARound;  // 1,666 events
constexpr std::uint64_t kDraws = 8;            // Random words that belong to an event.

/// As many bytes as bring an event of `bytes` up to `nominal_bytes`, give or take a fifth.
std::int64_t extra_bytes(std::int64_t nominal_bytes, std::int64_t bytes, std::uint64_t random) {
  const std::int64_t wanted = nominal_bytes - bytes;
  const std::int64_t spread = wanted / 5;
  return wanted - spread + below(2 * spread + 1, random);
}

}  // namespace

/// Where event n stands among persons and auctions. Ids count from 0 here.
class Generator::Place {
 public:
  explicit Place(std::uint64_t n)
      : round_(static_cast<std::int64_t>(n) / kRound),
        offset_(static_cast<std::int64_t>(n) % kRound) {}
  [[nodiscard]] bool is_person() const { return offset_ == 0; }
  [[nodiscard]] bool is_auction() const { return offset_ >= 1 && offset_ <= kAuctionsARound; }
  // The newest that exist when event n happens, itself included. Both are asked of bids and
  // auctions only, which is why there is always an auction.
  [[nodiscard]] std::int64_t last_person() const { return round_; }
  [[nodiscard]] std::int64_t last_auction() const {
    return round_ * kAuctionsARound + std::min(offset_, kAuctionsARound) - 1;
  }
  /// One of the last 1,000 persons or of the ten to come, evenly.
  [[nodiscard]] std::int64_t any_person(std::uint64_t random) const {
    const std::int64_t active = std::min(last_person() + 1, kActivePersons);
    return last_person() + 1 - active + below(active + kIdsAhead, random);
  }
  /// One of the last 100 auctions before the newest, the newest, or one of the ten to come, evenly.
  [[nodiscard]] std::int64_t any_auction(std::uint64_t random) const {
    const std::int64_t oldest = std::max<std::int64_t>(last_auction() - kOpenAuctions, 0);
    return oldest + below(last_auction() - oldest + 1 + kIdsAhead, random);
  }

 private:
  std::int64_t round_, offset_;
};

Generator::Generator(Options options)
    : options_(options), key_(mixed(options.seed)), tables_(Tables::get()) {
  SLUICE_ASSERT(options.rate_per_second >= 1);
  SLUICE_ASSERT(options.rate_per_second <= 1'000'000'000);
}

std::uint64_t Generator::word(std::uint64_t n, std::uint64_t draw) const noexcept {
  return mixed(key_ + (n * kDraws + draw) * 0x9e3779b97f4a7c15u);
}

std::int64_t Generator::price(std::uint64_t random) const noexcept {
  const auto& factor = tables_.price;
  const double exact = factor[0][(random >> 24) & 255] * factor[1][(random >> 16) & 255] *
                       (factor[2][(random >> 8) & 255] * factor[3][random & 255]);
  return static_cast<std::int64_t>(exact + 0.5);
}

std::int64_t Generator::time_ms(std::uint64_t n) const {
  const auto rate = static_cast<std::uint64_t>(options_.rate_per_second);
  return options_.base_time_ms +
         static_cast<std::int64_t>(n / rate * 1'000 + n % rate * 1'000 / rate);
}

Event Generator::at(std::uint64_t n) const { return make(n, time_ms(n)); }

template <class Each>
inline void Generator::generate(std::uint64_t first, std::size_t count, std::uint64_t stride, Each&& each) const {
  // The division by the rate costs as much as half a bid, so time moves by additions: whole
  // milliseconds and a remainder.
  const auto rate = static_cast<std::uint64_t>(options_.rate_per_second);
  const std::uint64_t step = stride * 1'000 / rate, step_rest = stride * 1'000 % rate;
  std::int64_t time = time_ms(first);
  std::uint64_t rest = first % rate * 1'000 % rate;
  std::uint64_t n = first;
  for (std::size_t i = 0; i < count; ++i) {
    each(i, make(n, time));
    n += stride;
    time += static_cast<std::int64_t>(step);
    rest += step_rest;
    if (rest >= rate) {
      rest -= rate;
      ++time;
    }
  }
}

void Generator::fill(std::uint64_t first, std::span<Event> out, std::uint64_t stride) const {
  // Assigned as a whole: to emplace the kind is half as slow again (g++ 12, BM_Generate).
  generate(first, out.size(), stride, [&](std::size_t i, const Event& event) { out[i] = event; });
}

void Generator::append(std::uint64_t first, std::size_t count, std::vector<Event>& out) const {
  out.reserve(out.size() + count);
  generate(first, count, 1, [&](std::size_t, const Event& event) { out.push_back(event); });
}

inline Event Generator::make(std::uint64_t n, std::int64_t time_ms) const {
  const Place place(n);
  if (place.is_person()) return person(n, place, time_ms);
  if (place.is_auction()) return auction(n, place, time_ms);
  return bid(n, place, time_ms);
}

// In what follows w0, w1, … are the event's random words, and [a..b) bits of one, the lowest first.
// below(r, …) takes the lowest 32 bits of what it is given.

/// w0 [0..32) name, [32..64) city · w1 [0..32) state, [32..64) extra's length · w2 [0..16) extra's
/// start, [16..28) e-mail, [28..40) credit card
Person Generator::person(std::uint64_t n, const Place& place, std::int64_t time_ms) const {
  const std::uint64_t w0 = word(n, 0), w1 = word(n, 1), w2 = word(n, 2);
  const auto one_of = [](const auto& texts, std::uint64_t random) {
    return texts[static_cast<std::size_t>(below(static_cast<std::int64_t>(texts.size()), random))];
  };
  Person made;
  made.id = kFirstPersonId + place.last_person();
  made.name = one_of(tables_.names, w0);
  made.email = tables_.emails[(w2 >> 16) % Tables::kPersonTexts];
  made.credit_card = tables_.credit_cards[(w2 >> 28) % Tables::kPersonTexts];
  made.city = one_of(tables_.cities, w0 >> 32);
  made.state = one_of(tables_.states, w1);
  made.time_ms = time_ms;
  const std::size_t texts = made.name.size() + made.email.size() + made.credit_card.size() +
                            made.city.size() + made.state.size();
  made.extra = tables_.text(w2, extra_bytes(200, 16 + static_cast<std::int64_t>(texts), w1 >> 32));
  return made;
}

/// w0 [0..2) seller is hot unless 0, [32..64) which seller otherwise · w1 [0..32) category,
/// [32..64) initial bid · w2 [0..32) what the reserve adds, [32..64) expiry · w3 [0..32) name's
/// length, [32..64) description's · w4 [0..16) name's start, [16..32) description's, [32..64)
/// extra's length · w5 [0..16) extra's start
Auction Generator::auction(std::uint64_t n, const Place& place, std::int64_t now_ms) const {
  const std::uint64_t w0 = word(n, 0), w1 = word(n, 1), w2 = word(n, 2), w3 = word(n, 3),
                      w4 = word(n, 4), w5 = word(n, 5);
  Auction made;
  made.id = kFirstAuctionId + place.last_auction();
  made.item_name = tables_.text(w4, 3 + below(17, w3));
  made.description = tables_.text(w4 >> 16, 3 + below(97, w3 >> 32));
  made.initial_bid = price(w1 >> 32);
  made.reserve = made.initial_bid + price(w2);
  made.time_ms = now_ms;
  const std::int64_t span_ms = time_ms(n + kOpenAuctionsSpan) - now_ms;
  made.expires_ms = now_ms + 1 + below(std::max<std::int64_t>(2 * span_ms, 1), w2 >> 32);
  const bool hot = (w0 & 3) != 0;
  made.seller = kFirstPersonId +
                (hot ? place.last_person() / kHotSpan * kHotSpan : place.any_person(w0 >> 32));
  made.category = kFirstCategory + below(kCategories, w1);
  const std::size_t texts = made.item_name.size() + made.description.size();
  made.extra = tables_.text(w5, extra_bytes(500, 56 + static_cast<std::int64_t>(texts), w4 >> 32));
  return made;
}

/// w0 [0] auction is hot, [1..3) bidder is hot unless 0, [3] channel is hot, [4..6) which hot
/// channel, [32..64) price · w1 [0..32) which auction otherwise, [32..64) which bidder · w2 [0..32)
/// which other channel, [32..48) extra's start, [48..64) extra's length
Bid Generator::bid(std::uint64_t n, const Place& place, std::int64_t time_ms) const {
  const std::uint64_t w0 = word(n, 0), w1 = word(n, 1), w2 = word(n, 2);
  Bid made;
  const bool hot_auction = (w0 & 1) != 0, hot_bidder = (w0 & 6) != 0, hot_channel = (w0 & 8) != 0;
  made.auction = kFirstAuctionId +
                 (hot_auction ? place.last_auction() / kHotSpan * kHotSpan : place.any_auction(w1));
  made.bidder = kFirstPersonId + (hot_bidder ? place.last_person() / kHotSpan * kHotSpan + 1
                                             : place.any_person(w1 >> 32));
  made.price = price(w0 >> 32);
  // Which of the two is a coin toss that no predictor learns, so the address is chosen, not the
  // branch.
  const Tables::Channel* const other = tables_.channels.data() + below(Tables::kChannels, w2);
  const Tables::Channel* const channel =
      hot_channel ? tables_.hot_channels.data() + ((w0 >> 4) & 3) : other;
  made.channel = channel->name;
  made.url = channel->url;
  made.time_ms = time_ms;
  made.extra = tables_.text(w2 >> 32, extra_bytes(100, 32, (w2 >> 48) << 16));
  return made;
}

}  // namespace sluice::nexmark
