// Question  What does an event cost to make, and what do the queries cost by hand on one thread?
// Sketch    Three random words of a nanosecond each, a price, and eighty bytes to write: 10 to 35
// ns.
//           q0 to q2 add the reading of it; a table of counts adds 5 to 20 ns a bid, one that
//           outgrows the caches 50 and more.
// Baseline  BM_Generate, in the same run: each query's figure includes it, so the query's own share
//           is the difference.
#include "nexmark/digest.h"
#include "nexmark/loops.h"
#include <benchmark/benchmark.h>

#include <sluice/io/base/allocator.h>

#include "allocations.h"
#include <array>
#include <cstdint>
#include <string>

namespace {

using namespace sluice;
using namespace sluice::nexmark;

constexpr std::uint64_t kEvents = 2'000'000;  // Twenty seconds of event time.

void count_events(benchmark::State& state, std::uint64_t an_iteration) {
  const auto events = static_cast<double>(state.iterations()) * static_cast<double>(an_iteration);
  state.SetItemsProcessed(static_cast<std::int64_t>(events));
  state.counters["ns_per_event"] =
      benchmark::Counter(events / 1e9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void BM_Generate(benchmark::State& state) {
  const Generator generator({});
  std::array<Event, kBatchEvents> batch;
  const std::uint64_t before = bench::allocations();
  std::uint64_t first = 0;
  for (auto _ : state) {
    generator.fill(first, batch);
    first += batch.size();
    benchmark::DoNotOptimize(batch.data());
    benchmark::ClobberMemory();
  }
  // What cannot be noise is asserted.
  const std::uint64_t allocated = bench::allocations() - before;
  state.counters["allocations"] = static_cast<double>(allocated);
  if (allocated != 0) state.SkipWithError("making events allocates");
  count_events(state, kBatchEvents);
}
BENCHMARK(BM_Generate);

void BM_Query(benchmark::State& state, std::string_view query) {
  const Generator generator({});
  std::uint64_t rows = 0;
  for (auto _ : state) {
    CountRows out;
    run(query, generator, kEvents, out);
    benchmark::DoNotOptimize(out.folded);
    rows = out.rows;
  }
  state.counters["rows"] = static_cast<double>(rows);
  count_events(state, kEvents);
}

}  // namespace

int main(int argc, char** argv) {
  sluice::keep_freed_memory();
  for (const std::string_view query : kQueries) {
    benchmark::RegisterBenchmark(("BM_Query/" + std::string(query)).c_str(), BM_Query, query)
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
