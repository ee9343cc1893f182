#include <fmt/format.h>

#include "store_fixture.h"

namespace sluice::checkpoint {
namespace {

TEST_F(StoreTest, WhatWasWrittenIsReadByAnotherProcess) {
  Decision decided;
  {
    Process first(files_, kDirectory);
    ASSERT_TRUE(first.start().ok());
    ASSERT_TRUE(first.epoch(1, sample(1)).ok());
    ASSERT_TRUE(first.epoch(2, sample(2)).ok());
    decided = first.decided;
  }
  Process second(files_, kDirectory);
  ASSERT_TRUE(second.start().ok());
  EXPECT_EQ(second.decided.epoch, Epoch(2));
  EXPECT_EQ(second.decided.writer, decided.writer);
  EXPECT_TRUE(second.store->has(second.decided));
  EXPECT_TRUE(second.store->any());
  const auto read = second.loop.run(second.store->read(second.decided));
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_TRUE(same(*read, sample(2)));
}

TEST_F(StoreTest, AnEmptyCheckpointAndOneWithPositionsOnlyAreCheckpointsToo) {
  Process process(files_, kDirectory);
  ASSERT_TRUE(process.start().ok());
  CheckpointData positions;
  positions.positions = sample(1).positions;
  for (const auto& [epoch, data] : {std::pair(1, CheckpointData()), std::pair(2, positions)}) {
    ASSERT_TRUE(process.epoch(static_cast<std::uint64_t>(epoch), data).ok());
    const auto read = process.loop.run(process.store->read(process.decided));
    ASSERT_TRUE(read.ok());
    EXPECT_TRUE(same(*read, data));
  }
}

TEST_F(StoreTest, ADecisionThatCarriesItsPositionsNeedsNoFiles) {
  Process process(files_, kDirectory);
  ASSERT_TRUE(process.start().ok());
  Decision decision;
  decision.epoch = Epoch(9);
  decision.writer = process.decider.claim_id();
  decision.positions_only = true;
  decision.positions = sample(1).positions;
  EXPECT_TRUE(process.store->has(decision));
  EXPECT_FALSE(process.store->any());
  const auto read = process.loop.run(process.store->read(decision));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->positions, decision.positions);
  EXPECT_TRUE(read->positions_only());
  const auto nothing = process.loop.run(process.store->read(Decision()));
  ASSERT_TRUE(nothing.ok());
  EXPECT_TRUE(nothing->positions.empty());
}

TEST_F(StoreTest, TheSameEpochAndClaimAreNeverWrittenTwice) {
  Process process(files_, kDirectory);
  ASSERT_TRUE(process.start().ok());
  ASSERT_TRUE(process.write(1, sample(1)).ok());
  const auto before = disk_->all();
  const Result<Decision> again = process.write(1, sample(2));
  EXPECT_EQ(again.code(), Code::kInvalid);
  EXPECT_EQ(disk_->all(), before);
}

TEST_F(StoreTest, OnlyTheCheckpointThatWasDecidedIsOpened) {
  Process process(files_, kDirectory);
  ASSERT_TRUE(process.start().ok());
  const Decision one = *process.write(1, sample(1));
  const Decision other = *process.write(2, sample(2));
  for (const Decision& wrong : {Decision{one.epoch, one.writer, other.digest, false, {}},
                                Decision{Epoch(3), one.writer, one.digest, false, {}},
                                Decision{one.epoch, Uuid::make(), one.digest, false, {}}}) {
    const auto read = process.loop.run(process.store->read(wrong));
    EXPECT_EQ(read.code(), Code::kCorrupt);
    EXPECT_EQ(read.status().exit_status(), ExitStatus::kData);
  }
  EXPECT_FALSE(process.store->has({Epoch(3), one.writer, one.digest, false, {}}));
}

TEST_F(StoreTest, ADirectoryHasOneJob) {
  { ASSERT_TRUE(Process(files_, kDirectory, "orders").start().ok()); }
  const auto before = disk_->all();
  const Status refused = Process(files_, kDirectory, "payments").start();
  EXPECT_EQ(refused.code(), Code::kInvalid);
  EXPECT_EQ(refused.exit_status(), ExitStatus::kConfiguration);
  EXPECT_NE(refused.message().find("\"orders\""), std::string::npos) << refused.to_string();
  EXPECT_EQ(disk_->all(), before);
}

TEST_F(StoreTest, WithoutTheFileJobTheCheckpointsTellWhoseDirectoryItIs) {
  {
    Process process(files_, kDirectory, "orders");
    ASSERT_TRUE(process.start().ok());
    ASSERT_TRUE(process.epoch(1, sample(1)).ok());
  }
  disk_->erase(Path(kDirectory) / "JOB");
  EXPECT_EQ(Process(files_, kDirectory, "payments").start().exit_status(),
            ExitStatus::kConfiguration);
  EXPECT_TRUE(Process(files_, kDirectory, "orders").start().ok());
  EXPECT_EQ(Process(files_, kDirectory, "payments").start().exit_status(),
            ExitStatus::kConfiguration);
}

TEST_F(StoreTest, ADamagedJobFileIsNamed) {
  { ASSERT_TRUE(Process(files_, kDirectory).start().ok()); }
  const Path job = Path(kDirectory) / "JOB";
  const std::string whole = disk_->all().at(job.string());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    for (const std::string& bytes : {flipped, whole.substr(0, at)}) {
      disk_->put(job, bytes);
      const Status refused = Process(files_, kDirectory).start();
      ASSERT_EQ(refused.code(), Code::kCorrupt) << at;
      EXPECT_NE(refused.message().find("JOB"), std::string::npos);
      ASSERT_EQ(disk_->all().at(job.string()), bytes);
    }
  }
}

