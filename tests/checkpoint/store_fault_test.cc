// Goal: a checkpoint whose disk fails is no checkpoint, the older ones stay good, and the job goes
// on (case S44). Method: every call of a write fails once, in every way; then the next epoch is
// written on the recovered disk.
#include "store_fixture.h"

namespace sluice::checkpoint {
namespace {

struct FaultCase {
  std::string name;
  Code code;
  bool torn;
  bool for_good;  // From the n-th call on all calls fail, removals too.
};
class StoreFault : public StoreTest, public testing::WithParamInterface<FaultCase> {};

TEST_P(StoreFault, AtEveryCallLeavesTheOlderOnesGoodAndNothingThatLooksWhole) {
  const FaultCase& fault = GetParam();
  int failed = 0;
  for (std::uint64_t nth = 0;; ++nth) {
    disk_ = std::make_shared<MemoryDisk>();
    files_ = MemoryFiles(disk_);
    Process process(files_, kDirectory);
    ASSERT_TRUE(process.start().ok());
    ASSERT_TRUE(process.epoch(1, sample(1)).ok());
    const auto before = disk_->all();
    std::uint64_t calls = 0;
    disk_->set_torn(fault.torn);
    disk_->set_fault([&](const std::string&, const Path& path) {
      const bool strikes = fault.for_good ? calls >= nth : calls == nth;
      ++calls;
      return strikes ? Status(fault.code, "fault on", path.string()) : Status();
    });
    const Result<Decision> written = process.write(2, sample(2));
    disk_->set_fault(nullptr);
    if (calls <= nth) {
      ASSERT_TRUE(written.ok()) << written.status().to_string();
      break;  // The write has no more calls to fail.
    }
    ++failed;
    ASSERT_EQ(written.code(), fault.code) << "call " << nth;
    EXPECT_NE(written.status().message().find("fault on"), std::string::npos);
    for (const Store::Entry& entry : entries()) {
      // Where the disk is gone for good behind the rename, nothing can be taken back; but nobody
      // knows its digest.
      EXPECT_FALSE(entry.name.epoch == Epoch(2) && !fault.for_good && entry.complete)
          << "call " << nth;
    }
    for (const auto& [path, bytes] : before) ASSERT_EQ(disk_->all().at(path), bytes);
    const auto previous = process.loop.run(process.store->read(process.decided));
    ASSERT_TRUE(previous.ok());
    EXPECT_TRUE(same(*previous, sample(1)));
    // The epoch merges into the next one.
    ASSERT_TRUE(process.epoch(3, sample(3)).ok()) << "call " << nth;
    const auto next = process.loop.run(process.store->read(process.decided));
    ASSERT_TRUE(next.ok());
    EXPECT_TRUE(same(*next, sample(3)));
    ASSERT_EQ(entries().size(), 2u) << "rubbish of epoch 2 stays, call " << nth;
  }
  EXPECT_GE(failed, 14);
}

TEST_P(StoreFault, OfTheDecisionNeverLosesWhatWasDecided) {
  const FaultCase& fault = GetParam();
  for (std::uint64_t nth = 0;; ++nth) {
    disk_ = std::make_shared<MemoryDisk>();
    files_ = MemoryFiles(disk_);
    std::uint64_t calls = 0;
    bool renamed = false;
    {
      Process process(files_, kDirectory);
      ASSERT_TRUE(process.start().ok());
      ASSERT_TRUE(process.epoch(1, sample(1)).ok());
      const Result<Decision> two = process.write(2, sample(2));
      ASSERT_TRUE(two.ok());
      disk_->set_torn(fault.torn);
      disk_->set_fault([&](const std::string& call, const Path& path) {
        const bool strikes = fault.for_good ? calls >= nth : calls == nth;
        ++calls;
        renamed = renamed || call == "rename";
        return strikes ? Status(fault.code, "fault on", path.string()) : Status();
      });
      const Status decided = process.decide(*two);
      disk_->set_fault(nullptr);
      if (calls <= nth) {
        ASSERT_TRUE(decided.ok());
        break;
      }
      // From the rename on nobody knows; before it, everybody does.
      ASSERT_EQ(decided.code(), renamed ? Code::kRecover : fault.code);
    }
    Process process(files_, kDirectory);
    ASSERT_TRUE(process.start().ok());
    ASSERT_GE(process.decided.epoch, Epoch(1));
    ASSERT_TRUE(renamed || process.decided.epoch == Epoch(1));
    const auto read = process.loop.run(process.store->read(process.decided));
    ASSERT_TRUE(read.ok());
    EXPECT_TRUE(same(*read, sample(process.decided.epoch.value())));
  }
}

INSTANTIATE_TEST_SUITE_P(Disk, StoreFault,
                         testing::Values(FaultCase{"no_space", Code::kExhausted, false, false},
                                         FaultCase{"no_space_torn", Code::kExhausted, true, false},
                                         FaultCase{"io_error", Code::kRecover, false, false},
                                         FaultCase{"io_error_torn", Code::kRecover, true, false},
                                         FaultCase{"not_writable_any_more", Code::kInvalid, false,
                                                   false},
                                         FaultCase{"gone_for_good", Code::kRecover, true, true}),
                         [](const auto& value) { return value.param.name; });

TEST_F(StoreTest, StartsOnAFullDiskThatItKnows) {
  { ASSERT_TRUE(Process(files_, kDirectory).start().ok()); }
  disk_->set_fault([](const std::string& call, const Path& path) {
    return call == "write" && path.filename() == "JOB.tmp" ? Status(Code::kExhausted, "no space")
                                                           : Status();
  });
  EXPECT_TRUE(Process(files_, kDirectory).start().ok());
}

}  // namespace
}  // namespace sluice::checkpoint
