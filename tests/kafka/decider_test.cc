// Goal: what the registers say is what happened, whoever crashes, is paused, late or second; and
// whoever cannot go on says why. Method: instances of the decider against the broker model, step by
// step, with its knobs for lost, late and refused requests.
#include "kafka_fixture.h"

namespace sluice::kafka {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kDigest = "0123456789abcdef0123456789abcdef";

class DeciderTest : public KafkaTest {
 protected:
  /// One attempt of one process.
  struct Instance {
    std::unique_ptr<Attempt> attempt;
    std::shared_ptr<internal::KafkaInputs> inputs;
    std::shared_ptr<TransactionDecider> decider;
    TransactionDecider* operator->() const { return decider.get(); }
  };
  struct Tweak {
    std::string job_id = "rides";
    std::chrono::milliseconds transaction_timeout = 60s;
    std::chrono::nanoseconds recovery_max = 5s;
    std::uint64_t taint_every = 0;
  };
  Instance instance() { return instance(Tweak()); }
  Instance claimed() { return claimed(Tweak()); }
  Instance instance(Tweak tweak) {
    Instance made;
    made.attempt = attempt(tweak.job_id, "rides");
    auto cluster = internal::Cluster::use(*made.attempt, "model:9092", {}, client());
    EXPECT_TRUE(cluster.ok());
    made.inputs = internal::kafka_inputs(*made.attempt, "model");
    TransactionDecider::Options options;
    options.place = *register_place("rides");
    options.job_id = tweak.job_id;
    options.transactional_id = "sluice-rides";
    options.transaction_timeout = tweak.transaction_timeout;
    options.recovery_max = tweak.recovery_max;
    options.owner_wait = 1ms;
    options.taint_every = tweak.taint_every;
    made.decider = std::make_shared<TransactionDecider>(options, *cluster, made.inputs,
                                                        shards_->control().executor(), metrics_);
    EXPECT_TRUE(made.decider->open().ok());
    made_.push_back(made.decider);
    return made;
  }
  /// Closed by the test or here; never by the protocol, as a crash would not do it either.
  ~DeciderTest() override {
    broker_.set_reachable(true);
    for (const auto& decider : made_) static_cast<void>(wait(decider->close()).ok());
  }

  Instance claimed(Tweak tweak) {
    Instance made = instance(tweak);
    const Result<Decision> claim = wait(made->claim());
    EXPECT_TRUE(claim.ok()) << claim.status().message();
    return made;
  }
  Decision next(const Instance& of, std::uint64_t epoch) {
    Decision decision;
    decision.epoch = Epoch(epoch);
    decision.writer = of->claim_id();
    decision.digest = kDigest;
    return decision;
  }
  Status decide(const Instance& of, std::uint64_t epoch,
                std::vector<SplitPosition> positions = {}) {
    const Status begun = wait(of->begin(Epoch(epoch)));
    if (!begun.ok()) return begun;
    const Status delivered = wait(of->delivered());
    if (!delivered.ok()) return delivered;
    return wait(of->decide(next(of, epoch), std::move(positions)));
  }
  Decision read() {
    const Instance reader = instance();
    const Result<Decision> decision = wait(reader->read());
    EXPECT_TRUE(decision.ok()) << decision.status().message();
    return decision.ok() ? *decision : Decision{};
  }
  std::vector<std::shared_ptr<TransactionDecider>> made_;
};

// ---- the way it goes ----

TEST_F(DeciderTest, ANewJobHasNoDecisionAndMakesItsTopic) {
  const Instance first = instance();
  const Result<Decision> before = wait(first->read());
  ASSERT_TRUE(before.ok()) << before.status().message();
  EXPECT_EQ(before->epoch, Epoch(0));
  EXPECT_TRUE(before->writer.nil());
  const Result<Decision> claimed = wait(first->claim());
  ASSERT_TRUE(claimed.ok()) << claimed.status().message();
  EXPECT_EQ(claimed->epoch, Epoch(0));
  EXPECT_FALSE(first->claim_id().nil());
  // Decision 0 is written down: from now on a register that is missing was lost.
  EXPECT_EQ(read().writer, first->claim_id());
}

TEST_F(DeciderTest, TheNextInstanceFindsWhatTheLastOneDecided) {
  const Instance first = claimed();
  ASSERT_TRUE(decide(first, 1).ok());
  ASSERT_TRUE(wait(first->settle(next(first, 1))).ok());
  ASSERT_TRUE(decide(first, 2).ok());
  const Instance second = instance();
  const Result<Decision> found = wait(second->claim());
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->epoch, Epoch(2));
  EXPECT_EQ(found->writer, first->claim_id());
  EXPECT_EQ(found->digest, kDigest);
  EXPECT_NE(second->claim_id(), first->claim_id());
  EXPECT_EQ(metrics_.value("sluice_kafka_transactions_committed_total"), 2u);
}

