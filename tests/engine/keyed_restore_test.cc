#include <concepts>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>
#include <gtest/gtest.h>

#include <sluice/engine/internal/operator_tail.h>
#include <sluice/engine/keyed_state.h>
#include <sluice/io/base/random.h>

namespace sluice {
namespace {

using Counts = ValueState<std::string, std::uint64_t>;
static_assert(std::copy_constructible<Counts>, "a function with state is copied to every shard");
using Model = std::map<std::string, std::uint64_t>;

Context at(std::uint16_t shard, std::uint16_t shards, KeyGroups groups = {}) {
  Context context;
  context.operator_id = "counter";
  context.shard = ShardId(shard);
  context.parallelism = shards;
  context.key_groups = groups;
  return context;
}

/// The counter of a job on `shards` shards, between restarts.
class Job {
 public:
  explicit Job(std::uint16_t shards, KeyGroups groups = {}) : groups_(groups) {
    for (std::uint16_t i = 0; i < shards; ++i) {
      shards_.push_back(std::make_unique<Counts>());
      shards_.back()->open(at(i, shards, groups));
    }
  }
  std::uint64_t& operator[](const std::string& key) {
    const ShardId owner = groups_.owner(groups_.of(key), count());
    return (*shards_[owner.value()])[key];
  }
  [[nodiscard]] std::uint16_t count() const { return static_cast<std::uint16_t>(shards_.size()); }
  [[nodiscard]] std::vector<std::string> save() const {
    std::vector<std::string> saved(shards_.size());
    for (std::size_t i = 0; i < shards_.size(); ++i) shards_[i]->save(saved[i]);
    return saved;
  }
  void restore(const std::vector<std::string>& saved) {
    for (std::uint16_t i = 0; i < count(); ++i) {
      for (const std::string& bytes : saved) ASSERT_TRUE(shards_[i]->restore(bytes, at(i, count(), groups_)).ok());
    }
  }
  [[nodiscard]] Model all() const {
    Model all;
    for (const auto& shard : shards_) {
      shard->for_each([&](const std::string& key, std::uint64_t count) { EXPECT_TRUE(all.emplace(key, count).second) << key; });
    }
    return all;
  }
  [[nodiscard]] std::size_t size_of(std::uint16_t shard) const { return shards_[shard]->size(); }

