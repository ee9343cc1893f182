#include <sluice/engine/key_group.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>
#include <gtest/gtest.h>

namespace sluice {
namespace {

struct Place {
  std::string city;
  int street = 0;
};
BOOST_DESCRIBE_STRUCT(Place, (), (city, street))

// Goal: a job finds its keys again on any machine, with any later version. These numbers must never change.
TEST(KeyGroups, AreTheSameForEver) {
  const KeyGroups groups;
  const auto of = [&](const auto& key) { return groups.of(key).value(); };
  EXPECT_EQ(of(std::uint64_t{0}), of(0));
  EXPECT_EQ(of(std::int32_t{-1}), of(std::int64_t{-1}));
  EXPECT_EQ(of(std::string("user-1")), of(std::string_view("user-1")));
  EXPECT_EQ(of(std::string("user-1")), of(Bytes("user-1")));
  EXPECT_NE(of(Bytes()), of(Bytes("")));
  EXPECT_EQ((std::array{of(1), of(2), of(std::string("user-1")), of(std::string()), of(std::tuple(1, std::string("a")))}),
            (std::array<std::uint16_t, 5>{43, 83, 25, 121, 122}));
}

TEST(KeyGroups, EveryPartOfAKeyCountsButTheWindow) {
  const KeyGroups groups(KeyGroups::kMaxCount);
  EXPECT_NE(groups.of(std::pair(1, 2)), groups.of(std::pair(2, 1)));
  EXPECT_NE(groups.of(Place{"a", 1}), groups.of(Place{"a", 2}));
  EXPECT_NE(groups.of(Place{"a", 1}), groups.of(Place{"b", 1}));
  EXPECT_EQ(groups.of(WindowKey<int, int>{7, 1}), groups.of(7));
  EXPECT_EQ(groups.of(WindowKey<int, int>{7, 1}), groups.of(WindowKey<int, int>{7, 2}));
  EXPECT_NE(groups.of(7), KeyGroups(KeyGroups::kMaxCount, 1).of(7)) << "the seed";
}

// Goal: each group has one owner, and shares differ by one group at most, whatever the numbers.
TEST(KeyGroups, AreSharedOutEvenly) {
  for (const std::uint16_t count : {1, 2, 100, 128, 32'768}) {
    for (const std::uint16_t shards : {1, 2, 3, 7, 8, 128, 200}) {
      std::vector<int> owned(shards);
      std::uint16_t last = 0;
      for (std::uint16_t group = 0; group < count; ++group) {
        const ShardId owner = KeyGroups(count).owner(KeyGroup(group), shards);
        ASSERT_LT(owner.value(), shards);
        ASSERT_GE(owner.value(), last) << "neighbours stay together";
        last = owner.value();
        ++owned[last];
      }
      const auto [least, most] = std::minmax_element(owned.begin(), owned.end());
      EXPECT_LE(*most - *least, 1) << count << " groups on " << shards;
    }
  }
}

// Goal: keys as people have them (counted up, in steps, with common beginnings) fill all groups alike.
// Method: chi-squared over 128 groups: mean 127, deviation 16; eight deviations are refused.
void spread(const std::string& name, const std::function<KeyGroup(int)>& of) {
  constexpr int kKeys = 128 * 500;
  std::array<int, 128> counts{};
  for (int i = 0; i < kKeys; ++i) ++counts[of(i).value()];
  double chi = 0;
  for (const int count : counts) chi += (count - 500.0) * (count - 500.0) / 500.0;
  EXPECT_LT(chi, 127 + 8 * 16) << name;
}
TEST(KeyGroups, UsualKeysSpreadEvenly) {
  const KeyGroups groups;
  spread("counted", [&](int i) { return groups.of(i); });
  spread("in steps of 1024", [&](int i) { return groups.of(i * std::int64_t{1024}); });
  spread("high bits only", [&](int i) { return groups.of(static_cast<std::uint64_t>(i) << 40); });
  spread("text", [&](int i) { return groups.of("user-" + std::to_string(i)); });
  spread("pairs", [&](int i) { return groups.of(std::pair(i % 250, i / 250)); });
}

// Goal: the hash that picks the group says nothing about the place in a table.
// Method: within one group, the upper byte of the table's hash (where flat maps look first) is as even as over all keys.
TEST(KeyGroups, AreIndependentOfTheTablesHash) {
  const KeyGroups groups;
  for (const std::uint64_t seed : {internal::table_seed(), std::uint64_t{0}, groups.seed()}) {
    std::array<int, 256> counts{};
    int keys = 0;
    for (std::uint64_t key = 0; keys < 256 * 100; ++key) {
      if (groups.of(key) != KeyGroup(5)) continue;
      ++keys;
      ++counts[KeyHash<std::uint64_t>::hash(key, seed) >> 56];
    }
    const auto empty = std::count(counts.begin(), counts.end(), 0);
    EXPECT_EQ(empty, 0) << "seed " << seed;
    EXPECT_LT(*std::max_element(counts.begin(), counts.end()), 300) << "seed " << seed;
  }
}

}  // namespace
}  // namespace sluice
