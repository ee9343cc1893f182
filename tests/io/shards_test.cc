// Goal: threads start, carry their names and cpus, run what is sent to them, and are joined; settings that can not be
// met are said to be so.
// Method: real threads; work is sent with run_on, which is tested here too.
#include <pthread.h>
#include <sched.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <sluice/io/event.h>
#include <sluice/io/scope.h>
#include <sluice/io/shards.h>

#include "loop.h"

namespace sluice::io {
namespace {

Shards::Options options_of(std::uint16_t count) {
  return {.count = count, .pin = {}, .file_faults = {}, .thread_name = "test"};
}
asio::awaitable<std::string> thread_name() {
  char name[32] = {};
  ::pthread_getname_np(::pthread_self(), name, sizeof name);
  co_return std::string(name);
}
asio::awaitable<std::vector<int>> cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  ::pthread_getaffinity_np(::pthread_self(), sizeof set, &set);
  std::vector<int> allowed;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) allowed.push_back(cpu);
  }
  co_return allowed;
}

TEST(Shards, RunTheirCountAndOneMoreForControl) {
  Loop loop;
  auto shards = *Shards::start(options_of(2));
  EXPECT_EQ(shards->count(), 2);
  EXPECT_EQ(shards->shard(ShardId(1)).id(), ShardId(1));
  EXPECT_EQ(shards->control().id(), kControlShard);
  EXPECT_EQ(loop.run(run_on(shards->shard(ShardId(0)).executor(), thread_name)), "test-0");
  EXPECT_EQ(loop.run(run_on(shards->shard(ShardId(1)).executor(), thread_name)), "test-1");
  EXPECT_EQ(loop.run(run_on(shards->control().executor(), thread_name)), "test-control");
}

TEST(Shards, ALongNameKeepsItsEnd) {
  Loop loop;
  Shards::Options options = options_of(1);
  options.thread_name = "a-name-that-is-too-long";
  auto shards = *Shards::start(std::move(options));
  EXPECT_EQ(loop.run(run_on(shards->control().executor(), thread_name)), "a-name--control");
}

TEST(Shards, ArePinnedToTheCpusThatWereNamed) {
  Loop loop;
  const std::vector<int> allowed = loop.run(cpus());
  Shards::Options options = options_of(1);
  options.pin = {allowed.back()};
  auto shards = *Shards::start(std::move(options));
  EXPECT_EQ(loop.run(run_on(shards->shard(ShardId(0)).executor(), cpus)), std::vector<int>{allowed.back()});
  EXPECT_EQ(loop.run(run_on(shards->control().executor(), cpus)), allowed);
}

TEST(Shards, HaveAFileSystemEach) {
  Shards::Options options = options_of(2);
  options.files = FileBackend::kThreads;
  auto shards = *Shards::start(std::move(options));
  EXPECT_EQ(shards->shard(ShardId(0)).files().kind(), "threads");
  EXPECT_NE(&shards->shard(ShardId(0)).files(), &shards->shard(ShardId(1)).files());
}

TEST(Shards, InjectFileFaultsWhereAsked) {
  Shards::Options options = options_of(1);
  options.files = FileBackend::kThreads;
  options.file_faults = "sync:eio:nth=2";
  auto shards = *Shards::start(std::move(options));
  EXPECT_EQ(shards->control().files().kind(), "threads with faults");
}

