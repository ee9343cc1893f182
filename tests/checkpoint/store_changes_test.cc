// Goal: a checkpoint of changes is as whole as any: it holds what it builds on, whatever is deleted beside it, and damage in what an
// earlier one wrote is found.
// Method: a state that is written once and then as changes, beside one that is written whole each time; power cuts before each call.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "store_fixture.h"

namespace sluice::checkpoint {
namespace {

/// What epoch `n` hands over: all of the state where `since` is 0, otherwise what changed since then.
CheckpointData handed_over(std::uint64_t n, std::uint64_t since) {
  CheckpointData data;
  data.positions = {{"in", {"orders", 0}, Offset(static_cast<std::int64_t>(n))}};
  for (const std::uint16_t shard : {1, 0}) {
    const std::string text = since == 0 ? fmt::format("all of {} on {}", n, shard) : fmt::format("changes of {} on {}", n, shard);
    data.states.push_back({"count", "counts", "value<string,u64>", ShardId(shard), text, Epoch(since)});
    data.states.push_back({"count", "watermark", "watermark", ShardId(shard), fmt::format("time {}", n)});
  }
  return data;
}

/// "all of 1, changes of 2, changes of 3" of one shard's counts.
std::string read_back(const CheckpointData& data, std::uint16_t shard) {
  std::string text;
  for (const StateSnapshot& state : data.states) {
    if (state.state != "counts" || state.shard != ShardId(shard)) continue;
    const std::string tail = fmt::format(" on {}", shard);
    EXPECT_TRUE(state.bytes.ends_with(tail)) << state.bytes;
    text += (text.empty() ? "" : ", ") + state.bytes.substr(0, state.bytes.size() - tail.size());
  }
  return text;
}

class StoreChanges : public StoreTest {
 protected:
  std::vector<std::string> files_of(const Decision& decision) {
    const auto names = files_.list(at(decision));
    return names.ok() ? *names : std::vector<std::string>();
  }
  static std::string link(int shard, int epoch) { return fmt::format("state-{:05}-{:020}.snap", shard, epoch); }
  static CheckpointData read(Process& process) {
    Result<CheckpointData> read = process.loop.run(process.store->read(process.decided));
    EXPECT_TRUE(read.ok()) << read.status().to_string();
    return read.ok() ? *std::move(read) : CheckpointData();
  }
};

TEST_F(StoreChanges, AreReadBehindWhatTheyBuildOnThoughThatIsDeleted) {
  Process first(files_, kDirectory);
  ASSERT_TRUE(first.start().ok());
  std::string wanted = "all of 1";
  for (std::uint64_t epoch = 1; epoch <= 5; ++epoch) {
    ASSERT_TRUE(first.epoch(epoch, handed_over(epoch, epoch - 1), 1).ok());
    if (epoch > 1) wanted += fmt::format(", changes of {}", epoch);
    ASSERT_EQ(entries().size(), 1u);
    ASSERT_TRUE(entries()[0].complete) << entries()[0].reason;
    const CheckpointData data = read(first);
    for (const std::uint16_t shard : {0, 1}) EXPECT_EQ(read_back(data, shard), wanted);
    // What is written whole each time is there once.
    EXPECT_EQ(std::ranges::count(data.states, std::string("watermark"), &StateSnapshot::state), 2);
  }
  first.store.reset();
  Process second(files_, kDirectory);
  ASSERT_TRUE(second.start().ok());
  EXPECT_EQ(read_back(read(second), 1), wanted);
  // A new attempt begins with all of it: nothing of the old one is needed.
  ASSERT_TRUE(second.epoch(6, handed_over(6, 0), 1).ok());
  EXPECT_EQ(read_back(read(second), 1), "all of 6");
  EXPECT_EQ(files_of(second.decided), (std::vector<std::string>{"MANIFEST", "state-00000.snap", "state-00001.snap"}));
}

TEST_F(StoreChanges, EachOfThoseThatAreKeptIsWhole) {
  Process process(files_, kDirectory);
  ASSERT_TRUE(process.start().ok());
  for (std::uint64_t epoch = 1; epoch <= 6; ++epoch) {
    ASSERT_TRUE(process.epoch(epoch, handed_over(epoch, epoch == 4 ? 0 : epoch - 1), 3).ok());
  }
  std::vector<std::string> texts;
  for (const Store::Entry& entry : entries()) {
    const auto contents = run(Store::inspect(files_, kDirectory, entry.name));
    ASSERT_TRUE(contents.ok()) << contents.status().to_string();
    texts.push_back(read_back(contents->data, 0));
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"all of 4", "all of 4, changes of 5", "all of 4, changes of 5, changes of 6"}));
  EXPECT_EQ(files_of(process.decided), (std::vector<std::string>{"MANIFEST", link(0, 4), link(0, 5), "state-00000.snap", link(1, 4),
                                                                 link(1, 5), "state-00001.snap"}));
}

