// Goal: a job runs, fails, recovers, drains and ends as its options say, with its state and without a broker.
// Method: whole jobs in this process, with a source that can be held open, local decisions in a temporary directory.
#include "../support/jobs.h"

#include <sluice/engine/operators/number.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using namespace std::chrono_literals;
using jobs_test::Collected;
using jobs_test::Directory;
using testing::HasSubstr;
using jobs_test::run_to_end;

std::vector<int> up_to(int last) {
  std::vector<int> values(static_cast<std::size_t>(last));
  std::iota(values.begin(), values.end(), 1);
  return values;
}

std::string numbered(const int& value, std::uint64_t number, Arena&) { return std::to_string(value) + ":" + std::to_string(number); }

TEST(Engine, BoundedInputEndsWithALastCheckpointThoughTheIntervalIsLong) {
  Directory directory;
  Collected<int> out;
  Job job{"bounded"};
  job.checkpoint({.interval = 1h, .directory = directory.path});
  job.from(from_values(up_to(5000))).to(out.sink());
  const Status ended = run_to_end(std::move(job));
  EXPECT_TRUE(ended.ok()) << ended.to_string();
  EXPECT_EQ(out.take(), up_to(5000));
  // A second run finds that everything is done.
  Job again{"bounded"};
  again.checkpoint({.interval = 1h, .directory = directory.path});
  again.from(from_values(up_to(5000))).to(out.sink());
  EXPECT_TRUE(run_to_end(std::move(again)).ok());
  EXPECT_EQ(out.take().size(), 5000u);
}

