#include <sluice/engine/state.h>

#include <algorithm>

#include <gtest/gtest.h>

namespace sluice {
namespace {

Context at(std::uint16_t shard, std::uint16_t shards) {
  Context context;
  context.operator_id = "op";
  context.shard = ShardId(shard);
  context.parallelism = shards;
  return context;
}

// Goal: whatever the number of shards, each split's value is in one place afterwards, and nothing is made up.
TEST(SplitState, MovesWithItsSplitWhenTheNumberOfShardsChanges) {
  std::vector<std::string> saved(2);
  for (std::uint16_t shard = 0; shard < 2; ++shard) {
    SplitState<std::uint64_t> state;
    for (int partition = 0; partition < 6; ++partition) {
      const Split split{"in", partition};
      if (at(shard, 2).owns(split)) state[split] = static_cast<std::uint64_t>(100 + partition);
    }
    state.save(saved[shard]);
  }
  for (const std::uint16_t shards : {1, 3, 8}) {
    std::map<Split, std::uint64_t> all;
    for (std::uint16_t shard = 0; shard < shards; ++shard) {
      SplitState<std::uint64_t> state;
      for (const std::string& bytes : saved) ASSERT_TRUE(state.restore(bytes, at(shard, shards)).ok());
      for (const auto& [split, value] : state.all()) EXPECT_TRUE(all.emplace(split, value).second);
    }
    ASSERT_EQ(all.size(), 6u);
    for (const auto& [split, value] : all) EXPECT_EQ(value, static_cast<std::uint64_t>(100 + split.partition));
  }
}

TEST(SplitState, BytesThatEndTooEarlyAreCorrupt) {
  SplitState<std::uint64_t> state;
  state[{"in", 1}] = 7;
  std::string bytes;
  state.save(bytes);
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    SplitState<std::uint64_t> restored;
    EXPECT_EQ(restored.restore(std::string_view(bytes).substr(0, size), at(0, 1)).code(), Code::kCorrupt) << size;
  }
}

TEST(ListState, EntriesAreDealtOutOnceOrGivenToAll) {
  ListState<std::string> first;
  first.values() = {"a", "b", "c", "d", "e"};
  std::string bytes;
  first.save(bytes);
  std::vector<std::string> dealt;
  for (std::uint16_t shard = 0; shard < 3; ++shard) {
    ListState<std::string> part, all(ListState<std::string>::Redistribution::kUnion);
    ASSERT_TRUE(part.restore(bytes, at(shard, 3)).ok());
    ASSERT_TRUE(all.restore(bytes, at(shard, 3)).ok());
    dealt.insert(dealt.end(), part.values().begin(), part.values().end());
    EXPECT_EQ(all.values().size(), 5u);
  }
  std::ranges::sort(dealt);
  EXPECT_EQ(dealt, first.values());
}

}  // namespace
}  // namespace sluice
