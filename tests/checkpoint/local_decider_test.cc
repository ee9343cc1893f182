#include "store_fixture.h"

namespace sluice::checkpoint {
namespace {

class LocalDecision : public StoreTest {
 protected:
  void SetUp() override { ASSERT_TRUE(files_.create_directories(kDirectory).ok()); }
  const Path decided_ = Path(kDirectory) / "DECIDED";
};

Decision decision_of(std::uint64_t epoch, Uuid writer) {
  Decision decision;
  decision.epoch = Epoch(epoch);
  decision.writer = writer;
  decision.digest = digest_of(std::to_string(epoch));
  return decision;
}

TEST_F(LocalDecision, OfANewJobIsNothing) {
  LocalDecider decider(files_, kDirectory, "orders");
  const Result<Decision> read = run(decider.read());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->epoch, Epoch(0));
  EXPECT_TRUE(read->writer.nil());
  EXPECT_TRUE(disk_->all().empty());  // Reading changes nothing.
  const Result<Decision> claimed = run(decider.claim());
  ASSERT_TRUE(claimed.ok());
  EXPECT_EQ(claimed->epoch, Epoch(0));
  EXPECT_EQ(claimed->writer, decider.claim_id());
  EXPECT_EQ(decider.open_max(), std::nullopt);
  EXPECT_TRUE(run(decider.begin(Epoch(1))).ok());
  EXPECT_TRUE(run(decider.delivered()).ok());
  EXPECT_TRUE(run(decider.settle(*claimed)).ok());
  EXPECT_TRUE(run(decider.still_owner()).ok());
  EXPECT_TRUE(run(decider.close()).ok());
}

TEST_F(LocalDecision, IsRememberedAndEveryClaimHasANewName) {
  LocalDecider first(files_, kDirectory, "orders");
  ASSERT_TRUE(run(first.claim()).ok());
  const Uuid claim = first.claim_id();
  ASSERT_TRUE(run(first.decide(decision_of(1, claim), {})).ok());
  ASSERT_TRUE(run(first.decide(decision_of(7, claim), {})).ok());
  ASSERT_TRUE(run(first.claim()).ok());
  EXPECT_NE(first.claim_id(), claim);
  LocalDecider second(files_, kDirectory, "orders");
  const Result<Decision> claimed = run(second.claim());
  ASSERT_TRUE(claimed.ok());
  EXPECT_EQ(claimed->epoch, Epoch(7));
  EXPECT_EQ(claimed->writer, claim);
  EXPECT_EQ(claimed->digest, digest_of(std::string_view("7")));
  EXPECT_FALSE(claimed->positions_only);
  EXPECT_NE(second.claim_id(), first.claim_id());
}

TEST_F(LocalDecision, CarriesPositions) {
  LocalDecider decider(files_, kDirectory, "orders");
  ASSERT_TRUE(run(decider.claim()).ok());
  Decision decision;
  decision.epoch = Epoch(3);
  decision.writer = decider.claim_id();
  decision.positions_only = true;  // The digest is the decider's to fill in.
  decision.positions = sample(5).positions;
  EXPECT_TRUE(decider.carries(decision.positions));
  ASSERT_TRUE(run(decider.decide(decision, decision.positions)).ok());
  const Result<Decision> read = run(LocalDecider::peek(files_, kDirectory));
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(read->positions_only);
  EXPECT_EQ(read->positions, decision.positions);
  EXPECT_EQ(read->digest, digest_of(decision.positions));
}

TEST_F(LocalDecision, AnyDamageIsFoundAndNamed) {
  LocalDecider decider(files_, kDirectory, "orders");
  ASSERT_TRUE(run(decider.claim()).ok());
  Decision decision;
  decision.epoch = Epoch(3);
  decision.writer = decider.claim_id();
  decision.positions_only = true;
  decision.positions = sample(5).positions;
  ASSERT_TRUE(run(decider.decide(decision, {})).ok());
  const std::string whole = disk_->all().at(decided_.string());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::vector<std::string> variants = {whole.substr(0, at)};
    for (int bit = 0; bit < 8; ++bit) {
      variants.push_back(whole);
      variants.back()[at] = static_cast<char>(whole[at] ^ (1 << bit));
    }
    for (const std::string& bytes : variants) {
      disk_->put(decided_, bytes);
      const Status refused = run(decider.claim()).status();
      ASSERT_EQ(refused.code(), Code::kCorrupt) << at;
      ASSERT_EQ(refused.exit_status(), ExitStatus::kData);
      ASSERT_NE(refused.message().find("DECIDED"), std::string::npos);
      ASSERT_NE(refused.message().find("--reset-decision"), std::string::npos);
      ASSERT_EQ(disk_->all().at(decided_.string()), bytes);  // Kept for inspection.
    }
  }
}

