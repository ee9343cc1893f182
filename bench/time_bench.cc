// Question  What does a record pay for its event time and the watermark?
// Sketch    One loop that reads times, one that follows the largest: two compares and a store, below 2 ns a record.
// Baseline  BM_Loop, the same written by hand: times into an array, and their maximum less the disorder.
#include <cstdlib>
#include <memory>
#include <utility>

#include <benchmark/benchmark.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <sluice/engine/internal/watermark_tail.h>

#include "allocations.h"

namespace {

using namespace sluice;
using namespace sluice::internal;
using namespace std::chrono_literals;

struct Event {
  EventTime time;
  std::int64_t key = 0, value = 0, more[3] = {};
};
constexpr std::size_t kRecords = 1024;

/// The next times: in order but for every eighth, which is `back` behind.
void move_on(Batch<Event>& batch, EventTime& now, EventDuration back) {
  for (std::size_t i = 0; i < batch.size(); ++i) {
    now += 1ms;
    batch.records()[i].time = i % 8 == 7 ? now - back : now;
  }
}

struct Nowhere final : Tail<Event> {
  asio::awaitable<Status> open() override { co_return Status(); }
  asio::awaitable<Status> push(Batch<Event> batch) override {
    ++pieces;
    last = std::move(batch);
    co_return Status();
  }
  asio::awaitable<Status> control(Control, CheckpointData&) override { co_return Status(); }
  asio::awaitable<Status> wake() override { co_return Status(); }
  void notify(Epoch, bool) override {}
  asio::awaitable<Status> close() override { co_return Status(); }
  Batch<Event> last;
  std::uint64_t pieces = 0;
};

void BM_Loop(benchmark::State& state) {
  Batch<Event> batch;
  batch.records().resize(kRecords);
  EventTime now{}, watermark = EventTime::min();
  for (auto _ : state) {
    move_on(batch, now, 2ms);
    batch.times().resize(kRecords);
    for (std::size_t i = 0; i < kRecords; ++i) {
      batch.times()[i] = batch[i].time;
      watermark = std::max(watermark, batch[i].time - 10ms);
    }
    benchmark::DoNotOptimize(watermark);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRecords));
}
BENCHMARK(BM_Loop);

asio::awaitable<void> run(benchmark::State& state, WatermarkTail<Event>& tail, Nowhere& end, EventDuration back) {
  const Status opened = co_await tail.open();
  if (!opened.ok()) std::abort();
  Batch<Event> batch;
  batch.records().resize(kRecords);
  batch.set_split(std::make_shared<const Split>(Split{"in", 0}));
  EventTime now{};
  const std::uint64_t before = bench::allocations();
  for (auto _ : state) {
    move_on(batch, now, back);
    const Status pushed = co_await tail.push(std::move(batch));
    const Status polled = co_await tail.polled(io::Monotonic{});
    if (!pushed.ok() || !polled.ok()) std::abort();
    batch = std::move(end.last);
    if (batch.size() != kRecords) batch.records().resize(kRecords);  // It was cut.
    benchmark::ClobberMemory();
  }
  state.counters["allocations_a_batch"] =
      static_cast<double>(bench::allocations() - before) / static_cast<double>(state.iterations());
  state.counters["pieces_a_batch"] = static_cast<double>(end.pieces) / static_cast<double>(state.iterations());
}

void measure(benchmark::State& state, const Watermarks<Event>& watermarks, EventDuration back) {
  asio::io_context loop{1};
  Metrics metrics;
  SplitWatch splits({Split{"in", 0}});
  ShardBuild build;
  build.context = Context{"time", ShardId(0), 1, &metrics, &io::system_clock(), loop.get_executor()};
  build.activity = std::make_shared<std::atomic<std::uint64_t>>(0);
  build.watermarks = std::make_shared<WatermarkBoard>();
  build.splits = &splits;
  auto end = std::make_unique<Nowhere>();
  Nowhere& nowhere = *end;
  WatermarkTail<Event> tail(build.context, build, watermarks, std::move(end));
  asio::co_spawn(loop, run(state, tail, nowhere, back), asio::detached);
  loop.run();
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRecords));
}

/// Disorder within the bound: nothing is cut.
void BM_Watermarks(benchmark::State& state) { measure(state, bounded_out_of_orderness<Event>(10ms, &Event::time), 2ms); }
BENCHMARK(BM_Watermarks);
void BM_WithGuardAndAlignment(benchmark::State& state) {
  measure(state, bounded_out_of_orderness<Event>(10ms, &Event::time).ignore_jumps_over(1h).max_drift(1h).idle_after(1h), 2ms);
}
BENCHMARK(BM_WithGuardAndAlignment);
/// The worst: every eighth record is behind the watermark, and the batch is cut there.
void BM_EveryEighthIsLate(benchmark::State& state) { measure(state, bounded_out_of_orderness<Event>(1ms, &Event::time), 20ms); }
BENCHMARK(BM_EveryEighthIsLate);

}  // namespace

BENCHMARK_MAIN();
