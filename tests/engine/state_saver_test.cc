// Goal: what barriers took of keyed state gives that state back, whichever of them were made durable and whenever that was told; and
// it costs what changed, not what there is.
// Method: random changes beside std::map; a chain of snapshots as checkpoint/store keeps it, restored to other numbers of shards.
#include <sluice/engine/internal/operator_tail.h>
#include <sluice/engine/internal/state_saver.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <sluice/io/base/random.h>

namespace sluice {
namespace {

using Counts = ValueState<std::uint64_t, std::uint64_t>;
using Model = std::map<std::uint64_t, std::uint64_t>;

Context at(std::uint16_t shard, std::uint16_t shards) {
  Context context;
  context.operator_id = "count";
  context.shard = ShardId(shard);
  context.parallelism = shards;
  return context;
}

/// One shard's instance of an operator with keyed state and a list of its own.
struct Instance {
  Instance(std::uint16_t shard, std::uint16_t shards) : context(at(shard, shards)) {
    states.add("counts", counts);
    states.add("list", list);
    counts.open(context);
    saver.watch(states);
  }
  CheckpointData barrier(std::uint64_t epoch) {
    CheckpointData data;
    saver.save(Epoch(epoch), context, data);
    return data;
  }
  Context context;
  Counts counts;
  ListState<std::uint64_t> list;
  StateSet states;
  internal::StateSaver saver;
};

/// What a store keeps: of each state and shard the last whole one, and the changes behind it.
void put_behind(CheckpointData& kept, const CheckpointData& next) {
  CheckpointData made;
  for (const StateSnapshot& state : next.states) {
    for (const StateSnapshot& old : kept.states) {
      if (state.since != Epoch(0) && old.state == state.state && old.shard == state.shard) made.states.push_back(old);
    }
    made.states.push_back(state);
  }
  kept = std::move(made);
}

Model all_of(const std::vector<std::unique_ptr<Instance>>& job) {
  Model all;
  for (const auto& instance : job) {
    instance->counts.for_each([&](std::uint64_t key, std::uint64_t count) { EXPECT_TRUE(all.emplace(key, count).second) << key; });
  }
  return all;
}

std::vector<std::unique_ptr<Instance>> start(std::uint16_t shards, const CheckpointData& restored) {
  std::vector<std::unique_ptr<Instance>> job;
  for (std::uint16_t shard = 0; shard < shards; ++shard) {
    job.push_back(std::make_unique<Instance>(shard, shards));
    const Status status = internal::restore_states(job.back()->states, restored, job.back()->context);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  return job;
}

TEST(StateSaver, WhatBarriersTookGivesTheStateBackOnAnyNumberOfShards) {
  std::uint64_t wholes = 0, changes = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Random random(seed);
    Model model, durable;
    CheckpointData kept;
    std::uint64_t epoch = 0;
    for (const std::uint16_t shards : {1, 8, 3, 1}) {
      auto job = start(shards, kept);
      ASSERT_EQ(all_of(job), durable) << "seed " << seed << ", " << shards << " shards";
      model = durable;
      for (int barrier = 0; barrier < 12; ++barrier) {
        const std::uint64_t steps = barrier == 0 ? 150'000 : random.below(2'000);
        for (std::uint64_t step = 0; step < steps; ++step) {
          const std::uint64_t key = random.below(200'000);
          Instance& mine = *job[KeyGroups().owner(KeyGroups().of(key), shards).value()];
          if (random.below(4) == 0) {
            mine.counts.erase(key);
            model.erase(key);
          } else {
            model[key] = mine.counts[key] += step + 1;
          }
        }
        ++epoch;
        CheckpointData data;
        for (const auto& instance : job) data.merge(instance->barrier(epoch));
        if (random.below(4) == 0) continue;  // It fails, and is part of the next.
        for (const StateSnapshot& state : data.states) {
          if (state.state == "counts") ++(state.since == Epoch(0) ? wholes : changes);
        }
        put_behind(kept, data);
        durable = model;
        for (const auto& instance : job) {
          if (random.below(5) != 0) instance->saver.confirm(Epoch(epoch));  // Else it hears of it behind the next barrier.
          if (random.below(5) == 0) instance->saver.confirm(Epoch(epoch - 1));
        }
      }
    }
    ASSERT_EQ(all_of(start(2, kept)), durable);
  }
  EXPECT_GT(wholes, 30u);
  EXPECT_GT(changes, 100u);
}

TEST(StateSaver, CostsWhatChangedUntilThatOutgrowsTheRest) {
  Instance job(0, 1);
  for (std::uint64_t key = 0; key < 200'000; ++key) job.counts[key] = key;
  const std::size_t all = job.barrier(1).states[0].bytes.size();
  EXPECT_GT(job.barrier(2).states[0].bytes.size(), all / 2) << "nobody said that 1 is durable";
  job.saver.confirm(Epoch(2));
  std::size_t written = 0;
  int wholes = 0;
  for (std::uint64_t epoch = 3; epoch < 103; ++epoch) {
    for (std::uint64_t key = 0; key < 2'000; ++key) ++job.counts[key * 97 + epoch];  // One in a hundred.
    const CheckpointData data = job.barrier(epoch);
    ASSERT_EQ(data.states[0].since, data.states[0].bytes.size() > all / 2 ? Epoch(0) : Epoch(epoch - 1));
    wholes += data.states[0].since == Epoch(0);
    written += data.states[0].bytes.size();
    EXPECT_EQ(data.states[1].since, Epoch(0)) << "a list is written whole";
    job.saver.confirm(Epoch(epoch));
  }
  EXPECT_GE(wholes, 2);  // A restore reads no more than twice the state, and opens few files.
  EXPECT_LT(written, 100 * all / 15);
}

TEST(StateSaver, SmallStateIsWrittenWhole) {
  Instance job(0, 1);
  for (std::uint64_t epoch = 1; epoch < 10; ++epoch) {
    ++job.counts[epoch % 3];
    EXPECT_EQ(job.barrier(epoch).states[0].since, Epoch(0)) << "a file to open costs more than that";
    job.saver.confirm(Epoch(epoch));
  }
}

}  // namespace
}  // namespace sluice
