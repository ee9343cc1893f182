// Question  What does a batch pay for crossing to another shard, and a record for travelling in it?
// Sketch    Two cache lines move for each message, about 100 ns, while both sides are busy. Waking a shard that sleeps is
//           a system call on either side, some microseconds; a batch of 1,024 records makes that a few nanoseconds each.
// Baseline  BM_OneThread, the same ring without another thread: what the crossing itself adds.
//           BM_ChannelStream, asio's concurrent_channel between the same two shards, in the same run.
#include <sys/resource.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>
#include <boost/asio/use_future.hpp>

#include <sluice/io/mailbox.h>
#include <sluice/io/shards.h>

#include "allocations.h"

namespace {

using namespace sluice;

struct Batch {
  std::unique_ptr<std::uint64_t[]> records;  // What crosses is a pointer; the memory comes back and is used again.
  std::uint64_t sum = 0;
};
using Lane = io::Mailbox<Batch>;
constexpr std::int64_t kRecords = 1'024;
constexpr std::int64_t kRound = 4'096;  // Messages between two looks at the clock.

class TwoShards {
 public:
  TwoShards() {
    Result<std::unique_ptr<io::Shards>> started =
        io::Shards::start({.count = 2, .pin = {}, .files = io::FileBackend::kThreads, .file_faults = {}, .thread_name = "bench"});
    shards_ = *std::move(started);
  }
  [[nodiscard]] io::Executor first() { return shards_->shard(ShardId(0)).executor(); }
  [[nodiscard]] io::Executor second() { return shards_->shard(ShardId(1)).executor(); }
  [[nodiscard]] std::shared_ptr<Lane> lane(io::Executor from, io::Executor to, std::uint32_t capacity) {
    Lane::Options options{.from = std::move(from), .to = std::move(to), .capacity_messages = capacity};
    return std::make_shared<Lane>(std::move(options));
  }

 private:
  std::unique_ptr<io::Shards> shards_;
};

/// What the process has cost so far; a difference of two is what the benchmark reports for a message.
struct Costs {
  std::uint64_t allocations = bench::allocations();
  long sleeps = 0;
  double cpu_seconds = 0;
  Costs() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    sleeps = usage.ru_nvcsw;
    cpu_seconds = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                  1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  }
  void report(benchmark::State& state, std::int64_t messages_a_round, double allocations_max = 0.02) const {
    const Costs now;
    const auto messages = static_cast<double>(state.iterations() * messages_a_round);
    const double allocated = static_cast<double>(now.allocations - allocations) / messages;
    if (allocated > allocations_max) state.SkipWithError("a message allocated");  // A round does, for its futures.
    state.counters["allocations"] = allocated;
    state.counters["sleeps"] = static_cast<double>(now.sleeps - sleeps) / messages;
    state.counters["cpu_ns"] = 1e9 * (now.cpu_seconds - cpu_seconds) / messages;
  }
};

void must(bool held) {
  if (!held) std::abort();
}

asio::awaitable<void> send(std::shared_ptr<Lane> lane, std::int64_t count) {
  for (std::int64_t at = 0; at < count; ++at) {
    Batch batch;
    const Status sent = co_await lane->send(std::move(batch));
    must(sent.ok());
  }
}
asio::awaitable<void> receive(std::shared_ptr<Lane> lane, std::int64_t count) {
  for (std::int64_t at = 0; at < count; ++at) {
    const Result<Batch> received = co_await lane->receive();
    must(received.ok());
  }
}
/// Gives back what it gets.
asio::awaitable<void> echo(std::shared_ptr<Lane> in, std::shared_ptr<Lane> out) {
  for (;;) {
    Result<Batch> received = co_await in->receive();
    if (!received.ok()) co_return;
    const Status sent = co_await out->send(*std::move(received));
    if (!sent.ok()) co_return;
  }
}
asio::awaitable<void> play(std::shared_ptr<Lane> out, std::shared_ptr<Lane> in, std::int64_t records, std::int64_t count) {
  Batch batch{std::make_unique<std::uint64_t[]>(static_cast<std::size_t>(records)), 0};
  for (std::int64_t at = 0; at < count; ++at) {
    for (std::int64_t record = 0; record < records; ++record) batch.records[static_cast<std::size_t>(record)] += 1;
    const Status sent = co_await out->send(std::move(batch));
    must(sent.ok());
    Result<Batch> back = co_await in->receive();
    must(back.ok());
    batch = *std::move(back);
  }
}

