#include "nexmark/tables.h"

#include <fmt/format.h>

#include <utility>

namespace sluice::nexmark {
namespace {

/// The random words of the tables: fixed, whatever the seed of the events.
class Words {
 public:
  std::int64_t below(std::int64_t range) { return nexmark::below(range, mixed(++at_ * kStep)); }
  std::string letters(std::int64_t count) {
    std::string text;
    while (count-- > 0) text += static_cast<char>('a' + below(26));
    return text;
  }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15u;
  std::uint64_t at_ = 0;
};

/// Three folders of three or four letters, as q22 wants them.
std::string url(Words& words) {
  std::string text = "https://www.nexmark.com";
  for (int folder = 0; folder < 3; ++folder) text += "/" + words.letters(3 + words.below(2));
  return text + "/item.htm?query=1";
}

std::uint32_t reversed(std::uint32_t number) {
  std::uint32_t result = 0;
  for (int bit = 0; bit < 32; ++bit, number >>= 1) result = (result << 1) | (number & 1);
  return result;
}

}  // namespace

const Tables& Tables::get() {
  static const Tables tables;
  return tables;
}

std::string_view Tables::kept(std::string text) {
  owned_.push_back(std::move(text));
  return owned_.back();
}

Tables::Tables() {
  constexpr std::array<std::string_view, 11> kFirst = {"Peter", "Paul",   "Luke",  "John",
                                                       "Saul",  "Vicky",  "Kate",  "Julie",
                                                       "Sarah", "Deiter", "Walter"};
  constexpr std::array<std::string_view, 9> kLast = {
      "Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris"};
  cities = {"Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland",
            "Bend",    "Redmond",     "Seattle",       "Kent",  "Cheyenne"};
  states = {"AZ", "CA", "ID", "OR", "WA", "WY"};
  owned_.reserve(hot_channels.size() + 2 * kChannels + 2 * kPersonTexts +
                 kFirst.size() * kLast.size());
  Words words;
  for (const std::string_view first : kFirst) {
    for (const std::string_view last : kLast)
      names.push_back(kept(fmt::format("{} {}", first, last)));
  }
  for (std::size_t at = 0; at < kPersonTexts; ++at) {
    std::string user = words.letters(3 + words.below(4));
    const std::string host = words.letters(3 + words.below(2));
    emails.push_back(kept(std::move(user) + "@" + host + ".com"));
    std::string card;
    for (int group = 0; group < 4; ++group)
      card += fmt::format("{}{:04}", group == 0 ? "" : " ", words.below(10'000));
    credit_cards.push_back(kept(std::move(card)));
  }
  constexpr std::array<std::string_view, 4> kHot = {"Google", "Facebook", "Baidu", "Apple"};
  for (std::size_t at = 0; at < kHot.size(); ++at) hot_channels[at] = {kHot[at], kept(url(words))};
  for (std::uint32_t number = 0; number < kChannels; ++number) {
    std::string link = url(words);
    if (words.below(10) > 0) link += fmt::format("&channel_id={}", reversed(number));
    const std::string_view name = kept(fmt::format("channel-{}", number));
    channels.push_back({name, kept(std::move(link))});
  }
  text_ = words.letters(kTextStarts + kTextBytesMax);

  // 10^(6/256), 10^(6/256²), …: what one step of each byte multiplies by.
  constexpr std::array<double, 4> kStep = {1.055449600878603, 1.0002108301829544,
                                           1.0000008234689381, 1.0000000032166743};
  for (std::size_t byte = 0; byte < price.size(); ++byte) {
    price[byte][0] = byte == 0 ? 100.0 : 1.0;
    for (std::size_t at = 1; at < 256; ++at) price[byte][at] = price[byte][at - 1] * kStep[byte];
  }
}

}  // namespace sluice::nexmark
