#include <sluice/engine/split.h>

#include <set>

#include <gtest/gtest.h>

namespace sluice {
namespace {

// Goal: source and state agree about the owner, and a topic's partitions are spread evenly.
TEST(SplitOwner, PartitionsOfATopicGoRoundTheShards) {
  for (const std::uint16_t shards : {1, 2, 3, 8}) {
    std::vector<int> owned(shards);
    for (int partition = 0; partition < 24; ++partition) ++owned[split_owner({"events", partition}, shards).value()];
    for (const int count : owned) EXPECT_EQ(count, 24 / shards);
  }
}

TEST(SplitOwner, IsFixedForEverAsRestoredJobsRelyOnIt) {
  EXPECT_EQ(split_owner({"events-a", 0}, 7).value(), split_owner({"events-a", 7}, 7).value());
  EXPECT_EQ(split_owner({"", 3}, 2).value(), (0xcbf29ce484222325ull % 2 + 3) % 2);
}

}  // namespace
}  // namespace sluice