void BM_OneThread(benchmark::State& state) {
  asio::io_context loop(1);
  Lane::Options options{.from = loop.get_executor(), .to = loop.get_executor(), .capacity_messages = 64};
  Lane lane(std::move(options));
  Batch batch;
  const std::uint64_t before = bench::allocations();
  for (auto _ : state) {
    must(lane.try_send(batch) && lane.try_receive(batch));
  }
  if (bench::allocations() - before > 64) state.SkipWithError("a message allocated");
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_OneThread);

// As fast as both can: the lane is rarely empty and rarely full.
void BM_Stream(benchmark::State& state) {
  TwoShards shards;
  auto lane = shards.lane(shards.first(), shards.second(), static_cast<std::uint32_t>(state.range(0)));
  const Costs before;
  while (state.KeepRunningBatch(kRound)) {
    auto received = asio::co_spawn(shards.second(), receive(lane, kRound), asio::use_future);
    auto sent = asio::co_spawn(shards.first(), send(lane, kRound), asio::use_future);
    sent.get();
    received.get();
  }
  before.report(state, 1);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Stream)->ArgName("capacity")->Arg(16)->Arg(64)->Arg(1'024)->UseRealTime();

using Channel = asio::experimental::concurrent_channel<void(boost::system::error_code, std::shared_ptr<Batch>)>;

asio::awaitable<void> channel_send(std::shared_ptr<Channel> channel, std::int64_t count) {
  for (std::int64_t at = 0; at < count; ++at) {
    co_await channel->async_send(boost::system::error_code(), std::shared_ptr<Batch>(), asio::use_awaitable);
  }
}
asio::awaitable<void> channel_receive(std::shared_ptr<Channel> channel, std::int64_t count) {
  for (std::int64_t at = 0; at < count; ++at) {
    const std::shared_ptr<Batch> received = co_await channel->async_receive(asio::use_awaitable);
    benchmark::DoNotOptimize(received.get());
  }
}
void BM_ChannelStream(benchmark::State& state) {
  TwoShards shards;
  auto channel = std::make_shared<Channel>(shards.second(), static_cast<std::size_t>(state.range(0)));
  const Costs before;
  while (state.KeepRunningBatch(kRound)) {
    auto received = asio::co_spawn(shards.second(), channel_receive(channel, kRound), asio::use_future);
    auto sent = asio::co_spawn(shards.first(), channel_send(channel, kRound), asio::use_future);
    sent.get();
    received.get();
  }
  before.report(state, 1, 1e9);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_ChannelStream)->ArgName("capacity")->Arg(16)->Arg(64)->Arg(1'024)->UseRealTime();

// The worst case: each side sleeps while the other works, so each message wakes a thread.
void BM_CrossShard(benchmark::State& state) {
  TwoShards shards;
  auto there = shards.lane(shards.first(), shards.second(), 16);
  auto back = shards.lane(shards.second(), shards.first(), 16);
  auto echoed = asio::co_spawn(shards.second(), echo(there, back), asio::use_future);
  const Costs before;
  while (state.KeepRunningBatch(kRound)) {
    asio::co_spawn(shards.first(), play(there, back, state.range(0), kRound), asio::use_future).get();
  }
  before.report(state, 2);
  there->close();
  echoed.get();
  state.SetItemsProcessed(state.iterations() * state.range(0) * 2);
}
BENCHMARK(BM_CrossShard)->ArgName("batch_records")->Arg(1)->Arg(64)->Arg(kRecords)->UseRealTime();

// Two coroutines on one shard: no thread to wake, but one turn of the loop for each hand-over.
void BM_SameShard(benchmark::State& state) {
  TwoShards shards;
  auto there = shards.lane(shards.first(), shards.first(), 16);
  auto back = shards.lane(shards.first(), shards.first(), 16);
  auto echoed = asio::co_spawn(shards.first(), echo(there, back), asio::use_future);
  const Costs before;
  while (state.KeepRunningBatch(kRound)) {
    asio::co_spawn(shards.first(), play(there, back, state.range(0), kRound), asio::use_future).get();
  }
  before.report(state, 2);
  there->close();
  echoed.get();
  state.SetItemsProcessed(state.iterations() * state.range(0) * 2);
}
BENCHMARK(BM_SameShard)->ArgName("batch_records")->Arg(1)->Arg(kRecords)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