TEST_F(DeciderTest, ClaimingTwiceGivesTwoNames) {
  const Instance one = claimed();
  const Uuid before = one->claim_id();
  ASSERT_TRUE(wait(one->claim()).ok());
  EXPECT_NE(one->claim_id(), before);
}

TEST_F(DeciderTest, AMergedEpochIsDecidedUnderTheLaterNumber) {
  const Instance one = claimed();
  ASSERT_TRUE(wait(one->begin(Epoch(1))).ok());
  ASSERT_TRUE(wait(one->delivered()).ok());
  ASSERT_TRUE(wait(one->decide(next(one, 3), {})).ok());
  EXPECT_EQ(read().epoch, Epoch(3));
}

TEST_F(DeciderTest, PositionsAreCarriedByTheDecisionAndShownToLagTools) {
  broker_.create_topic("in", 2);
  const Instance one = claimed();
  one.inputs->partitions = {{"in", 0}, {"in", 1}};
  one.inputs->sources["events"].group = "users-group";
  const std::vector<SplitPosition> positions{{"events", {"in", 0}, Offset(2)},
                                             {"events", {"in", 1}, Offset(1)}};
  EXPECT_TRUE(one->carries(positions));
  ASSERT_TRUE(wait(one->begin(Epoch(1))).ok());
  Decision decision = next(one, 1);
  decision.positions_only = true;
  decision.digest.clear();
  ASSERT_TRUE(wait(one->decide(decision, positions)).ok());
  EXPECT_EQ(broker_.committed("users-group", {"in", 0}).offset, 2);
  EXPECT_EQ(broker_.committed("users-group", {"in", 1}).offset, 1);

  const Instance second = instance();
  second.inputs->partitions = {{"in", 0}, {"in", 1}};
  const Result<Decision> found = wait(second->claim());
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_TRUE(found->positions_only);
  EXPECT_EQ(found->positions, positions);

  // An operator resets one of them.
  broker_.set_committed("sluice-rides", {{"in", 0}, 0, {}});
  const Instance third = instance();
  third.inputs->partitions = {{"in", 0}, {"in", 1}};
  const Result<Decision> changed = wait(third->read());
  EXPECT_EQ(changed.code(), Code::kCorrupt);
  EXPECT_THAT(std::string(changed.status().message()),
              AllOf(HasSubstr("topic in partition 0"), HasSubstr("--reset-decision")));
}

TEST_F(DeciderTest, CarriesOnlyWhatIsOnThisClusterAndOnlyOnce) {
  const Instance one = instance();
  one.inputs->partitions = {{"in", 0}};
  one.inputs->sources["events"] = {};
  EXPECT_TRUE(one->carries({}));
  one.inputs->sources["pattern"].carried = false;
  EXPECT_FALSE(one->carries({{"pattern", {"in", 0}, Offset(1)}}));
  EXPECT_FALSE(one->carries({{"file", {"in", 0}, Offset(1)}}));
  EXPECT_FALSE(one->carries({{"events", {"in", 1}, Offset(1)}}));
  EXPECT_FALSE(one->carries({{"events", {"in", 0}, Offset(1)}, {"events", {"in", 0}, Offset(2)}}));
}

// ---- somebody else ----

TEST_F(DeciderTest, AnotherJobIsRefusedAndNobodyIsFenced) {
  const Instance theirs = claimed();
  ASSERT_TRUE(decide(theirs, 1).ok());
  const int before = broker_.producer_epoch("sluice-rides");
  const Instance ours = instance({.job_id = "drives"});
  const Result<Decision> refused = wait(ours->claim());
  EXPECT_EQ(refused.code(), Code::kCorrupt);
  EXPECT_THAT(std::string(refused.status().message()),
              AllOf(HasSubstr("\"rides\""), HasSubstr("\"drives\"")));
  EXPECT_EQ(broker_.producer_epoch("sluice-rides"), before);
  ASSERT_TRUE(decide(theirs, 2).ok());
}

