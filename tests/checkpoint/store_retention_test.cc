#include "store_fixture.h"

namespace sluice::checkpoint {
namespace {

class StoreRetention : public StoreTest {
 protected:
  std::vector<std::uint64_t> epochs() {
    std::vector<std::uint64_t> numbers;
    for (const Store::Entry& entry : entries()) numbers.push_back(entry.name.epoch.value());
    return numbers;
  }
};

using Epochs = std::vector<std::uint64_t>;

TEST_F(StoreRetention, KeepsTheNewestDecidedOnes) {
  Process process(files_, kDirectory);
  ASSERT_TRUE(process.start().ok());
  for (std::uint64_t epoch = 1; epoch <= 10; ++epoch)
    ASSERT_TRUE(process.epoch(epoch, sample(epoch), 3).ok());
  EXPECT_EQ(epochs(), (Epochs{8, 9, 10}));
  ASSERT_TRUE(process.epoch(11, sample(11), 1).ok());
  EXPECT_EQ(epochs(), (Epochs{11}));
  ASSERT_TRUE(process.epoch(12, sample(12), 0).ok());  // The decided one always stays.
  EXPECT_EQ(epochs(), (Epochs{12}));
  for (std::uint64_t epoch = 13; epoch <= 16; ++epoch)
    ASSERT_TRUE(process.epoch(epoch, sample(epoch), 100).ok());
  EXPECT_EQ(epochs(), (Epochs{12, 13, 14, 15, 16}));
}

TEST_F(StoreRetention, RemembersAcrossProcessesWhichOnesWereDecided) {
  Decision decided;
  for (std::uint64_t epoch = 1; epoch <= 4; ++epoch) {
    Process process(files_, kDirectory);
    ASSERT_TRUE(process.start().ok());
    ASSERT_TRUE(process.loop.run(process.store->read(process.decided)).ok());
    ASSERT_TRUE(process.epoch(epoch, sample(epoch), 3).ok());
  }
  EXPECT_EQ(epochs(), (Epochs{2, 3, 4}));
  // Also where the process never read what it builds on.
  Process process(files_, kDirectory);
  ASSERT_TRUE(process.start().ok());
  ASSERT_TRUE(process.epoch(5, sample(5), 3).ok());
  EXPECT_EQ(epochs(), (Epochs{3, 4, 5}));
}

TEST_F(StoreRetention, OthersThatNobodyDecidedGoOnceTheirEpochIsDecided) {
  {
    Process first(files_, kDirectory);
    ASSERT_TRUE(first.start().ok());
    ASSERT_TRUE(first.epoch(1, sample(1)).ok());
    ASSERT_TRUE(first.write(2, sample(20)).ok());  // Written, not decided: the process dies.
    ASSERT_TRUE(first.write(3, sample(30)).ok());
    ASSERT_TRUE(first.write(5, sample(50)).ok());
  }
  Process second(files_, kDirectory);
  ASSERT_TRUE(second.start().ok());
  ASSERT_TRUE(second.loop.run(second.store->read(second.decided)).ok());
  EXPECT_EQ(epochs(), (Epochs{1, 2, 3, 5}));  // Nothing is deleted before a decision of one's own.
  ASSERT_TRUE(second.epoch(2, sample(2)).ok());
  EXPECT_EQ(epochs(),
            (Epochs{1, 2, 3, 5}));  // The other 2 is gone; what is above may be somebody else's.
  EXPECT_EQ(entries()[1].name.writer, second.decider.claim_id());
  ASSERT_TRUE(second.epoch(4, sample(4)).ok());
  EXPECT_EQ(epochs(), (Epochs{1, 2, 4, 5}));
  const auto read = second.loop.run(second.store->read(second.decided));
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(same(*read, sample(4)));
}

TEST_F(StoreRetention, SkippedEpochsAndUnfinishedOnesMakeNoDifference) {
  Process process(files_, kDirectory);
  ASSERT_TRUE(process.start().ok());
  for (const std::uint64_t epoch : {1, 4, 5, 9})
    ASSERT_TRUE(process.epoch(epoch, sample(epoch), 2).ok());
  const CheckpointName unfinished{Epoch(8), Uuid::make()};
  ASSERT_TRUE(files_.create_directories(Path(kDirectory) / unfinished.directory()).ok());
  disk_->put(Path(kDirectory) / unfinished.directory() / "state-00000.snap", "half");
  EXPECT_EQ(epochs(), (Epochs{5, 8, 9}));
  ASSERT_TRUE(process.epoch(10, sample(10), 2).ok());
  EXPECT_EQ(epochs(), (Epochs{9, 10}));
}

TEST_F(StoreRetention, LeavesAloneWhatIsNotACheckpoint) {
  Process process(files_, kDirectory);
  ASSERT_TRUE(process.start().ok());
  ASSERT_TRUE(files_.create_directories(Path(kDirectory) / "0-mine").ok());
  disk_->put(Path(kDirectory) / "0-mine/notes", "keep");
  disk_->put(Path(kDirectory) / "notes", "keep");
  for (std::uint64_t epoch = 1; epoch <= 3; ++epoch)
    ASSERT_TRUE(process.epoch(epoch, sample(epoch), 1).ok());
  EXPECT_EQ(disk_->all().at(std::string(kDirectory) + "/0-mine/notes"), "keep");
  EXPECT_EQ(disk_->all().at(std::string(kDirectory) + "/notes"), "keep");
}

TEST_F(StoreRetention, DeletesNothingWhereItDoesNotKnowWhatWasDecided) {
  Process process(files_, kDirectory);
  ASSERT_TRUE(process.start().ok());
  ASSERT_TRUE(process.epoch(1, sample(1)).ok());
  const Decision two = *process.write(2, sample(2));
  const auto before = disk_->all();
  EXPECT_TRUE(process.loop.run(process.store->collect(Decision(), 1)).ok());
  const Decision unknown{Epoch(2), Uuid::make(), two.digest, false, {}};
  EXPECT_EQ(process.loop.run(process.store->collect(unknown, 1)).code(), Code::kCorrupt);
  EXPECT_EQ(disk_->all(), before);
}

TEST_F(StoreRetention, ADeletionThatFailsIsToldAndTriedAgain) {
  Process process(files_, kDirectory);
  ASSERT_TRUE(process.start().ok());
  ASSERT_TRUE(process.epoch(1, sample(1)).ok());
  ASSERT_TRUE(process.epoch(2, sample(2)).ok());
  disk_->set_fault([](const std::string& call, const Path&) {
    return call == "remove" ? Status(Code::kRecover, "bad disk") : Status();
  });
  EXPECT_EQ(process.epoch(3, sample(3), 1).code(), Code::kRecover);
  EXPECT_EQ(process.decided.epoch, Epoch(3));
  disk_->set_fault(nullptr);
  ASSERT_TRUE(process.epoch(4, sample(4), 1).ok());
  EXPECT_EQ(epochs(), (Epochs{4}));
}

TEST_F(StoreRetention, AfterAResetTheOldEpochsGoWhenTheNewOnesReachThem) {
  {
    Process process(files_, kDirectory);
    ASSERT_TRUE(process.start().ok());
    for (const std::uint64_t epoch : {3, 4}) ASSERT_TRUE(process.epoch(epoch, sample(epoch)).ok());
    ASSERT_TRUE(process.loop.run(process.decider.reset()).ok());
    // In the same process, too, what is remembered of the old line is not the new one's past.
    process.decided = *process.loop.run(process.decider.claim());
    EXPECT_EQ(process.decided.epoch, Epoch(0));
    ASSERT_TRUE(process.epoch(1, sample(1)).ok());
    EXPECT_EQ(epochs(), (Epochs{1, 3, 4}));
  }
  Process process(files_, kDirectory);
  ASSERT_TRUE(process.start().ok());
  ASSERT_TRUE(process.epoch(3, sample(33)).ok());
  EXPECT_EQ(epochs(), (Epochs{1, 3, 4}));
  EXPECT_EQ(entries()[1].name.writer, process.decider.claim_id());
}

}  // namespace
}  // namespace sluice::checkpoint
