// Goal: what was seen and what was not is exact across the edges of words and blocks, in any order
// of arrival. Method: against a std::set, with a seed.
#include "commands/seen_set.h"

#include <sluice/io/base/random.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace sluice::tools {
namespace {

using Added = SeenSet::Added;

TEST(SeenSet, NumbersInOrderAreSeenOnce) {
  SeenSet seen;
  for (std::uint64_t number = 0; number < 200'000; ++number)
    ASSERT_EQ(seen.add(number), Added::kNew);
  for (const std::uint64_t number : {0u, 63u, 64u, 65'535u, 65'536u, 199'999u})
    EXPECT_EQ(seen.add(number), Added::kAgain);
  EXPECT_EQ(seen.missing_below(200'000), 0u);
  EXPECT_EQ(seen.missing_below(200'010), 10u);
}

TEST(SeenSet, BackwardsIsSeenToo) {
  SeenSet seen;
  for (std::uint64_t number = 140'000; number-- > 0;)
    ASSERT_EQ(seen.add(number), Added::kNew) << number;
  for (std::uint64_t number = 0; number < 140'000; ++number)
    ASSERT_EQ(seen.add(number), Added::kAgain) << number;
  EXPECT_EQ(seen.missing_below(140'000), 0u);
  EXPECT_EQ(seen.add(140'000), Added::kNew);
}

TEST(SeenSet, AnyOrderAgreesWithAPlainSet) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::uint64_t range = 1 + random.below(300'000);
    SeenSet seen;
    std::set<std::uint64_t> plain;
    for (int i = 0; i < 20'000; ++i) {
      // Mostly near the front, as histories are, and sometimes far away.
      const std::uint64_t number =
          random.below(4) == 0 ? random.below(range) : plain.size() + random.below(50);
      ASSERT_EQ(seen.add(number) == Added::kNew, plain.insert(number).second) << number;
    }
    for (const std::uint64_t end :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{64}, std::uint64_t{65'536}, range}) {
      const auto below =
          static_cast<std::uint64_t>(std::distance(plain.begin(), plain.lower_bound(end)));
      EXPECT_EQ(seen.missing_below(end), end - below) << end;
      const auto missing = seen.first_missing_below(end, 7);
      EXPECT_EQ(missing.size(), std::min<std::uint64_t>(7, end - below));
      for (const std::uint64_t number : missing) EXPECT_FALSE(plain.contains(number));
    }
  }
}

TEST(SeenSet, AbsurdNumbersCostABlockAndNoMore) {
  SeenSet seen;
  EXPECT_EQ(seen.add(std::uint64_t{1} << 61), Added::kNew);
  EXPECT_EQ(seen.add(std::uint64_t{1} << 61), Added::kAgain);
  EXPECT_EQ(seen.add(0), Added::kNew);
  EXPECT_THAT(seen.first_missing_below(std::uint64_t{1} << 61, 2), ::testing::ElementsAre(1, 2));
}

}  // namespace
}  // namespace sluice::tools
