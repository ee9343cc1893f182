// Goal: case S36: the pace of checkpoints, idle timeouts and timers is that of the steady clock, whoever sets the system's.
// Method: a whole job with its coordinator on the test's thread, and a clock that is turned by hand.
#include "../support/jobs.h"

#include <sluice/checkpoint/coordinator.h>
#include <sluice/engine/job.h>
#include <sluice/engine/testing/test_input.h>
#include <sluice/engine/testing/test_output.h>
#include <sluice/engine/windows/windowed_stream.h>

#include <optional>
#include <thread>

#include <boost/asio/co_spawn.hpp>
#include <gtest/gtest.h>

namespace sluice::checkpoint {
namespace {

using namespace std::chrono_literals;

struct Reading {
  std::string key;
  EventTime time;
};

/// Says every second of processing time that it is there.
struct Beat : KeyedProcessFunction<std::string, Reading, int> {
  void declare(StateSet& states) { states.add("beats", beats_); }
  void process(const Reading&, Ctx& ctx, Collector<int>&) {
    if (std::exchange(ctx.of(beats_).value(), 1) == 0) ctx.timers().set_processing_time(ctx.processing_time() + 1s);
  }
  void on_timer(EventTime, Ctx& ctx, Collector<int>& out) {
    out.emit(1);
    ctx.timers().set_processing_time(ctx.processing_time() + 1s);
  }
  ValueState<std::string, int> beats_;
};

class CaseS36 : public testing::TestWithParam<std::uint16_t> {
 protected:
  struct Made {
    std::uint64_t checkpoints = 0;
    std::size_t beats = 0, windows = 0;
  };
  /// One run of the job, from what its directory holds.
  void start(std::uint16_t shards) {
    shards_ = *io::Shards::on_this_thread(shards);
    Job job{"paced"};
    job.checkpoint({.interval = 1s, .directory = directory_.path}).shards(shards);
    auto keyed = job.from(in_.source(), "in")
                     .watermarks(monotonous<Reading>(&Reading::time).idle_after(2s), "time")
                     .key_by(&Reading::key, "by-key");
    keyed.process("beat", Beat()).to(beats_.sink(), "beats");
    keyed.window(tumbling(1s)).aggregate(count(), "count").to(windows_.sink(), "windows");
    job_.emplace(std::move(job));
    coordinator_ = std::make_unique<Coordinator>(*job_, *shards_, clock_, metrics_);
    ended_.reset();
    asio::co_spawn(shards_->control().executor(), coordinator_->run(),
                   [this](const std::exception_ptr&, Status status) { ended_ = std::move(status); });
    until([&] { return ended_ || coordinator_->state() == JobState::kRunning; });
  }
  /// As SIGTERM does.
  void stop() {
    coordinator_->request_stop();
    until([&] { return ended_.has_value(); });
    ASSERT_TRUE(ended_);
    EXPECT_TRUE(ended_->ok()) << ended_->to_string();
    coordinator_.reset();
    shards_->stop();
  }
  /// A hundred records a second. Each second has its checkpoint: files take no time of this clock.
  Made ten_seconds() {
    const std::uint64_t before = completed();
    for (std::uint64_t second = 1; second <= 10; ++second) {
      for (int n = 0; n < 100; ++n, ms_ += 10) {
        in_.give(0, {{"a", EventTime(EventDuration(ms_))}});
        clock_.advance(10ms);
        settle();
      }
      until([&] { return completed() >= before + second; });
    }
    return {completed() - before, beats_.take().size(), windows_.take().size()};
  }
  void silent_one_speaks() { in_.give(1, {{"b", EventTime(EventDuration(ms_))}}); }

  io::FakeClock clock_{io::WallTime(24h)};

 private:
  std::uint64_t completed() { return metrics_.value("sluice_checkpoints_completed_total"); }
  void settle() { ASSERT_LT(shards_->run_ready(1'000'000), 1'000'000u); }
  /// Ends the test when it does not come true; nothing here depends on how long it takes.
  void until(const std::function<bool()>& true_now) {
    for (int i = 0; i < 20'000 && !true_now(); ++i) {
      settle();
      std::this_thread::sleep_for(1ms);
    }
    ASSERT_TRUE(true_now());
  }

  const jobs_test::Directory directory_;
  Metrics metrics_;
  TestInput<Reading> in_{{.splits = 2}};
  TestOutput<int> beats_;
  TestOutput<Windowed<std::string, std::uint64_t>> windows_;
  std::unique_ptr<io::Shards> shards_;
  std::optional<Job> job_;
  std::unique_ptr<Coordinator> coordinator_;
  std::optional<Status> ended_;
  std::int64_t ms_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Shards, CaseS36, testing::Values(1, 8), [](const auto& shards) { return "on_" + std::to_string(shards.param); });

void expect_pace(const auto& made, std::size_t windows, const char* when) {
  EXPECT_GE(made.checkpoints, 8u) << when;
  EXPECT_LE(made.checkpoints, 12u) << when;
  EXPECT_EQ(made.windows, windows) << when;
}
void expect_beats(const auto& made, const char* when) {
  EXPECT_GE(made.beats, 17u) << when;  // Of two keys.
  EXPECT_LE(made.beats, 22u) << when;
}

TEST_P(CaseS36, CheckpointsIdleTimeoutsAndTimersGoOnAtTheirPace) {
  start(GetParam());
  silent_one_speaks();
  Made made = ten_seconds();
  expect_pace(made, 9 + 1, "at the beginning");  // Of a: [0 s, 1 s) to [8 s, 9 s). Of b: one.
  expect_beats(made, "at the beginning");
  clock_.set_wall(io::WallTime(23h));
  silent_one_speaks();
  made = ten_seconds();
  expect_pace(made, 10 + 1, "an hour back");  // The second silence of b is as long as the first.
  expect_beats(made, "an hour back");
  clock_.set_wall(io::WallTime(25h));
  made = ten_seconds();
  expect_pace(made, 10, "two hours ahead");
  expect_beats(made, "two hours ahead");
  stop();
}

TEST_P(CaseS36, AlsoBehindARestoreOnTheOtherNumberOfShards) {
  start(GetParam());
  silent_one_speaks();
  expect_pace(ten_seconds(), 9 + 1, "at the beginning");
  stop();
  clock_.set_wall(io::WallTime(23h));
  start(GetParam() == 1 ? 8 : 1);
  silent_one_speaks();
  expect_pace(ten_seconds(), 10 + 1, "an hour back");
  stop();
  clock_.set_wall(io::WallTime(25h));
  start(GetParam());
  expect_pace(ten_seconds(), 10, "two hours ahead");
  stop();
}

}  // namespace
}  // namespace sluice::checkpoint