TEST_F(DeciderTest, TheOlderInstanceLearnsThatItIsNoLongerTheOwner) {
  const Instance older = claimed();
  ASSERT_TRUE(wait(older->begin(Epoch(1))).ok());
  const Instance newer = claimed();
  EXPECT_FALSE(older->fenced());
  EXPECT_EQ(wait(older->decide(next(older, 1), {})).code(), Code::kRecover);
  EXPECT_TRUE(older->fenced());
  EXPECT_FALSE(newer->fenced());
  const Status owner = wait(older->still_owner());
  EXPECT_EQ(owner.code(), Code::kFenced);
  EXPECT_EQ(owner.exit_status(), ExitStatus::kFenced);
  EXPECT_THAT(std::string(owner.message()), HasSubstr(newer->claim_id().to_string()));
  EXPECT_TRUE(wait(newer->still_owner()).ok());
  EXPECT_EQ(read().epoch, Epoch(0));
}

TEST_F(DeciderTest, ATransactionThatTimedOutIsNotAnotherInstance) {
  const Instance one = claimed();
  ASSERT_TRUE(decide(one, 1).ok());
  ASSERT_TRUE(wait(one->begin(Epoch(2))).ok());
  ASSERT_TRUE(wait(one->producer().send_offsets("any", {{{"sluice-rides-decisions", 0}, 1, {}}},
                                                clock().now() + 5s))
                  .ok());
  broker_.expire_transactions();
  EXPECT_EQ(wait(one->decide(next(one, 2), {})).code(), Code::kRecover);
  EXPECT_TRUE(one->fenced());
  EXPECT_TRUE(wait(one->still_owner()).ok());
  EXPECT_EQ(read().epoch, Epoch(1));
}

TEST_F(DeciderTest, WhatAPredecessorLeftOpenDoesNotHoldTheNextOneUp) {
  const Instance dead = claimed();
  ASSERT_TRUE(decide(dead, 1).ok());
  ASSERT_TRUE(wait(dead->begin(Epoch(2))).ok());
  // It dies between send-offsets and commit: nobody can read the registers until its transaction is
  // gone.
  const Decision lost = next(dead, 2);
  const DecisionRegister reg{"rides", lost.epoch, lost.writer, lost.digest, {}, false};
  ASSERT_TRUE(wait(dead->producer().send_offsets(
                       "sluice-rides", {encode(*register_place("rides"), reg)}, clock().now() + 5s))
                  .ok());
  const auto started = clock().now();
  const Instance next_one = instance();
  const Result<Decision> found = wait(next_one->read());
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->epoch, Epoch(1));
  ASSERT_TRUE(wait(next_one->claim()).ok());
  EXPECT_LT(clock().now() - started, 2s);
  EXPECT_TRUE(wait(next_one->still_owner()).ok());
}

TEST_F(DeciderTest, OnesOwnOpenTransactionIsNotAnotherInstance) {
  const Instance one = claimed();
  ASSERT_TRUE(wait(one->begin(Epoch(1))).ok());
  const DecisionRegister reg{"rides", Epoch(1), one->claim_id(), kDigest, {}, false};
  ASSERT_TRUE(wait(one->producer().send_offsets(
                       "sluice-rides", {encode(*register_place("rides"), reg)}, clock().now() + 5s))
                  .ok());
  EXPECT_TRUE(wait(one->still_owner()).ok());
}

// ---- the network ----

TEST_F(DeciderTest, ACommitWhoseAnswerIsLostIsResumed) {
  const Instance one = claimed();
  broker_.lose_answer(ModelRequest::kEndTxn, 2);
  const Status decided = decide(one, 1);
  ASSERT_TRUE(decided.ok()) << decided.message();
  EXPECT_EQ(broker_.faults_left(), 0u);
  EXPECT_EQ(read().epoch, Epoch(1));
}

TEST_F(DeciderTest, ACoordinatorThatMovesIsWaitedFor) {
  const Instance one = claimed();
  broker_.refuse(ModelRequest::kAddOffsets, 2);
  broker_.refuse(ModelRequest::kTxnOffsetCommit, 2);
  broker_.refuse(ModelRequest::kEndTxn, 2);
  const Status decided = decide(one, 1);
  ASSERT_TRUE(decided.ok()) << decided.message();
  EXPECT_EQ(broker_.faults_left(), 0u);
}