TEST_F(StoreChanges, GoBehindTheNewestDecidedOneWhateverFailedOrWasConfirmedLate) {
  Process process(files_, kDirectory);
  ASSERT_TRUE(process.start().ok());
  ASSERT_TRUE(process.epoch(1, handed_over(1, 0), 1).ok());
  ASSERT_TRUE(process.epoch(2, handed_over(2, 1), 1).ok());
  disk_->set_fault([](const std::string& call, const Path& path) {
    const bool hit = call == "sync" && path.filename() == "state-00001.snap";
    return hit ? Status(Code::kExhausted, "disk full") : Status();
  });
  EXPECT_EQ(process.write(3, handed_over(3, 2)).code(), Code::kExhausted);
  disk_->set_fault(nullptr);
  EXPECT_EQ(entries().size(), 1u);
  ASSERT_TRUE(process.write(4, handed_over(4, 2)).ok());  // Written, never decided.
  ASSERT_TRUE(process.epoch(5, handed_over(5, 2), 1).ok());
  EXPECT_EQ(read_back(read(process), 0), "all of 1, changes of 2, changes of 5");
  ASSERT_TRUE(process.epoch(6, handed_over(6, 2), 1).ok());  // Shard 0 has not been told of 5 yet.
  EXPECT_EQ(read_back(read(process), 0), "all of 1, changes of 2, changes of 5, changes of 6");
}

TEST_F(StoreChanges, OfWhatTheLastOneDoesNotHoldAreNotWritten) {
  Process process(files_, kDirectory);
  ASSERT_TRUE(process.start().ok());
  ASSERT_TRUE(process.epoch(1, handed_over(1, 0)).ok());
  CheckpointData data = handed_over(2, 1);
  data.states[0].state = "other";
  const Result<Decision> written = process.write(2, data);
  EXPECT_EQ(written.code(), Code::kRecover);
  EXPECT_NE(written.status().message().find("\"other\""), std::string_view::npos) << written.status().message();
  EXPECT_EQ(entries().size(), 1u);
  ASSERT_TRUE(process.epoch(3, handed_over(3, 1)).ok());
}

TEST_F(StoreChanges, DamageInWhatAnEarlierOneWroteIsFound) {
  Process process(files_, kDirectory);
  ASSERT_TRUE(process.start().ok());
  for (std::uint64_t epoch = 1; epoch <= 3; ++epoch) ASSERT_TRUE(process.epoch(epoch, handed_over(epoch, epoch - 1), 1).ok());
  const Path file = at(process.decided) / link(1, 1);
  const std::string whole = disk_->all().at(file.string());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
    disk_->put(file, damaged);
    const auto read = process.loop.run(process.store->read(process.decided));
    ASSERT_EQ(read.code(), Code::kCorrupt) << "byte " << i;
    ASSERT_NE(read.status().message().find(link(1, 1)), std::string_view::npos) << read.status().message();
  }
  disk_->erase(file);
  const auto read = process.loop.run(process.store->read(process.decided));
  EXPECT_EQ(read.code(), Code::kCorrupt);
  EXPECT_NE(read.status().message().find("is missing"), std::string_view::npos) << read.status().message();
}

TEST_F(StoreChanges, WhereFilesHaveOneNameOnlyTheyAreCopied) {
  Process process(files_, kDirectory);
  ASSERT_TRUE(process.start().ok());
  disk_->set_fault([](const std::string& call, const Path&) {
    return call == "link" ? Status(Code::kRecover, "operation not permitted") : Status();
  });
  for (std::uint64_t epoch = 1; epoch <= 3; ++epoch) ASSERT_TRUE(process.epoch(epoch, handed_over(epoch, epoch - 1), 1).ok());
  EXPECT_EQ(read_back(read(process), 0), "all of 1, changes of 2, changes of 3");
  // A copy is compared with what was written: damage is not passed on under a right digest.
  disk_->put(at(process.decided) / link(0, 1), "damaged");
  EXPECT_EQ(process.write(4, handed_over(4, 3)).code(), Code::kRecover);
}