TEST(Engine, StateAndPositionGoOnTogetherAfterAFailure) {
  Directory directory;
  Collected<std::string> out;
  std::atomic<int> calls{0};
  Job job{"failing"};
  job.checkpoint({.interval = 1ms, .directory = directory.path});
  job.restart({.strategy = RestartOptions::Strategy::kFixedDelay, .delay = 1ms, .attempts_max = 50});
  job.from(from_values(up_to(200'000)))
      .process<std::string>("number", number<int, std::string>(numbered))
      .peek([&](const std::string&) {
        if (++calls % 70'001 == 0) throw std::runtime_error("now and then");
      })
      .to(out.sink());
  Result<Running> running = Engine().start(std::move(job));
  ASSERT_TRUE(running.ok());
  const Status ended = running->wait();
  ASSERT_TRUE(ended.ok()) << ended.to_string();
  EXPECT_GT(running->metrics().value("sluice_restarts_total"), 0u);
  // The sink is at least once, so values repeat; but a value always has its number.
  for (const std::string& value : out.take()) {
    const auto colon = value.find(':');
    ASSERT_EQ(value.substr(0, colon), value.substr(colon + 1));
  }
  EXPECT_GE(out.take().size(), 200'000u);
}

TEST(Engine, AnExceptionIsNamedAndTheRestartStrategyGivesUp) {
  Directory directory;
  Collected<int> out;
  Job job{"poison"};
  job.checkpoint({.interval = 1h, .directory = directory.path});
  job.restart({.strategy = RestartOptions::Strategy::kFixedDelay, .delay = 1ms, .attempts_max = 2});
  job.from(from_values(up_to(10)))
      .map([](int value) {
        if (value == 7) throw std::runtime_error("seven");
        return value;
      })
      .name("picky")
      .to(out.sink());
  const Status ended = run_to_end(std::move(job));
  EXPECT_EQ(ended.exit_status(), ExitStatus::kFailed);
  EXPECT_THAT(std::string(ended.message()), HasSubstr("\"picky\""));
  EXPECT_THAT(std::string(ended.message()), HasSubstr("seven"));
}

TEST(Engine, EveryThirdSnapshotFailsAndItsEpochMergesIntoTheNext) {
  Directory directory;
  Collected<std::string> out;
  Job job{"merging"};
  job.checkpoint({.interval = 1ms, .directory = directory.path});
  job.options.file_faults = "write:enospc:every=3,path=state-";
  job.from(from_values(up_to(300'000))).process<std::string>("number", number<int, std::string>(numbered)).to(out.sink());
  Result<Running> running = Engine().start(std::move(job));
  ASSERT_TRUE(running.ok());
  const Status ended = running->wait();
  ASSERT_TRUE(ended.ok()) << ended.to_string();
  EXPECT_GT(running->metrics().value("sluice_merged_epochs_total"), 0u);
  EXPECT_EQ(out.take().size(), 300'000u);
}

TEST(Engine, FailuresInARowBeyondWhatIsTolerableEndTheJobWithTheReason) {
  Directory directory;
  Collected<std::string> out;
  Job job{"full-disk"};
  job.checkpoint({.interval = 1ms, .tolerable_failures = 2, .directory = directory.path});
  job.restart({.strategy = RestartOptions::Strategy::kNone});
  job.options.file_faults = "write:enospc:path=state-";
  job.from(from_values(up_to(10))).process<std::string>("number", number<int, std::string>(numbered)).to(out.sink());
  const Status ended = run_to_end(std::move(job));
  EXPECT_EQ(ended.exit_status(), ExitStatus::kFailed);
  EXPECT_THAT(std::string(ended.message()), HasSubstr("3 times in a row"));
}

TEST(Engine, StopDrainsAndTheNextRunGoesOnWhereItStopped) {
  Directory directory;
  Collected<std::string> out;
  for (int start = 0; start < 20; ++start) {
    Job job{"stopped"};
    job.checkpoint({.interval = 1ms, .directory = directory.path});
    job.from(from_values(up_to(400'000))).process<std::string>("number", number<int, std::string>(numbered)).to(out.sink());
    Result<Running> running = Engine().start(std::move(job));
    ASSERT_TRUE(running.ok());
    // From before it runs to the middle of its work.
    while (!running->done() && out.take().size() < static_cast<std::size_t>(start) * 10'000) std::this_thread::yield();
    running->stop();
    const Status ended = running->wait();
    ASSERT_TRUE(ended.ok() || ended.code() == Code::kCancelled) << ended.to_string();
  }
  Job last{"stopped"};
  last.checkpoint({.interval = 1ms, .directory = directory.path});
  last.from(from_values(up_to(400'000))).process<std::string>("number", number<int, std::string>(numbered)).to(out.sink());
  ASSERT_TRUE(run_to_end(std::move(last)).ok());
  // Nothing crashed, so nothing was read twice.
  const auto values = out.take();
  ASSERT_EQ(values.size(), 400'000u);
  for (int i = 0; i < 400'000; ++i) ASSERT_EQ(values[static_cast<std::size_t>(i)], fmt::format("{}:{}", i + 1, i + 1));
}

/// Prepares one line a checkpoint and cannot commit it while `stuck`.
class StuckSink final : public Sink<int> {
 public:
  struct Seen {
    std::atomic<bool> stuck{true};
    std::atomic<int> refused{0}, committed{0}, recovered{0};
    std::atomic<Code> with{Code::kRetry};
  };
  explicit StuckSink(std::shared_ptr<Seen> seen) : seen_(std::move(seen)) {}
  std::string describe() const override { return "stuck"; }
  asio::awaitable<Status> check(Attempt&, const std::string&) override { co_return Status(); }
  std::unique_ptr<SinkWriter<int>> writer(Attempt&, ShardId) override {
    class Writer final : public SinkWriter<int> {
      asio::awaitable<Status> write(Batch<int>, std::vector<Batch<Record>>&) override { co_return Status(); }
      asio::awaitable<Status> prepare(Epoch epoch, std::string& prepared) override {
        prepared = fmt::format("{}", epoch);
        co_return Status();
      }
    };
    return std::make_unique<Writer>();
  }
  asio::awaitable<Status> commit(Epoch, std::vector<PreparedOutput> prepared) override {
    EXPECT_FALSE(prepared.empty());
    if (seen_->stuck) {
      ++seen_->refused;
      co_return Status(seen_->with.load(), "the other side does not take it");
    }
    ++seen_->committed;
    co_return Status();
  }
  asio::awaitable<Status> recover(Epoch, std::vector<PreparedOutput> prepared) override {
    if (!prepared.empty()) ++seen_->recovered;
    co_return Status();
  }

 private:
  const std::shared_ptr<Seen> seen_;
};

TEST(Engine, AStopEndsACommitThatIsTriedAgainAndAgainAndTheNextStartFinishesIt) {
  Directory directory;
  const auto seen = std::make_shared<StuckSink::Seen>();
  const auto make = [&] {
    Job job{"stuck"};
    job.checkpoint({.interval = 1ms, .directory = directory.path});
    job.from(from_values(up_to(10)), "in").to(std::shared_ptr<Sink<int>>(std::make_shared<StuckSink>(seen)));
    return job;
  };
  {
    Result<Running> running = Engine().start(make());
    ASSERT_TRUE(running.ok());
    while (seen->refused < 3) std::this_thread::yield();
    running->stop();
    const Status ended = running->wait();
    EXPECT_EQ(ended.exit_status(), ExitStatus::kFailed);
    EXPECT_THAT(std::string(ended.message()), HasSubstr("the next start finishes this"));
  }
  seen->stuck = false;
  EXPECT_TRUE(run_to_end(make()).ok());
  EXPECT_EQ(seen->recovered, 1);
}

TEST(Engine, ACommitThatOnlyAPersonCanMendIsNotTriedAgain) {
  Directory directory;
  const auto seen = std::make_shared<StuckSink::Seen>();
  seen->with = Code::kInvalid;
  Job job{"refused"};
  job.checkpoint({.interval = 1ms, .directory = directory.path});
  job.from(from_values(up_to(10)), "in").to(std::shared_ptr<Sink<int>>(std::make_shared<StuckSink>(seen)));
  EXPECT_EQ(run_to_end(std::move(job)).exit_status(), ExitStatus::kConfiguration);
  EXPECT_EQ(seen->refused, 1);
}

/// Numbers from 1, in one split that has no name.
class Unnamed final : public Source<int> {
 public:
  std::string describe() const override { return "unnamed"; }
  asio::awaitable<Result<std::vector<SplitPosition>>> start(Attempt&, const std::string& id,
                                                            std::optional<std::vector<SplitPosition>> restored) override {
    if (restored) co_return *std::move(restored);
    co_return std::vector{SplitPosition{id, Split{}, Offset{1}}};
  }
  std::unique_ptr<SourceReader<int>> reader(Attempt&, ShardId) override {
    class Reader final : public SourceReader<int> {
      asio::awaitable<Status> open(const Context&, std::vector<SplitPosition> starts, io::Event& arrival) override {
        if (starts.size() == 1) at_ = starts.front();
        arrival_ = &arrival;
        co_return Status();
      }
      asio::awaitable<Result<Polled>> poll(SourceOutput<int>& out) override {
        if (at_.source.empty()) co_return Polled::kEnd;
        Batch<int> batch;
        batch.records().push_back(static_cast<int>(at_.next.value()));
        ++at_.next;
        out.batches.push_back(std::move(batch));
        co_return Polled::kData;
      }
      std::vector<SplitPosition> positions() const override { return {at_}; }
      SplitPosition at_;
      io::Event* arrival_ = nullptr;
    };
    return std::make_unique<Reader>();
  }
};

TEST(Engine, ASplitWithoutANameGoesOnWhereItStopped) {
  Directory directory;
  Collected<int> out;
  for (int run = 1; run <= 3; ++run) {
    Job job{"unnamed"};
    job.checkpoint({.interval = 1ms, .directory = directory.path});
    job.from(std::shared_ptr<Source<int>>(std::make_shared<Unnamed>()), "in").to(out.sink());
    Result<Running> running = Engine().start(std::move(job));
    ASSERT_TRUE(running.ok());
    while (!running->done() && out.take().size() < static_cast<std::size_t>(run) * 1000) std::this_thread::yield();
    running->stop();
    ASSERT_TRUE(running->wait().ok());
  }
  const auto values = out.take();
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], static_cast<int>(i) + 1);
}

/// Throws at its first commits.
class ThrowingSink final : public Sink<int> {
 public:
  explicit ThrowingSink(std::shared_ptr<std::atomic<int>> left) : left_(std::move(left)) {}
  std::string describe() const override { return "throwing"; }
  asio::awaitable<Status> check(Attempt&, const std::string&) override { co_return Status(); }
  std::unique_ptr<SinkWriter<int>> writer(Attempt&, ShardId) override {
    class Writer final : public SinkWriter<int> {
      asio::awaitable<Status> write(Batch<int>, std::vector<Batch<Record>>&) override { co_return Status(); }
    };
    return std::make_unique<Writer>();
  }
  asio::awaitable<Status> commit(Epoch, std::vector<PreparedOutput>) override {
    if (--*left_ >= 0) throw std::runtime_error("commit");
    co_return Status();
  }
  asio::awaitable<Status> recover(Epoch, std::vector<PreparedOutput>) override { co_return Status(); }

 private:
  const std::shared_ptr<std::atomic<int>> left_;
};

TEST(Engine, ASinkThatThrowsAtACommitIsRecoveredFrom) {
  Directory directory;
  const auto left = std::make_shared<std::atomic<int>>(2);
  Job job{"throwing"};
  job.checkpoint({.interval = 1ms, .directory = directory.path});
  job.restart({.strategy = RestartOptions::Strategy::kFixedDelay, .delay = 1ms});
  job.from(from_values(up_to(10)), "in").to(std::shared_ptr<Sink<int>>(std::make_shared<ThrowingSink>(left)));
  Result<Running> running = Engine().start(std::move(job));
  ASSERT_TRUE(running.ok());
  const Status ended = running->wait();
  EXPECT_TRUE(ended.ok()) << ended.to_string();
  EXPECT_EQ(running->metrics().value("sluice_restarts_total"), 2u);
}

/// Remembers the last checkpoint that it was told of.
struct Told {
  std::shared_ptr<std::atomic<std::uint64_t>> last;
  int operator()(int value) const { return value; }
  void notify_checkpoint_complete(Epoch epoch) { *last = epoch.value(); }
};

TEST(Engine, TheLastCheckpointOfABoundedRunIsToldToo) {
  for (int run = 0; run < 50; ++run) {
    Directory directory;
    Collected<int> out;
    const auto last = std::make_shared<std::atomic<std::uint64_t>>(0);
    Job job{"told"};
    job.checkpoint({.interval = 1h, .directory = directory.path});
    job.from(from_values(up_to(10)), "in").map(Told{last}).to(out.sink());
    Result<Running> running = Engine().start(std::move(job));
    ASSERT_TRUE(running.ok());
    ASSERT_TRUE(running->wait().ok());
    ASSERT_EQ(*last, running->metrics().value("sluice_checkpoints_completed_total"));
  }
}

/// Fails once it runs; from then on its start takes for ever.
class StuckSource final : public Source<int> {
 public:
  explicit StuckSource(std::shared_ptr<std::atomic<int>> starts) : starts_(std::move(starts)) {}
  std::string describe() const override { return "stuck"; }
  asio::awaitable<Result<std::vector<SplitPosition>>> start(Attempt&, const std::string& id,
                                                            std::optional<std::vector<SplitPosition>>) override {
    if (++*starts_ > 1) {
      Status slept = co_await io::system_clock().sleep(1h);
      if (!slept.ok()) co_return slept;
    }
    co_return std::vector{SplitPosition{id, Split{"numbers", 0}, Offset{1}}};
  }
  std::unique_ptr<SourceReader<int>> reader(Attempt&, ShardId) override {
    class Reader final : public SourceReader<int> {
      asio::awaitable<Status> open(const Context&, std::vector<SplitPosition>, io::Event&) override { co_return Status(); }
      asio::awaitable<Result<Polled>> poll(SourceOutput<int>&) override { co_return Status(Code::kRecover, "the tape tore"); }
      std::vector<SplitPosition> positions() const override { return {}; }
    };
    return std::make_unique<Reader>();
  }

 private:
  const std::shared_ptr<std::atomic<int>> starts_;
};

TEST(Engine, AStopInTheMiddleOfARecoveryTellsWhatItWasToRecoverFrom) {
  Directory directory;
  Collected<int> out;
  const auto starts = std::make_shared<std::atomic<int>>(0);
  Job job{"stuck-source"};
  job.checkpoint({.interval = 1ms, .directory = directory.path});
  job.restart({.strategy = RestartOptions::Strategy::kFixedDelay, .delay = 1ms});
  job.from(std::shared_ptr<Source<int>>(std::make_shared<StuckSource>(starts)), "in").to(out.sink());
  Result<Running> running = Engine().start(std::move(job));
  ASSERT_TRUE(running.ok());
  while (*starts < 2) std::this_thread::yield();
  running->stop();
  const Status ended = running->wait();
  EXPECT_EQ(ended.exit_status(), ExitStatus::kFailed);
  EXPECT_THAT(std::string(ended.message()), HasSubstr("the tape tore"));
  EXPECT_THAT(std::string(ended.message()), HasSubstr("stopped while recovering"));
}

TEST(Engine, AUnionAlignsBarriersOverSourcesOnSeveralShards) {
  Directory directory;
  Collected<int> out;
  Job job{"union"};
  job.checkpoint({.interval = 1ms, .directory = directory.path});
  job.shards(3);
  const auto a = job.from(from_values(up_to(100'000)), "a");
  const auto b = job.from(from_values(up_to(50'000)), "b");
  a.map([](int v) { return v * 2; }).union_with(b.map([](int v) { return v * 2 + 1; })).to(out.sink());
  const Status ended = run_to_end(std::move(job));
  ASSERT_TRUE(ended.ok()) << ended.to_string();
  auto values = out.take();
  EXPECT_EQ(values.size(), 150'000u);
  int last_even = 0, last_odd = 0;
  for (const int value : values) {
    int& last = value % 2 == 0 ? last_even : last_odd;
    ASSERT_LT(last, value);
    last = value;
  }
}

TEST(Engine, AStateDirectoryInUseIsNamedAndTheFirstJobIsNotDisturbed) {
  Directory directory;
  Collected<int> out;
  const auto make = [&](std::vector<int> values) {
    Job job{"one"};
    job.checkpoint({.interval = 1ms, .directory = directory.path});
    job.from(from_values(std::move(values))).to(out.sink());
    return job;
  };
  Result<Running> first = Engine().start(make(up_to(2'000'000)));
  ASSERT_TRUE(first.ok());
  while (first->state() != checkpoint::JobState::kRunning && !first->done()) std::this_thread::yield();
  ASSERT_FALSE(first->done());
  const Status second = run_to_end(make(up_to(1)));
  EXPECT_EQ(second.exit_status(), ExitStatus::kCannotCreate);
  EXPECT_THAT(std::string(second.message()), HasSubstr(directory.path.string()));
  EXPECT_TRUE(first->wait().ok());
}

TEST(Engine, StateOfAnOperatorThatIsGoneIsRefusedByName) {
  Directory directory;
  Collected<std::string> out;
  const auto make = [&](const std::string& id) {
    Job job{"renamed"};
    job.checkpoint({.interval = 1ms, .directory = directory.path});
    job.from(from_values(up_to(10)), "in").process<std::string>(id, number<int, std::string>(numbered)).to(out.sink());
    return job;
  };
  ASSERT_TRUE(run_to_end(make("counter")).ok());
  const Status renamed = run_to_end(make("counter2"));
  EXPECT_EQ(renamed.exit_status(), ExitStatus::kData);
  EXPECT_THAT(std::string(renamed.message()), HasSubstr("\"counter\""));
  EXPECT_TRUE(run_to_end(make("counter")).ok());
}

}  // namespace
}  // namespace sluice