TEST_F(DeciderTest, ACommitThatIsNeverAnsweredIsUnknownAndRecovered) {
  const Instance one = claimed({.transaction_timeout = 300ms});
  broker_.lose_answer(ModelRequest::kEndTxn, 1'000'000);
  EXPECT_EQ(decide(one, 1).code(), Code::kRecover);
  EXPECT_EQ(metrics_.value("sluice_kafka_transactions_failed_total"), 1u);
  // It was committed all the same, as the registers tell.
  EXPECT_EQ(read().epoch, Epoch(1));
}

TEST_F(DeciderTest, AStaleAnswerDoesNotPassForAConfirmation) {
  const Instance one = claimed();
  ASSERT_TRUE(decide(one, 1).ok());
  broker_.depose_coordinator(3);
  ASSERT_TRUE(decide(one, 2).ok());
  const Instance second = instance();
  const Result<Decision> found = wait(second->claim());
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->epoch, Epoch(2));
}

TEST_F(DeciderTest, ATaintedTransactionIsFollowedByANewClaim) {
  const Instance one = claimed();
  const Uuid before = one->claim_id();
  ASSERT_TRUE(decide(one, 1).ok());
  broker_.close_connections();
  ASSERT_TRUE(wait(one->settle(next(one, 1))).ok());
  EXPECT_NE(one->claim_id(), before);
  EXPECT_GE(metrics_.value("sluice_tainted_transactions_total"), 1u);
  EXPECT_EQ(read().writer,
            before);  // The checkpoint's files keep the name under which they were written.
  ASSERT_TRUE(decide(one, 2).ok());
  EXPECT_EQ(read().writer, one->claim_id());
}

TEST_F(DeciderTest, AnUntaintedTransactionIsNot) {
  const Instance one = claimed();
  const Uuid before = one->claim_id();
  ASSERT_TRUE(decide(one, 1).ok());
  ASSERT_TRUE(wait(one->settle(next(one, 1))).ok());
  EXPECT_EQ(one->claim_id(), before);
  EXPECT_EQ(metrics_.value("sluice_tainted_transactions_total"), 0u);
}

TEST_F(DeciderTest, ATaintedClaimIsMadeAgainUnderAnotherName) {
  const Instance one = instance();
  broker_.lose_answer(ModelRequest::kEndTxn, 1, ModelResend::kLibrary);
  ASSERT_TRUE(wait(one->claim()).ok());
  EXPECT_GE(metrics_.value("sluice_tainted_transactions_total"), 1u);
  EXPECT_GE(metrics_.value("sluice_claims_total"), 2u);
  ASSERT_TRUE(decide(one, 1).ok());
}

TEST_F(DeciderTest, ALateCommitRequestDoesNotHitTheNextTransaction) {
  const Instance one = claimed();
  broker_.delay(ModelRequest::kEndTxn, 1, ModelResend::kLibrary);
  ASSERT_TRUE(decide(one, 1).ok());
  ASSERT_TRUE(wait(one->settle(next(one, 1))).ok());
  ASSERT_TRUE(wait(one->begin(Epoch(2))).ok());
  ASSERT_TRUE(wait(one->producer().send_offsets("any", {{{"sluice-rides-decisions", 0}, 1, {}}},
                                                clock().now() + 5s))
                  .ok());
  broker_.release_delayed();
  EXPECT_EQ(broker_.transaction_state("sluice-rides"), ModelTransactionState::kOngoing);
  ASSERT_TRUE(wait(one->decide(next(one, 2), {})).ok());
}

TEST_F(DeciderTest, TheFaultHookTaintsEveryNthEpoch) {
  const Instance one = claimed({.taint_every = 2});
  for (std::uint64_t epoch = 1; epoch <= 4; ++epoch) {
    const Uuid before = one->claim_id();
    const Decision decision = next(one, epoch);
    ASSERT_TRUE(decide(one, epoch).ok());
    ASSERT_TRUE(wait(one->settle(decision)).ok());
    EXPECT_EQ(one->claim_id() != before, epoch % 2 == 0);
  }
  EXPECT_EQ(metrics_.value("sluice_tainted_transactions_total"), 2u);
}