TEST_F(StoreTest, ASecondProcessIsRefusedUntilTheFirstIsGone) {
  auto first = std::make_unique<Process>(files_, kDirectory);
  ASSERT_TRUE(first->start().ok());
  const Status refused = Process(files_, kDirectory).start();
  EXPECT_EQ(refused.exit_status(), ExitStatus::kCannotCreate);
  EXPECT_TRUE(first->epoch(1, sample(1)).ok());
  first.reset();
  EXPECT_TRUE(Process(files_, kDirectory).start().ok());
}

// Case S40.
TEST_F(StoreTest, TheDirectoryCanBeMoved) {
  {
    Process process(files_, kDirectory);
    ASSERT_TRUE(process.start().ok());
    for (std::uint64_t epoch = 1; epoch <= 3; ++epoch)
      ASSERT_TRUE(process.epoch(epoch, sample(epoch)).ok());
  }
  for (const auto& [path, bytes] : disk_->all()) {
    EXPECT_EQ(bytes.find("/home"), std::string::npos) << path << " knows where it is";
  }
  ASSERT_TRUE(files_.create_directories("/mnt").ok());
  disk_->move(kDirectory, "/mnt/elsewhere");
  Decision newest;
  {
    Process moved(files_, "/mnt/elsewhere");
    ASSERT_TRUE(moved.start().ok());
    const auto read = moved.loop.run(moved.store->read(moved.decided));
    ASSERT_TRUE(read.ok()) << read.status().to_string();
    EXPECT_TRUE(same(*read, sample(3)));
    ASSERT_TRUE(moved.epoch(4, sample(4)).ok());
    newest = moved.decided;
  }
  // Everything but the new one is deleted: it stands on nothing older.
  const std::string keep = CheckpointName{newest.epoch, newest.writer}.directory();
  for (const auto& [path, bytes] : disk_->all()) {
    if (path.find(keep) == std::string::npos && path.find("DECIDED") == std::string::npos)
      disk_->erase(path);
  }
  Process again(files_, "/mnt/elsewhere");
  ASSERT_TRUE(again.start().ok());
  const auto read = again.loop.run(again.store->read(again.decided));
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_TRUE(same(*read, sample(4)));
}

TEST_F(StoreTest, ListTellsWhatIsThereAndInspectShowsIt) {
  Process process(files_, kDirectory);
  ASSERT_TRUE(process.start().ok());
  const Decision one = *process.write(1, sample(1));
  const Decision two = *process.write(2, sample(2));
  ASSERT_TRUE(files_.create_directories(Path(kDirectory) / "not-a-checkpoint").ok());
  disk_->erase(at(two) / "state-00001.snap");
  const auto listed = entries();  // While the job runs: no lock is needed.
  ASSERT_EQ(listed.size(), 2u);
  EXPECT_EQ(listed[0].name.epoch, Epoch(1));
  EXPECT_EQ(listed[0].digest, one.digest);
  EXPECT_TRUE(listed[0].complete) << listed[0].reason;
  std::uint64_t bytes = 0;
  for (const auto& [path, content] : disk_->all()) {
    if (path.find(at(one).string()) == 0) bytes += content.size();
  }
  EXPECT_EQ(listed[0].size_bytes, bytes);
  EXPECT_FALSE(listed[1].complete);
  EXPECT_NE(listed[1].reason.find("state-00001.snap"), std::string::npos);

  const auto shown = run(Store::inspect(files_, kDirectory, listed[0].name));
  ASSERT_TRUE(shown.ok());
  EXPECT_TRUE(same(shown->data, sample(1)));
  EXPECT_EQ(shown->manifest.shards, 2);
  EXPECT_EQ(shown->manifest.job_id, "orders");
  EXPECT_EQ(run(Store::inspect(files_, kDirectory, listed[1].name)).code(), Code::kCorrupt);
}

}  // namespace
}  // namespace sluice::checkpoint