 private:
  const KeyGroups groups_;
  std::vector<std::unique_ptr<Counts>> shards_;
};

// Goal: counts go on where they stopped, whatever the number of shards before and after.
// Method: the same random keys beside std::map; a restart with another number of shards every 5,000.
TEST(KeyedRestore, CountsGoOnWithAnyNumberOfShards) {
  for (const KeyGroups groups : {KeyGroups(), KeyGroups(100, 42), KeyGroups(3)}) {
    Random random(groups.count());
    Model model;
    auto job = std::make_unique<Job>(1, groups);
    for (const std::uint16_t shards : {2, 1, 2, 3, 8, 200, 1}) {
      for (int step = 0; step < 5'000; ++step) {
        const std::string key = "user-" + std::to_string(random.below(2'000));
        ++(*job)[key];
        ++model[key];
      }
      const std::vector<std::string> saved = job->save();
      job = std::make_unique<Job>(shards, groups);
      ASSERT_NO_FATAL_FAILURE(job->restore(saved));
      ASSERT_EQ(job->all(), model) << shards << " shards";
    }
  }
}

TEST(KeyedRestore, TwoShardsHaveHalfOfTheKeysEach) {
  Job one(1), two(2);
  for (int i = 0; i < 20'000; ++i) ++one["user-" + std::to_string(i)];
  two.restore(one.save());
  EXPECT_NEAR(static_cast<double>(two.size_of(0)), 10'000, 1'000);
  EXPECT_EQ(two.size_of(0) + two.size_of(1), 20'000u);
}

TEST(KeyedRestore, AKeyOfAnotherShardIsRefused) {
  Counts here;
  here.open(at(0, 2));
  const KeyGroups groups;
  int refused = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string key = std::to_string(i);
    if (groups.owner(groups.of(key), 2) == ShardId(0)) {
      here[key] = 1;
    } else {
      EXPECT_EQ(here.find(key), nullptr);
      try {
        here[key] = 1;
        ADD_FAILURE() << key;
      } catch (const std::logic_error& error) {
        ++refused;
        EXPECT_NE(std::string(error.what()).find("put key_by in front"), std::string::npos) << error.what();
      }
    }
  }
  EXPECT_GT(refused, 20);
}

// Goal: no damage passes. Method: every single byte is changed, and every beginning is tried.
TEST(KeyedRestore, DamagedBytesAreCorrupt) {
  Job job(1);
  for (int i = 0; i < 20; ++i) job["user-" + std::to_string(i)] = static_cast<std::uint64_t>(i);
  const std::string bytes = job.save()[0];
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
    Counts state;
    const Status status = state.restore(damaged, at(0, 1));
    ASSERT_EQ(status.code(), Code::kCorrupt) << "byte " << i;
    ASSERT_NE(status.message().find("\"counter\""), std::string::npos);
  }
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    Counts state;
    ASSERT_EQ(state.restore(std::string_view(bytes).substr(0, size), at(0, 1)).code(), Code::kCorrupt) << size << " bytes";
  }
}

// Goal: bytes that a hand or a fault made neat again (right checksums) do not crash us either.
struct Careless {
  int value = 0;
  bool operator==(const Careless&) const = default;
};

}  // namespace
template <>
struct Codec<Careless> {
  static std::string name() { return "careless"; }
  static void write(const Careless& careless, std::string& out) { Codec<int>::write(careless.value, out); }
  static bool read(std::string_view& in, Careless& careless) {
    std::int64_t wider = 0;
    if (!Codec<std::int64_t>::read(in, wider)) return false;
    careless.value = static_cast<int>(wider);
    return true;
  }
};
namespace {

TEST(KeyedRestore, ACodecThatReadsOtherThanItWroteIsNamed) {
  ValueState<std::uint64_t, Careless> state, restored;
  state[1].value = 7;
  std::string bytes;
  state.save(bytes);
  const Status status = restored.restore(bytes, at(0, 1));
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_NE(status.message().find("Codec::read"), std::string_view::npos) << status.message();
}

TEST(KeyedRestore, OtherKeyGroupsAreRefused) {
  Job job(1);
  job["a"] = 1;
  const std::string bytes = job.save()[0];
  for (const KeyGroups groups : {KeyGroups(256), KeyGroups(128, 1)}) {
    Counts state;
    state.open(at(0, 1, groups));
    const Status status = state.restore(bytes, at(0, 1, groups));
    EXPECT_EQ(status.code(), Code::kInvalid);
    EXPECT_NE(status.message().find("fixed for a job's life"), std::string_view::npos) << status.message();
  }
}

// Goal: state of another type, or of other field names, is an error that names both; the bytes alone tell it too.
TEST(KeyedRestore, StateOfAnotherTypeNamesBoth) {
  Counts counts;
  counts["a"] = 1;
  CheckpointData checkpoint;
  StateSet written;
  written.add("counts", counts);
  internal::StateSaver saver;
  saver.watch(written);
  saver.save(Epoch(1), at(0, 1), checkpoint);
  ValueState<std::string, double> other;
  StateSet read;
  read.add("counts", other);
  const Status status = internal::restore_states(read, checkpoint, at(0, 1));
  EXPECT_EQ(status.code(), Code::kCorrupt);
  for (const char* part : {"\"counts\"", "\"counter\"", "value<string,u64>", "value<string,f64>"}) {
    EXPECT_NE(status.message().find(part), std::string_view::npos) << part << " in: " << status.message();
  }
  EXPECT_EQ(other.restore(checkpoint.states[0].bytes, at(0, 1)).code(), Code::kCorrupt);
  // Damage is told with the state's name.
  checkpoint.states[0].bytes.back() = static_cast<char>(checkpoint.states[0].bytes.back() ^ 1);
  Counts restored;
  StateSet again;
  again.add("counts", restored);
  const Status damaged = internal::restore_states(again, checkpoint, at(0, 1));
  EXPECT_EQ(damaged.code(), Code::kCorrupt);
  EXPECT_NE(damaged.message().find("\"counts\""), std::string_view::npos) << damaged.message();
}

struct Total {
  std::uint64_t all = 0;
  std::optional<double> mean;
};
BOOST_DESCRIBE_STRUCT(Total, (), (all, mean))

// Goal: a program whose value has become another type goes on with the old counts, once it says how.
TEST(KeyedRestore, ARegisteredMigrationRuns) {
  Job job(2);
  for (int i = 0; i < 1'000; ++i) job["user-" + std::to_string(i)] = static_cast<std::uint64_t>(i);
  CheckpointData checkpoint;
  const std::vector<std::string> saved = job.save();
  for (std::uint16_t i = 0; i < 2; ++i) checkpoint.states.push_back({"counter", "counts", Counts().type(), ShardId(i), saved[i]});
  ValueState<std::string, Total> totals;
  StateSet states;
  states.add("counts", totals);
  EXPECT_EQ(internal::restore_states(states, checkpoint, at(0, 1)).code(), Code::kCorrupt);
  totals.migrate<std::uint64_t>([](std::uint64_t old) { return Total{.all = old, .mean = {}}; });
  const Status status = internal::restore_states(states, checkpoint, at(0, 1));
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(totals.size(), 1'000u);
  EXPECT_EQ(totals.find("user-77")->all, 77u);
  // What it writes is of the new type, and read as such.
  std::string bytes;
  totals.save(bytes);
  ValueState<std::string, Total> again;
  ASSERT_TRUE(again.restore(bytes, at(0, 1)).ok());
  EXPECT_EQ(again.find("user-77")->all, 77u);
}

// Goal: the newest checkpoint may be one of changes: a migration takes these too, and whole groups and keys that are gone among them.
TEST(KeyedRestore, WhatWasWrittenBeforeThereWasATimeIsAsOldAsTheFirst) {
  // A table that is filled before any watermark: the time comes with changes that do not name its keys.
  constexpr TimeToLive kMonth{.after = std::chrono::hours(24 * 30)};
  const EventTime first{std::chrono::hours(24 * 365 * 55)};
  ValueState<std::string, std::uint64_t> before(kMonth), after(kMonth);
  before.open(at(0, 1));
  for (int i = 0; i < 100; ++i) before[std::to_string(i)] = 1;
  std::string whole, changes;
  before.mark(Epoch{1});
  before.save(whole);
  before.confirm(Epoch{1});
  before.advance(first);
  before["new"] = 2;
  before.mark(Epoch{2});
  before.save_changes(changes);
  after.open(at(0, 1));
  ASSERT_TRUE(after.restore(whole, at(0, 1)).ok());
  ASSERT_TRUE(after.restore(changes, at(0, 1)).ok());
  ASSERT_NE(after.find("new"), nullptr);
  for (int i = 0; i < 100; ++i) ASSERT_NE(after.find(std::to_string(i)), nullptr) << i;
}

TEST(KeyedRestore, AMigrationTakesChangesToo) {
  Counts counts;
  for (std::uint64_t i = 0; i < 2'000; ++i) counts["user-" + std::to_string(i)] = i;
  std::string all, few, many;
  counts.mark(Epoch(1));
  counts.save(all);
  counts.confirm(Epoch(1));
  counts["user-7"] = 70;
  counts.erase("user-8");
  counts.mark(Epoch(2));
  counts.save_changes(few);
  counts.confirm(Epoch(2));
  for (std::uint64_t i = 1'000; i < 2'000; ++i) counts.erase("user-" + std::to_string(i));
  for (std::uint64_t i = 0; i < 1'000; i += 2) ++counts["user-" + std::to_string(i)];
  counts.mark(Epoch(3));
  counts.save_changes(many);
  ValueState<std::string, Total> totals;
  totals.migrate<std::uint64_t>([](std::uint64_t old) { return Total{.all = old, .mean = {}}; });
  for (const std::string& bytes : {all, few, many}) {
    const Status status = totals.restore(bytes, at(0, 1));
    ASSERT_TRUE(status.ok()) << status.message();
  }
  std::size_t same = 0;
  counts.for_each([&](const std::string& key, std::uint64_t count) {
    const Total* total = totals.find(key);
    same += total != nullptr && total->all == count;
  });
  EXPECT_EQ(same, counts.size());
  EXPECT_EQ(totals.size(), counts.size());
}

}  // namespace
}  // namespace sluice
