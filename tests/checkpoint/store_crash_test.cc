// Goal: whatever call the power cut comes before, the decided checkpoint is whole afterwards, and
// what decide() once confirmed stays decided (case S45). Method: a job of several epochs is stopped
// before each of its calls, on a disk that keeps what was synced, or that and more; then a new
// process recovers and goes on.
#include "store_fixture.h"
#include <algorithm>

namespace sluice::checkpoint {
namespace {

constexpr std::uint64_t kEpochs = 5;

/// Runs epochs until done or dead; tells what was confirmed.
void work(Process& process, std::uint64_t epochs, Epoch& confirmed) {
  for (std::uint64_t left = epochs; left > 0; --left) {
    const std::uint64_t epoch = process.decided.epoch.value() + 1;
    const Result<Decision> written = process.write(epoch, sample(epoch));
    if (!written.ok()) return;
    if (!process.decide(*written).ok()) return;
    confirmed = written->epoch;
    if (!process.loop.run(process.store->collect(process.decided, 2)).ok()) return;
  }
}

class StoreCrash : public StoreTest, public testing::WithParamInterface<MemoryDisk::Keep> {};

TEST_P(StoreCrash, BeforeAnyCallLeavesTheDecidedCheckpointWhole) {
  std::uint64_t all_calls = 0;
  for (std::uint64_t stop = 0; all_calls == 0 || stop < all_calls; ++stop) {
    disk_ = std::make_shared<MemoryDisk>();
    files_ = MemoryFiles(disk_);
    Epoch confirmed(0);
    disk_->stop_after(stop);
    {
      Process process(files_, kDirectory);
      if (process.start().ok()) work(process, kEpochs, confirmed);
      if (confirmed == Epoch(kEpochs)) all_calls = disk_->changes();
    }
    disk_->crash(GetParam());
    Process process(files_, kDirectory);
    const Status started = process.start();
    ASSERT_TRUE(started.ok()) << "stopped before call " << stop << ": " << started.to_string();
    ASSERT_GE(process.decided.epoch, confirmed) << "stopped before call " << stop;
    ASSERT_LE(process.decided.epoch, confirmed.next());
    if (process.decided.epoch > Epoch(0)) {
      const auto read = process.loop.run(process.store->read(process.decided));
      ASSERT_TRUE(read.ok()) << "stopped before call " << stop << ": " << read.status().to_string();
      ASSERT_TRUE(same(*read, sample(process.decided.epoch.value())));
    }
    // It goes on, and leaves no rubbish behind.
    const Epoch from = process.decided.epoch;
    work(process, 2, confirmed);
    ASSERT_EQ(process.decided.epoch.value(), from.value() + 2) << "stopped before call " << stop;
    ASSERT_EQ(entries().size(), 2u) << "stopped before call " << stop;
    for (const Store::Entry& entry : entries()) ASSERT_TRUE(entry.complete) << entry.reason;
  }
  EXPECT_GT(all_calls, 100u);
}

// The same, with a second power cut during the recovery and the epochs behind it.
TEST_P(StoreCrash, TwiceLeavesTheDecidedCheckpointWhole) {
  for (std::uint64_t first = 0; first < 120; first += 7) {
    for (std::uint64_t second = 0; second < 60; ++second) {
      disk_ = std::make_shared<MemoryDisk>();
      files_ = MemoryFiles(disk_);
      Epoch confirmed(0);
      for (const std::uint64_t stop : {first, second}) {
        disk_->stop_after(stop);
        {
          Process process(files_, kDirectory);
          if (process.start().ok()) work(process, kEpochs, confirmed);
        }
        disk_->crash(GetParam());
      }
      Process process(files_, kDirectory);
      ASSERT_TRUE(process.start().ok()) << first << ' ' << second;
      ASSERT_GE(process.decided.epoch, confirmed) << first << ' ' << second;
      if (process.decided.epoch == Epoch(0)) continue;
      const auto read = process.loop.run(process.store->read(process.decided));
      ASSERT_TRUE(read.ok()) << first << ' ' << second << ": " << read.status().to_string();
      ASSERT_TRUE(same(*read, sample(process.decided.epoch.value())));
    }
  }
}

std::string name_of(const testing::TestParamInfo<MemoryDisk::Keep>& keep) {
  switch (keep.param) {
    case MemoryDisk::Keep::kSynced:
      return "keeps_what_was_synced";
    case MemoryDisk::Keep::kEntries:
      return "keeps_entries_too";
    case MemoryDisk::Keep::kData:
      return "keeps_data_too";
  }
  return "?";
}
INSTANTIATE_TEST_SUITE_P(PowerCut, StoreCrash,
                         testing::Values(MemoryDisk::Keep::kSynced, MemoryDisk::Keep::kEntries,
                                         MemoryDisk::Keep::kData),
                         name_of);

// Goal: the power-cut tests can fail. Method: a disk that confirms syncs without doing them must be
// found out.
TEST_F(StoreTest, ADiskThatLiesAboutSyncsIsFoundOutByThePowerCut) {
  {
    Process process(files_, kDirectory);
    ASSERT_TRUE(process.start().ok());
    disk_->set_lying(true);
    const Result<Decision> written = process.write(1, sample(1));
    ASSERT_TRUE(written.ok());
    disk_->set_lying(false);
    ASSERT_TRUE(process.decide(*written).ok());
  }
  disk_->crash(MemoryDisk::Keep::kEntries);
  Process process(files_, kDirectory);
  ASSERT_TRUE(process.start().ok());
  ASSERT_EQ(process.decided.epoch, Epoch(1));
  EXPECT_EQ(process.loop.run(process.store->read(process.decided)).code(), Code::kCorrupt);
}

TEST_F(StoreTest, EverythingIsSyncedInOrderBeforeTheDecision) {
  Process process(files_, kDirectory);
  ASSERT_TRUE(process.start().ok());
  for (std::uint64_t epoch = 1; epoch <= 20; ++epoch) {
    disk_->trace.clear();
    ASSERT_TRUE(process.epoch(epoch, sample(epoch), 100).ok());
    const std::string at = CheckpointName{Epoch(epoch), process.decider.claim_id()}.directory();
    const std::string root = std::string(kDirectory) + "/";
    std::vector<std::string> wanted = {"mkdir " + root + at};
    for (const char* file : {"/state-00000.snap", "/state-00001.snap"}) {
      wanted.push_back("create " + root + at + file);
      wanted.push_back("write " + root + at + file);
      wanted.push_back("sync " + root + at + file);
    }
    for (const std::string& step :
         {"create " + root + at + "/MANIFEST.tmp", "write " + root + at + "/MANIFEST.tmp",
          "sync " + root + at + "/MANIFEST.tmp", "rename " + root + at + "/MANIFEST",
          "syncdir " + root + at, "syncdir " + std::string(kDirectory),
          "create " + root + "DECIDED.tmp", "write " + root + "DECIDED.tmp",
          "sync " + root + "DECIDED.tmp", "rename " + root + "DECIDED",
          "syncdir " + std::string(kDirectory)}) {
      wanted.push_back(step);
    }
    auto trace = disk_->trace;
    trace.erase(std::unique(trace.begin(), trace.end()),
                trace.end());  // A file is written in several calls.
    ASSERT_EQ(trace, wanted);
  }
}

}  // namespace
}  // namespace sluice::checkpoint
