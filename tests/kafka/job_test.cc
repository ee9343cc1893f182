// Goal: a whole job keeps the protocol where its parts alone cannot show it: who restarts, from where,
// and with which end. Method: the real engine, threads and files; the broker is the model, so that
// timeouts, failures and topics that appear late happen when the test says.
#include "../support/jobs.h"
#include "kafka_fixture.h"

#include <sluice/engine/operators/number.h>
#include <sluice/kafka/sink.h>
#include <sluice/kafka/source.h>

#include <functional>
#include <thread>

namespace sluice::kafka {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using jobs_test::Directory;

class JobTest : public KafkaTest {
 protected:
  JobTest() { broker_.create_topic("out", 2); }
  SourceOptions in() {
    SourceOptions options;
    options.brokers = "model:9092";
    options.topics = {"in"};
    options.group = "readers";
    options.client = client();
    return options;
  }
  Job job(SourceOptions from, std::chrono::nanoseconds interval) {
    Job made{"copy"};
    made.checkpoint({.interval = interval, .directory = directory_.path});
    made.restart({.strategy = RestartOptions::Strategy::kFixedDelay, .delay = 1ms});
    SinkOptions to;
    to.brokers = "model:9092";
    to.topic = "out";
    to.client = client();
    made.from(source<Record>(std::move(from)), "in").to(sink<Record>(std::move(to)), "out");
    return made;
  }
  static Running start(Job job) {
    Result<Running> running = Engine().start(std::move(job));
    EXPECT_TRUE(running.ok()) << running.status().to_string();
    return *std::move(running);
  }
  void append(std::int32_t partition, const std::string& value) {
    broker_.append({"in", partition}, {.key = "k", .value = value});
  }
  /// Ends the test when it does not come true; nothing here depends on how long it takes.
  static void until(const std::function<bool()>& true_now) {
    for (int i = 0; i < 20'000 && !true_now(); ++i) std::this_thread::sleep_for(1ms);
    ASSERT_TRUE(true_now());
  }
  bool position_is(std::int32_t partition, std::int64_t offset) {
    return broker_.committed("readers", {"in", partition}).offset == offset;
  }
  bool in_transaction() {
    return broker_.transaction_state("sluice-copy") == ModelTransactionState::kOngoing;
  }

  Directory directory_;
};

// Two partitions, a barrier at positions (2,1), a crash behind it, a resume.
TEST_F(JobTest, ACrashBehindABarrierAtTwoAndOneResumesAtTwoAndOne) {
  broker_.create_topic("in", 2);
  append(0, "a1");
  append(0, "a2");
  append(1, "b1");
  Running running = start(job(in(), 5ms));
  until([&] { return position_is(0, 2) && position_is(1, 1); });
  EXPECT_THAT(values("out", 0), ElementsAre("a1", "a2"));
  EXPECT_THAT(values("out", 1), ElementsAre("b1"));
  // What follows the barrier is read and never delivered: the attempt fails with it in its hands.
  broker_.fail_deliveries(1);
  append(0, "a3");
  append(1, "b2");
  append(1, "b3");
  until([&] { return position_is(0, 3) && position_is(1, 3); });
  running.stop();
  ASSERT_TRUE(running.wait().ok());
  EXPECT_EQ(running.metrics().value("sluice_restarts_total"), 1u);
  EXPECT_THAT(values("out", 0), ElementsAre("a1", "a2", "a3"));
  EXPECT_THAT(values("out", 1), ElementsAre("b1", "b2", "b3"));
}

TEST_F(JobTest, FencedTwiceWithoutADecisionInBetweenGivesUpAndTheNextProcessGoesOn) {
  broker_.create_topic("in", 2);
  // One decision at the start, and no other in the time of this test.
  Running running = start(job(in(), 50s));
  until([&] { return running.metrics().value("sluice_checkpoints_completed_total") == 1; });
  int appended = 0;
  const auto more = [&] { append(0, "a" + std::to_string(++appended)); };
  const auto restarts = [&] { return running.metrics().value("sluice_restarts_total"); };
  for (std::uint64_t time = 0; time < 2; ++time) {
    more();
    until([&] { return in_transaction(); });
    // To the client a transaction that timed out and a newer instance look alike.
    broker_.expire_transactions();
    until([&] {
      more();
      return restarts() > time || running.done();
    });
  }
  const Status ended = running.wait();
  EXPECT_EQ(ended.exit_status(), ExitStatus::kFailed);
  EXPECT_THAT(std::string(ended.message()), HasSubstr("fenced twice"));
  EXPECT_EQ(running.metrics().value("sluice_restarts_total"), 1u);
  EXPECT_THAT(values("out", 0), ElementsAre());

  Running next = start(job(in(), 5ms));
  until([&] { return position_is(0, appended); });
  next.stop();
  EXPECT_TRUE(next.wait().ok());
  std::vector<std::string> all;
  for (int i = 1; i <= appended; ++i) all.push_back("a" + std::to_string(i));
  EXPECT_EQ(values("out", 0), all);
}

TEST_F(JobTest, FencedAgainAfterADecisionOfItsOwnGoesOn) {
  broker_.create_topic("in", 2);
  Running running = start(job(in(), 5ms));
  for (int time = 1; time <= 4; ++time) {
    // Held back, so that the transaction stays open until it is expired.
    broker_.hold_deliveries(true);
    append(0, "a" + std::to_string(time));
    until([&] { return in_transaction(); });
    broker_.expire_transactions();
    broker_.hold_deliveries(false);
    until([&] { return position_is(0, time); });
  }
  running.stop();
  EXPECT_TRUE(running.wait().ok());
  EXPECT_GE(running.metrics().value("sluice_restarts_total"), 1u);
  EXPECT_THAT(values("out", 0), ElementsAre("a1", "a2", "a3", "a4"));
}

TEST_F(JobTest, LatestIsNotAskedAgainForATopicThatAppearsAfterTheFirstCheckpoint) {
  const auto waiting = [&] {
    SourceOptions from = in();
    from.wait_for_topics = true;
    from.start = latest();
    from.discovery_interval = 1h;
    return from;
  };
  Running first = start(job(waiting(), 5ms));
  until([&] { return first.metrics().value("sluice_checkpoints_completed_total") >= 1; });
  first.stop();
  ASSERT_TRUE(first.wait().ok());
  // Born while the job is down: the job had started before, so none of this may be skipped.
  broker_.create_topic("in", 2);
  append(0, "a1");
  append(1, "b1");
  Running second = start(job(waiting(), 5ms));
  until([&] { return position_is(0, 1) && position_is(1, 1); });
  second.stop();
  ASSERT_TRUE(second.wait().ok());
  EXPECT_THAT(values("out", 0), ElementsAre("a1"));
  EXPECT_THAT(values("out", 1), ElementsAre("b1"));
}

TEST_F(JobTest, TopicsAreFoundWhileCheckpointsGoOn) {
  SourceOptions from = in();
  from.wait_for_topics = true;
  from.discovery_interval = 2ms;
  Running running = start(job(std::move(from), 2ms));
  until([&] { return running.metrics().value("sluice_checkpoints_completed_total") >= 1; });
  broker_.create_topic("in", 1);
  for (int i = 1; i <= 500; ++i) append(0, std::to_string(i));
  until([&] { return position_is(0, 500); });
  broker_.add_partitions("in", 2);
  append(1, "b1");
  until([&] { return position_is(1, 1); });
  running.stop();
  ASSERT_TRUE(running.wait().ok());
  EXPECT_EQ(values("out", 0).size(), 500u);
  EXPECT_THAT(values("out", 1), ElementsAre("b1"));
}

TEST_F(JobTest, ADrainThatFailsSaysSoAndLosesNothing) {
  broker_.create_topic("in", 2);
  Running running = start(job(in(), 50s));
  until([&] { return running.metrics().value("sluice_checkpoints_completed_total") == 1; });
  append(0, "a1");
  until([&] { return in_transaction(); });
  broker_.hold_deliveries(true);
  append(0, "a2");
  running.stop();
  until([&] { return running.state() == checkpoint::JobState::kDraining; });
  broker_.expire_transactions();
  broker_.hold_deliveries(false);
  const Status ended = running.wait();
  EXPECT_EQ(ended.exit_status(), ExitStatus::kFailed);
  EXPECT_THAT(std::string(ended.message()), HasSubstr("while draining"));

  Running next = start(job(in(), 5ms));
  until([&] { return position_is(0, 2); });
  next.stop();
  EXPECT_TRUE(next.wait().ok());
  EXPECT_THAT(values("out", 0), ElementsAre("a1", "a2"));
}

// ---- a topic deleted and made again, in a job that has more state than positions ----

class MadeAnewTest : public JobTest {
 protected:
  Job numbering(OutOfRange policy, bool wait_for_topics = false) {
    Job made{"copy"};
    made.checkpoint({.interval = 5ms, .directory = directory_.path});
    SourceOptions from = in();
    from.out_of_range = policy;
    from.wait_for_topics = wait_for_topics;
    from.discovery_interval = 5ms;
    SinkOptions to;
    to.brokers = "model:9092";
    to.topic = "out";
    to.client = client();
    const auto count = [](const Record& record, std::uint64_t, Arena&) { return record; };
    made.from(source<Record>(std::move(from)), "in")
        .process<Record>("number", number<Record, Record>(count))
        .to(sink<Record>(std::move(to)), "out");
    return made;
  }
  /// A job reads ten records; while it is down its topic is made anew, with more than that.
  void read_ten_and_make_anew() {
    broker_.create_topic("in", 1);
    for (int i = 1; i <= 10; ++i) append(0, "old" + std::to_string(i));
    Running running = start(numbering(OutOfRange::kFail));
    until([&] { return position_is(0, 10); });
    running.stop();
    ASSERT_TRUE(running.wait().ok());
    broker_.delete_topic("in");
    broker_.create_topic("in", 1);
    for (int i = 1; i <= 20; ++i) append(0, "new" + std::to_string(i));
  }
};

TEST_F(MadeAnewTest, BehindTheJobsBackStopsIt) {
  read_ten_and_make_anew();
  Running running = start(numbering(OutOfRange::kFail));
  const Status ended = running.wait();
  EXPECT_EQ(ended.exit_status(), ExitStatus::kData);
  EXPECT_THAT(std::string(ended.message()),
              testing::AllOf(HasSubstr("topic in partition 0"), HasSubstr("offset 10"),
                             HasSubstr("made anew"), HasSubstr("--reset-decision")));
  EXPECT_EQ(values("out").size(), 10u);
}

TEST_F(MadeAnewTest, StartsOverWhereThatWasChosen) {
  read_ten_and_make_anew();
  Running running = start(numbering(OutOfRange::kEarliest));
  until([&] { return position_is(0, 20); });
  running.stop();
  ASSERT_TRUE(running.wait().ok());
  EXPECT_EQ(values("out").size(), 30u);
}

TEST_F(MadeAnewTest, WhileTheJobWaitsForItIsFoundToo) {
  read_ten_and_make_anew();
  broker_.delete_topic("in");
  const auto waiting = [&] {
    Job made = numbering(OutOfRange::kFail, true);
    return made;
  };
  Running running = start(waiting());
  until([&] { return running.state() == checkpoint::JobState::kRunning; });
  broker_.create_topic("in", 1);
  for (int i = 1; i <= 20; ++i) append(0, "newer" + std::to_string(i));
  const Status ended = running.wait();
  EXPECT_EQ(ended.exit_status(), ExitStatus::kData);
  EXPECT_THAT(std::string(ended.message()), HasSubstr("made anew"));
  EXPECT_EQ(values("out").size(), 10u);
}

TEST_F(MadeAnewTest, ARestartOfTheSameTopicIsNotTakenForOne) {
  broker_.create_topic("in", 1);
  for (int round = 1; round <= 3; ++round) {
    append(0, std::to_string(round));
    Running running = start(numbering(OutOfRange::kFail));
    until([&] { return position_is(0, round) || running.done(); });
    running.stop();
    const Status ended = running.wait();
    ASSERT_TRUE(ended.ok()) << ended.to_string();
  }
  EXPECT_EQ(values("out").size(), 3u);
}

TEST_F(JobTest, AStopBetweenTwoAttemptsTellsWhyTheLastOneEnded) {
  broker_.create_topic("in", 2);
  Job made = job(in(), 5ms);
  made.restart({.strategy = RestartOptions::Strategy::kFixedDelay, .delay = 1h});
  Running running = start(std::move(made));
  until([&] { return running.metrics().value("sluice_checkpoints_completed_total") >= 1; });
  broker_.fail_deliveries(1);
  append(0, "a1");
  until([&] { return running.state() == checkpoint::JobState::kRestarting; });
  running.stop();
  const Status ended = running.wait();
  EXPECT_EQ(ended.exit_status(), ExitStatus::kFailed);
  EXPECT_THAT(std::string(ended.message()), HasSubstr("stopped before another attempt"));
}

TEST_F(JobTest, APatternThatMatchesEverythingDoesNotReadTheRegisters) {
  broker_.create_topic("in", 1);
  SourceOptions from = in();
  from.topics = {};
  from.topic_pattern = ".*in.*|sluice.*";
  from.discovery_interval = 2ms;
  Running running = start(job(std::move(from), 2ms));
  for (int i = 1; i <= 50; ++i) {
    append(0, std::to_string(i));
    until([&] { return position_is(0, i); });
  }
  running.stop();
  ASSERT_TRUE(running.wait().ok());
  EXPECT_EQ(values("out").size(), 50u);
}

TEST_F(JobTest, ASourceThatTheJobNoLongerHasIsNotForgottenInSilence) {
  broker_.create_topic("in", 1);
  append(0, "a1");
  Running first = start(job(in(), 5ms));
  until([&] { return position_is(0, 1); });
  first.stop();
  ASSERT_TRUE(first.wait().ok());
  Job renamed{"copy"};
  renamed.checkpoint({.interval = 5ms, .directory = directory_.path});
  SinkOptions to;
  to.brokers = "model:9092";
  to.topic = "out";
  to.client = client();
  renamed.from(source<Record>(in()), "input").to(sink<Record>(std::move(to)), "out");
  const Status ended = start(std::move(renamed)).wait();
  EXPECT_EQ(ended.exit_status(), ExitStatus::kData);
  EXPECT_THAT(std::string(ended.message()), HasSubstr("\"in\""));
}

}  // namespace
}  // namespace sluice::kafka