TEST_F(LocalDecision, OfAnotherJobIsRefused) {
  LocalDecider decider(files_, kDirectory, "orders");
  ASSERT_TRUE(run(decider.claim()).ok());
  LocalDecider other(files_, kDirectory, "payments");
  EXPECT_EQ(run(other.read()).code(), Code::kCorrupt);
  EXPECT_EQ(run(other.claim()).code(), Code::kCorrupt);
}

TEST_F(LocalDecision, ThatIsMissingAlthoughThereAreCheckpointsIsALoss) {
  {
    Process process(files_, kDirectory);
    ASSERT_TRUE(process.start().ok());
    ASSERT_TRUE(process.epoch(1, sample(1)).ok());
  }
  disk_->erase(decided_);
  LocalDecider decider(files_, kDirectory, "orders");
  const Status refused = run(decider.claim()).status();
  EXPECT_EQ(refused.code(), Code::kCorrupt);
  EXPECT_NE(refused.message().find("--reset-decision"), std::string::npos);
  EXPECT_EQ(disk_->all().count(decided_.string()), 0u);

  ASSERT_TRUE(run(decider.reset()).ok());
  const Result<Decision> read = run(decider.read());
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->epoch, Epoch(0));
  EXPECT_FALSE(read->writer.nil());  // Decided to be nothing, not missing.
  ASSERT_TRUE(run(decider.claim()).ok());
}

TEST_F(LocalDecision, ACrashBeforeTheFirstDecisionIsNoLoss) {
  {
    Process process(files_, kDirectory);
    ASSERT_TRUE(process.start().ok());
    ASSERT_TRUE(process.write(1, sample(1)).ok());
  }
  Process process(files_, kDirectory);
  ASSERT_TRUE(process.start().ok());
  EXPECT_EQ(process.decided.epoch, Epoch(0));
  EXPECT_FALSE(process.decided.writer.nil());
}

// Goal: a decision that a failed sync left in doubt is made certain before anybody builds on it.
TEST_F(LocalDecision, IsDurableOnceItWasClaimed) {
  {
    Process process(files_, kDirectory);
    ASSERT_TRUE(process.start().ok());
    ASSERT_TRUE(process.epoch(1, sample(1)).ok());
    const Result<Decision> two = process.write(2, sample(2));
    ASSERT_TRUE(two.ok());
    disk_->set_fault([renamed = false](const std::string& call, const Path&) mutable {
      renamed = renamed || call == "rename";
      return renamed && call == "syncdir" ? Status(Code::kRecover, "bad disk") : Status();
    });
    ASSERT_EQ(process.decide(*two).code(), Code::kRecover);
    disk_->set_fault(nullptr);
  }
  {
    Process process(files_, kDirectory);
    ASSERT_TRUE(process.start().ok());
    EXPECT_EQ(process.decided.epoch, Epoch(2));  // Seen, and from now on relied upon:
  }
  disk_->crash(MemoryDisk::Keep::kSynced);
  Process process(files_, kDirectory);
  ASSERT_TRUE(process.start().ok());
  EXPECT_EQ(process.decided.epoch, Epoch(2));
}

TEST_F(LocalDecision, WithoutSpaceIsForCertainNotMade) {
  LocalDecider decider(files_, kDirectory, "orders");
  ASSERT_TRUE(run(decider.claim()).ok());
  disk_->set_fault([](const std::string& call, const Path&) {
    return call == "write" ? Status(Code::kExhausted, "no space") : Status();
  });
  EXPECT_EQ(run(decider.decide(decision_of(1, decider.claim_id()), {})).code(), Code::kExhausted);
  EXPECT_EQ(run(decider.claim()).code(), Code::kRecover);
  disk_->set_fault(nullptr);
  EXPECT_TRUE(run(decider.claim()).ok());
  EXPECT_TRUE(run(decider.decide(decision_of(2, decider.claim_id()), {})).ok());
}

}  // namespace
}  // namespace sluice::checkpoint
