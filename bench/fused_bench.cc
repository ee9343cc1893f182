// Question  What does a record pay for each operator of a fused chain?
// Sketch    One inlined loop: an add and a compare a step, a store at the end. Well below a nanosecond a step.
// Baseline  BM_Loop, the same arithmetic written by hand over the same batch, in the same run.
//           BM_Virtual, a virtual call a record and operator, for comparison.
#include <cstdlib>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include <sluice/engine/internal/fused.h>

#include "allocations.h"

namespace {

using namespace sluice;
using namespace sluice::internal;

Batch<std::uint64_t> input() {
  Batch<std::uint64_t> batch;
  for (std::uint64_t i = 0; i < 1024; ++i) batch.records().push_back(i * 2654435761u);
  return batch;
}

void BM_Loop(benchmark::State& state) {
  const auto batch = input();
  std::vector<std::uint64_t> out;
  out.reserve(batch.size());
  for (auto _ : state) {
    out.clear();
    for (const std::uint64_t record : batch) {
      std::uint64_t value = record + 1;
      if (value == 0) continue;
      value ^= value >> 7;
      if (value == 42) continue;
      value *= 3;
      out.push_back(value);
    }
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * 1024);
}
BENCHMARK(BM_Loop);

template <class F>
MapStep<F> map(F f) {
  return {f};
}
template <class F>
FilterStep<F> filter(F f) {
  return {f};
}

void BM_FiveFused(benchmark::State& state) {
  const auto batch = input();
  auto steps = std::make_tuple(map([](std::uint64_t v) { return v + 1; }), filter([](std::uint64_t v) { return v != 0; }),
                               map([](std::uint64_t v) { return v ^ (v >> 7); }),
                               filter([](std::uint64_t v) { return v != 42; }), map([](std::uint64_t v) { return v * 3; }));
  auto fused = [](auto... step) {
    return std::unique_ptr<Operator<std::uint64_t, std::uint64_t>>(
        std::make_unique<Fused<std::uint64_t, std::uint64_t, decltype(step)...>>(std::make_tuple(step...)));
  };
  const auto op = std::apply(fused, steps);
  const std::uint64_t before = bench::allocations();
  for (auto _ : state) {
    Collector<std::uint64_t> out(batch);
    if (!op->process(batch, out).ok()) std::abort();
    auto made = out.take();
    benchmark::DoNotOptimize(made.front().records().data());
    benchmark::ClobberMemory();
  }
  const double each = static_cast<double>(bench::allocations() - before) / (static_cast<double>(state.iterations()) * 1024);
  state.counters["allocations_per_record"] = each;
  // A handful a batch (its vectors), none a record. What cannot be noise is asserted.
  if (each > 8.0 / 1024) state.SkipWithError("a fused chain allocates for each record");
  state.SetItemsProcessed(state.iterations() * 1024);
  state.counters["ns_per_record_and_operator"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * 1024 * 5 / 1e9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_FiveFused);

struct Step {
  virtual ~Step() = default;
  virtual std::uint64_t call(std::uint64_t value) = 0;
};
template <class F>
struct StepOf final : Step {
  explicit StepOf(F the_f) : f(the_f) {}
  std::uint64_t call(std::uint64_t value) override { return f(value); }
  F f;
};

void BM_FiveVirtual(benchmark::State& state) {
  const auto batch = input();
  std::vector<std::unique_ptr<Step>> steps;
  auto add = [&](auto f) { steps.push_back(std::make_unique<StepOf<decltype(f)>>(f)); };
  add([](std::uint64_t v) { return v + 1; });
  add([](std::uint64_t v) { return v != 0 ? v : 1; });
  add([](std::uint64_t v) { return v ^ (v >> 7); });
  add([](std::uint64_t v) { return v != 42 ? v : 1; });
  add([](std::uint64_t v) { return v * 3; });
  std::vector<std::uint64_t> out;
  out.reserve(batch.size());
  for (auto _ : state) {
    out.clear();
    for (std::uint64_t value : batch) {
      for (const auto& step : steps) value = step->call(value);
      out.push_back(value);
    }
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * 1024);
}
BENCHMARK(BM_FiveVirtual);

}  // namespace

BENCHMARK_MAIN();