TEST(Shards, RefuseWhatCanNotBe) {
  const auto code_of = [](Shards::Options options) { return Shards::start(std::move(options)).code(); };
  EXPECT_EQ(code_of(options_of(0)), Code::kInvalid);
  EXPECT_EQ(code_of(options_of(1'025)), Code::kInvalid);
  Shards::Options options = options_of(2);
  options.pin = {0};
  EXPECT_EQ(code_of(options), Code::kInvalid) << "one cpu for two shards";
  options.pin = {0, 1'000'000};
  EXPECT_EQ(code_of(options), Code::kInvalid) << "no such cpu";
  options.pin = {};
  options.file_faults = "nonsense";
  EXPECT_EQ(code_of(options), Code::kInvalid);
}

TEST(Shards, StopTwiceIsStopOnce) {
  auto shards = *Shards::start(options_of(1));
  shards->stop();
  shards->stop();
}

TEST(Shards, StopDropsWhatIsStillPosted) {
  auto token = std::make_shared<int>();
  {
    auto shards = *Shards::start(options_of(1));
    shards->stop();
    asio::post(shards->shard(ShardId(0)).executor(), [token] { FAIL() << "it was stopped"; });
    EXPECT_EQ(token.use_count(), 2);
  }
  EXPECT_EQ(token.use_count(), 1);
}

class RunOnTest : public testing::Test {
 protected:
  Loop loop;
  std::unique_ptr<Shards> shards = *Shards::start(options_of(2));
  Executor first = shards->shard(ShardId(0)).executor(), second = shards->shard(ShardId(1)).executor();
};

TEST_F(RunOnTest, TheCallerGoesOnWhereItWas) {
  auto caller = [](Executor there) -> asio::awaitable<bool> {
    const std::thread::id before = std::this_thread::get_id();
    auto work = []() -> asio::awaitable<std::thread::id> { co_return std::this_thread::get_id(); };
    const std::thread::id elsewhere = co_await run_on(there, work);
    co_return elsewhere != before && std::this_thread::get_id() == before;
  };
  auto on_first = [caller, there = second] { return caller(there); };
  EXPECT_TRUE(loop.run(run_on(first, on_first)));
  auto on_itself = [caller, there = first] { return caller(there); };
  EXPECT_FALSE(loop.run(run_on(first, on_itself))) << "its own shard is no other thread, and works";
}

TEST_F(RunOnTest, MovesResultsThatCanNotBeMadeFromNothing) {
  auto work = []() -> asio::awaitable<Result<std::unique_ptr<int>>> { co_return std::make_unique<int>(7); };
  EXPECT_EQ(**loop.run(run_on(first, work)), 7);
}

TEST_F(RunOnTest, AnExceptionReachesTheCaller) {
  auto work = []() -> asio::awaitable<int> {
    throw std::runtime_error("from there");
    co_return 0;
  };
  EXPECT_THROW((void)loop.run(run_on(first, work)), std::runtime_error);
}

TEST_F(RunOnTest, AStopOfTheCallerIsNotPassedOnAndIsSeenBehindIt) {
  Event there(first), here(loop.executor());
  std::vector<std::string> seen;
  auto child = [](Executor on, Event* far, Event* near, std::vector<std::string>* log) -> asio::awaitable<Status> {
    auto work = [far] { return far->wait(); };
    const Status inside = co_await run_on(on, work);
    log->push_back(std::string(to_string(inside.code())));
    const Status behind = co_await near->wait();
    log->push_back(std::string(to_string(behind.code())));
    co_return Status();
  };
  Scope scope(loop.executor());
  scope.spawn(child(first, &there, &here, &seen));
  loop.drain();
  scope.stop();
  loop.drain();
  EXPECT_TRUE(seen.empty());
  there.set();
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"ok", "cancelled"}));
}

TEST_F(RunOnTest, ManyCallersCrossEachOther) {
  auto bounce = [](Executor a, Executor b, int times) -> asio::awaitable<Status> {
    for (int at = 0; at < times; ++at) {
      auto work = []() -> asio::awaitable<int> { co_return 1; };
      const int there = co_await run_on(a, work);
      const int back = co_await run_on(b, work);
      if (there + back != 2) co_return Status(Code::kCorrupt, "lost an answer");
    }
    co_return Status();
  };
  Scope scope(loop.executor());
  for (int at = 0; at < 8; ++at) scope.spawn(bounce(first, second, 200));
  EXPECT_TRUE(loop.run(scope.join()).ok());
}

}  // namespace
}  // namespace sluice::io
