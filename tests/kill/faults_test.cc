// Goal: what a disk, a network, a broker or a second instance can do to a job changes neither what comes out nor its order.
// Method: the copy job with the stateful operator on a real broker, a fault, and the Java reader's verdict; each test asserts that its
//   fault really happened.
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <support/broker.h>
#include <support/process.h>
#include <support/proxy.h>

#include "run.h"

namespace sluice::testing {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

CopyRun::Options on_shared_broker(const std::string& name) {
  CopyRun::Options options;
  options.name = name;
  options.brokers = options.direct = SharedBroker::get().bootstrap();
  return options;
}

void expect_right(CopyRun& run) {
  const Verdict verdict = run.verify();
  EXPECT_TRUE(verdict.right) << verdict.text << run.log_tail();
}

TEST(Disk, SlowSyncsAndASmallHoldBufferHoldTheSourcesBack) {
  CopyRun::Options options = on_shared_broker("slow-disk");
  options.arguments = {"--hold-bytes", "65536"};
  options.environment = {"SLUICE_FILE_FAULTS=sync:slow=500ms"};
  CopyRun run(std::move(options));
  run.generate(200'000);
  EXPECT_EQ(run.drain(120s).to_string(), "exit status 0");
  expect_right(run);
  EXPECT_GT(run.counter("sluice_held_batches_total"), 0);
}

TEST(Disk, EveryThirdSnapshotFailsAndItsEpochMerges) {
  CopyRun::Options options = on_shared_broker("merging");
  options.interval_ms = 10;
  options.environment = {"SLUICE_FILE_FAULTS=write:enospc:every=3,path=state-"};
  CopyRun run(std::move(options));
  run.start_generator(20'000);
  for (int restart = 0; restart < 3; ++restart) {
    Process job = run.start_job({});
    ASSERT_FALSE(job.wait(3s)) << run.log_tail();
    job.terminate();
    const auto ended = job.wait(30s);
    ASSERT_TRUE(ended && ended->ok()) << run.log_tail();
  }
  const Verdict verdict = run.finish();
  EXPECT_TRUE(verdict.right) << verdict.text;
  EXPECT_GT(run.counter("sluice_merged_epochs_total"), 0);
}

/// A broker that is reached through a proxy only.
struct BehindProxy {
  BehindProxy() : broker(make(proxy)) { proxy.forward_to(broker.listener()); }
  static Broker::Options make(const Proxy& proxy) {
    Broker::Options options;
    options.advertise = proxy.address();
    return options;
  }
  CopyRun::Options options(const std::string& name) const {
    CopyRun::Options made;
    made.name = name;
    made.brokers = broker.bootstrap();
    made.direct = broker.direct();
    return made;
  }
  Proxy proxy;
  Broker broker;
};

class EndTxnAnswers : public ::testing::TestWithParam<Proxy::Action> {};
TEST_P(EndTxnAnswers, LateOrLostTaintTheTransactionAndChangeNothing) {
  BehindProxy net;
  const auto rule = net.proxy.add({.api = ApiKey::kEndTxn, .action = GetParam(), .delay = 1500ms, .every = 5});
  CopyRun run(net.options("end-txn"));
  run.start_generator(5'000);
  Process job = run.start_job({});
  ASSERT_TRUE(net.proxy.wait_fired(rule, 4, 120s)) << run.log_tail();
  job.terminate();
  const auto ended = job.wait(60s);
  ASSERT_TRUE(ended && ended->ok()) << run.log_tail();
  net.proxy.clear_rules();
  const Verdict verdict = run.finish();
  EXPECT_TRUE(verdict.right) << verdict.text;
  if (GetParam() == Proxy::Action::kLoseAnswer) {
    EXPECT_GT(run.counter("sluice_tainted_transactions_total"), 0);
  }
}
INSTANTIATE_TEST_SUITE_P(Proxy, EndTxnAnswers, ::testing::Values(Proxy::Action::kDelayAnswer, Proxy::Action::kLoseAnswer),
                         [](const auto& param) { return param.param == Proxy::Action::kDelayAnswer ? "delayed" : "lost"; });

TEST(Network, ConnectionsThatAreCutAgainAndAgain) {
  BehindProxy net;
  CopyRun run(net.options("cut"));
  run.start_generator(5'000);
  Process job = run.start_job({});
  for (int cut = 0; cut < 10; ++cut) {
    const auto before = net.proxy.requests(ApiKey::kEndTxn);
    for (int look = 0; look < 600 && net.proxy.requests(ApiKey::kEndTxn) < before + 3; ++look) {
      ASSERT_FALSE(job.wait(100ms)) << run.log_tail();
    }
    net.proxy.cut();
  }
  job.terminate();
  const auto ended = job.wait(60s);
  ASSERT_TRUE(ended && ended->ok()) << run.log_tail();
  const Verdict verdict = run.finish();
  EXPECT_TRUE(verdict.right) << verdict.text;
  EXPECT_GT(run.counter("sluice_tainted_transactions_total") + run.counter("sluice_restarts_total"), 0);
}

/// The trouble is over: more is copied, the job drains, and all of it is right.
void expect_it_goes_on(CopyRun& run, Process& job) {
  run.generate(1'000);
  EXPECT_FALSE(job.wait(5s)) << run.log_tail();
  job.terminate();
  const auto ended = job.wait(60s);
  EXPECT_TRUE(ended && ended->ok()) << run.log_tail();
  EXPECT_EQ(run.drain(60s).to_string(), "exit status 0") << run.log_tail();
  expect_right(run);
}

// S01.
TEST(Outage, LongerThanTheTransactionTimeoutLosesNothing) {
  CopyRun::Options options = on_shared_broker("outage");
  options.arguments = {"--transaction-timeout-ms", "10000"};
  CopyRun run(std::move(options));
  run.generate(10'000);
  for (const std::string point : {"checkpoint.durable:3", "commit.before:2"}) {
    Process job = run.start_job({"SLUICE_KILL_AT=" + point});
    run.generate(5'000);
    const auto ended = job.wait(60s);
    ASSERT_TRUE(ended && ended->signal == SIGKILL) << run.log_tail();
    std::this_thread::sleep_for(30s);  // The outage: three times the timeout, in the broker's own time.
  }
  EXPECT_EQ(run.drain(60s).to_string(), "exit status 0");
  expect_right(run);
}

// S52: what is sent again behind a restart of the broker must not change places.
TEST(Outage, ABrokerThatIsRestartedChangesNoOrder) {
  Broker broker;
  CopyRun::Options options;
  options.name = "restarted";
  options.brokers = options.direct = broker.bootstrap();
  CopyRun run(std::move(options));
  run.generate(20'000);
  Process job = run.start_job({});
  for (int restart = 0; restart < 2; ++restart) {
    run.generate(30'000);
    broker.restart();  // In the middle of them: the job needs longer than the acknowledgement of the last one.
    EXPECT_FALSE(job.wait(2s)) << run.log_tail();
  }
  expect_it_goes_on(run, job);
}

// S09: the broker hangs for longer than requests wait.
TEST(Outage, ABrokerThatFreezesInTheMiddleOfItAll) {
  Broker broker;
  CopyRun::Options options;
  options.name = "frozen";
  options.brokers = options.direct = broker.bootstrap();
  options.arguments = {"--transaction-timeout-ms", "8000"};
  CopyRun run(std::move(options));
  run.generate(20'000);
  Process job = run.start_job({});
  for (const auto frozen : {2s, 20s}) {
    run.generate(5'000);
    broker.pause();
    EXPECT_FALSE(job.wait(frozen)) << run.log_tail();
    broker.resume();
  }
  expect_it_goes_on(run, job);
}

TEST(SecondInstance, WithoutTheStateFencesNobodyAndSaysSo) {
  CopyRun run(on_shared_broker("second-without-state"));
  run.start_generator(2'000);
  Process first = run.start_job({});
  ASSERT_FALSE(first.wait(4s)) << run.log_tail();
  Process second = run.start_job({}, (run.state().parent_path() / "other").string());
  const auto ended = second.wait(40s);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->status, 75) << run.log_tail();
  EXPECT_THAT(run.log_tail(), HasSubstr("another instance"));
  EXPECT_TRUE(first.running());
  first.terminate();
  const auto first_ended = first.wait(30s);
  EXPECT_TRUE(first_ended && first_ended->ok()) << run.log_tail();
  const Verdict verdict = run.finish();
  EXPECT_TRUE(verdict.right) << verdict.text;
}

// S07: positions are all there is, so the newcomer needs no directory and takes over.
TEST(SecondInstance, WithPositionsOnlyTakesOverAndTheOlderOneEndsWith75) {
  CopyRun::Options options = on_shared_broker("takeover");
  options.numbered = false;
  CopyRun run(std::move(options));
  run.start_generator(2'000);
  Process first = run.start_job({});
  ASSERT_FALSE(first.wait(3s)) << run.log_tail();
  Process second = run.start_job({}, (run.state().parent_path() / "other").string());
  const auto ended = first.wait(30s);
  ASSERT_TRUE(ended) << run.log_tail();
  EXPECT_EQ(ended->status, 75) << run.log_tail();
  EXPECT_THAT(run.log_tail(), HasSubstr("sluice-"));
  EXPECT_TRUE(second.running());
  second.terminate();
  const auto second_ended = second.wait(30s);
  EXPECT_TRUE(second_ended && second_ended->ok()) << run.log_tail();
  const Verdict verdict = run.finish();
  EXPECT_TRUE(verdict.right) << verdict.text;
}

TEST(SecondInstance, OneThatWasPausedBeyondTheTimeoutHasWrittenNothing) {
  CopyRun::Options options = on_shared_broker("paused");
  options.arguments = {"--transaction-timeout-ms", "5000"};
  CopyRun run(std::move(options));
  run.start_generator(2'000);
  Process first = run.start_job({});
  ASSERT_FALSE(first.wait(3s)) << run.log_tail();
  first.pause();
  std::this_thread::sleep_for(7s);  // Beyond the transaction timeout.
  // The operator moves the job: a copy of the state, as the paused process holds the lock of the first.
  const auto copy = run.state().parent_path() / "copy";
  std::filesystem::copy(run.state(), copy, std::filesystem::copy_options::recursive);
  Process second = run.start_job({}, copy.string());
  ASSERT_FALSE(second.wait(4s)) << run.log_tail();
  first.resume();
  const auto ended = first.wait(30s);
  ASSERT_TRUE(ended) << run.log_tail();
  EXPECT_EQ(ended->status, 75) << run.log_tail();
  EXPECT_TRUE(second.running());
  second.terminate();
  const auto second_ended = second.wait(30s);
  EXPECT_TRUE(second_ended && second_ended->ok()) << run.log_tail();
  std::filesystem::remove_all(run.state());
  std::filesystem::rename(copy, run.state());
  const Verdict verdict = run.finish();
  EXPECT_TRUE(verdict.right) << verdict.text;
}

// Builds that do it wrong must be caught, or the run proves nothing.
class Sabotage : public ::testing::TestWithParam<std::string> {};
TEST_P(Sabotage, IsCaughtByTheKillRun) {
  CopyRun::Options options = on_shared_broker("sabotage");
  options.program = "numbered_copy_" + GetParam();
  CopyRun run(std::move(options));
  run.start_generator(5'000);
  const std::string point = GetParam() == "commit_first" ? "commit.acknowledged:3" : "checkpoint.durable:4";
  bool refused = false;
  for (int kill = 0; kill < 4 && !refused; ++kill) {
    Process job = run.start_job({"SLUICE_KILL_AT=" + point});
    const auto ended = job.wait(40s);
    ASSERT_TRUE(ended) << run.log_tail();
    refused = ended->signal != SIGKILL;  // It found no checkpoint to restore: also caught.
  }
  const Verdict verdict = run.finish();
  EXPECT_FALSE(verdict.right) << verdict.text;
}
INSTANTIATE_TEST_SUITE_P(Builds, Sabotage, ::testing::Values("commit_first", "newest_snapshot"),
                         [](const auto& param) { return param.param; });

}  // namespace
}  // namespace sluice::testing