TEST_F(StoreChanges, OnARealDiskTheFilesAreLinked) {
  std::string root = testing::TempDir() + "sluice-changes-XXXXXX";
  ASSERT_NE(::mkdtemp(root.data()), nullptr);
  Loop owner;
  auto files = *io::make_file_system(owner.executor(), io::FileBackend::kThreads);
  auto store = *owner.run(Store::open(*files, root, "orders"));
  Decision decided;
  const Uuid writer = Uuid::make();
  for (std::uint64_t epoch = 1; epoch <= 4; ++epoch) {
    const CheckpointData data = handed_over(epoch, epoch - 1);
    const auto digest = owner.run(store->write(Epoch(epoch), writer, data, {2, decided}));
    ASSERT_TRUE(digest.ok()) << digest.status().to_string();
    decided.epoch = Epoch(epoch);
    decided.writer = writer;
    decided.digest = *digest;
    ASSERT_TRUE(owner.run(store->collect(decided, 2)).ok());
  }
  const Path newest = Path(root) / CheckpointName{Epoch(4), writer}.directory();
  EXPECT_EQ(std::filesystem::hard_link_count(newest / link(0, 1)), 2u);
  const auto read = owner.run(store->read(decided));
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read_back(*read, 1), "all of 1, changes of 2, changes of 3, changes of 4");
  store.reset();
  std::filesystem::remove_all(root);
}

class StoreChangesCrash : public StoreChanges, public testing::WithParamInterface<MemoryDisk::Keep> {
 protected:
  /// Epochs until done or dead, as a new attempt writes them; tells what was confirmed, and what a restore of it must say.
  void work(Process& process, int epochs, Epoch& confirmed, std::map<std::uint64_t, std::string>& texts) {
    for (int i = 0; i < epochs; ++i) {
      const std::uint64_t epoch = process.decided.epoch.value() + 1;
      const bool all = i % 3 == 0;
      texts[epoch] = all ? fmt::format("all of {}", epoch) : texts[epoch - 1] + fmt::format(", changes of {}", epoch);
      const Result<Decision> written = process.write(epoch, handed_over(epoch, all ? 0 : epoch - 1));
      if (!written.ok() || !process.decide(*written).ok()) return;
      confirmed = written->epoch;
      if (!process.loop.run(process.store->collect(process.decided, 1)).ok()) return;
    }
  }
};

TEST_P(StoreChangesCrash, BeforeAnyCallLeavesTheDecidedCheckpointWhole) {
  std::uint64_t all_calls = 0;
  for (std::uint64_t stop = 0; all_calls == 0 || stop < all_calls; ++stop) {
    disk_ = std::make_shared<MemoryDisk>();
    files_ = MemoryFiles(disk_);
    Epoch confirmed(0);
    std::map<std::uint64_t, std::string> texts;
    disk_->stop_after(stop);
    {
      Process process(files_, kDirectory);
      if (process.start().ok()) work(process, 5, confirmed, texts);
      if (confirmed == Epoch(5)) all_calls = disk_->changes();
    }
    disk_->crash(GetParam());
    Process process(files_, kDirectory);
    ASSERT_TRUE(process.start().ok()) << stop;
    ASSERT_GE(process.decided.epoch, confirmed) << stop;
    if (process.decided.epoch > Epoch(0)) {
      const auto read = process.loop.run(process.store->read(process.decided));
      ASSERT_TRUE(read.ok()) << "stopped before call " << stop << ": " << read.status().to_string();
      ASSERT_EQ(read_back(*read, 0), texts[process.decided.epoch.value()]) << stop;
    }
    work(process, 3, confirmed, texts);
    ASSERT_EQ(entries().size(), 1u) << stop;
    ASSERT_EQ(read_back(read(process), 1), texts[process.decided.epoch.value()]) << stop;
  }
  EXPECT_GT(all_calls, 100u);
}
INSTANTIATE_TEST_SUITE_P(PowerCut, StoreChangesCrash,
                         testing::Values(MemoryDisk::Keep::kSynced, MemoryDisk::Keep::kEntries, MemoryDisk::Keep::kData));

}  // namespace
}  // namespace sluice::checkpoint