TEST_F(DeciderTest, AFailedDeliveryEndsTheAttempt) {
  broker_.create_topic("out", 1);
  const Instance one = claimed();
  ASSERT_TRUE(wait(one->begin(Epoch(1))).ok());
  const Result<TopicInfo> topic = wait(one->producer().topic("out"));
  ASSERT_TRUE(topic.ok());
  broker_.fail_deliveries();
  std::vector<OutRecord> records(1);
  records[0].topic = topic->handle;
  records[0].value = Bytes(std::string_view("x"));
  std::size_t too_large = 0;
  static_cast<void>(wait(one->producer().produce(records, &too_large)).ok());
  EXPECT_EQ(wait(one->delivered()).code(), Code::kRecover);
  EXPECT_TRUE(values("out").empty());
}

// ---- what a person must put right ----

TEST_F(DeciderTest, BrokersThatDoNotAnswerAreNamed) {
  const Instance one = instance({.recovery_max = 200ms});
  broker_.set_reachable(false);
  const Result<Decision> read = wait(one->read());
  EXPECT_EQ(read.code(), Code::kInvalid);
  EXPECT_EQ(read.status().exit_status(), ExitStatus::kUnavailable);
  EXPECT_THAT(std::string(read.status().message()), HasSubstr("model:9092"));
}

TEST_F(DeciderTest, ATopicOfRegistersWithOtherPartitionsIsRefused) {
  broker_.create_topic("sluice-rides-decisions", 1);
  const Result<Decision> read = wait(instance()->read());
  EXPECT_EQ(read.code(), Code::kInvalid);
  EXPECT_EQ(read.status().exit_status(), ExitStatus::kConfiguration);
  EXPECT_THAT(std::string(read.status().message()),
              AllOf(HasSubstr("sluice-rides-decisions"), HasSubstr("1 partitions")));
}

TEST_F(DeciderTest, FewerBrokersThanReplicasWillDo) {
  ModelBroker small({.brokers = 1});
  client_ = client_of(small);
  const Result<Decision> read = wait(instance()->read());
  EXPECT_TRUE(read.ok()) << read.status().message();
}

TEST_F(DeciderTest, MissingRightsAreToldApart) {
  static_cast<void>(wait(instance()->claim()).ok());
  broker_.deny(ModelResource::kGroup, "sluice-rides");
  const Result<Decision> no_group = wait(instance()->read());
  EXPECT_EQ(no_group.status().exit_status(), ExitStatus::kNoPermission);
  broker_.allow(ModelResource::kGroup, "sluice-rides");
  broker_.deny(ModelResource::kTransactionalId, "sluice-rides");
  const Result<Decision> no_id = wait(instance()->claim());
  EXPECT_EQ(no_id.status().exit_status(), ExitStatus::kNoPermission);
}

TEST_F(DeciderTest, TheUsersGroupMustNotBeThePrivateOne) {
  const Instance one = instance();
  one.inputs->groups.insert("sluice-rides");
  const Result<Decision> read = wait(one->read());
  EXPECT_EQ(read.code(), Code::kInvalid);
  EXPECT_THAT(std::string(read.status().message()), HasSubstr("sluice-rides"));
}

TEST_F(DeciderTest, ALostDecisionStopsTheJobUntilItIsReset) {
  const Instance one = claimed();
  ASSERT_TRUE(decide(one, 5).ok());
  const Instance later = claimed();  // What it knew when it claimed is all that is left then.
  broker_.set_committed("sluice-rides", {{"sluice-rides-decisions", 0}, -1, {}});
  const Instance second = instance();
  const Result<Decision> lost = wait(second->claim());
  EXPECT_EQ(lost.code(), Code::kCorrupt);
  EXPECT_THAT(std::string(lost.status().message()),
              AllOf(HasSubstr("knows of decision 5"), HasSubstr("--reset-decision")));
  const Instance third = instance();
  ASSERT_TRUE(wait(third->reset()).ok());
  const Result<Decision> again = wait(third->read());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->epoch, Epoch(0));
  EXPECT_FALSE(again->writer.nil());
  ASSERT_TRUE(wait(third->claim()).ok());
  ASSERT_TRUE(decide(third, 1).ok());
  EXPECT_EQ(read().epoch, Epoch(1));
}

TEST_F(DeciderTest, ADeletedGroupIsANewJobToTheRegisters) {
  // Whether that is right, the engine knows: it looks whether there are checkpoints.
  const Instance one = claimed();
  ASSERT_TRUE(decide(one, 5).ok());
  broker_.delete_group("sluice-rides");
  const Decision nothing = read();
  EXPECT_EQ(nothing.epoch, Epoch(0));
  EXPECT_TRUE(nothing.writer.nil());
}

}  // namespace
}  // namespace sluice::kafka
