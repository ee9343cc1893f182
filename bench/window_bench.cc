// Question  What does a record pay in a window beside a bare table that is made for the one purpose, and does a sliding window cost
//           more the more slides are in it?
// Sketch    One look-up in a flat table either way: 3 to 8 ns while it is in the caches. The window adds two compares a record for its
//           edges, and at its end a row a key.
// Baseline  A loop with boost::unordered_flat_map that does the same to the same batches, in turn within one run: BM_…BesideBare have
//           both and their ratio. Rows are counted on both sides.
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <boost/unordered/unordered_flat_map.hpp>
#include <fmt/format.h>

#include <sluice/engine/windows/windowed_stream.h>
#include <sluice/io/base/random.h>

#include "allocations.h"

namespace {

using namespace sluice;
using namespace std::chrono_literals;
using Key = std::uint64_t;
using In = Keyed<Key, std::uint64_t>;
using Counted = Windowed<Key, std::uint64_t>;

constexpr std::size_t kRecords = 2'000'000, kBatch = 512;
constexpr std::int64_t kPerMillisecond = 100;  // 100,000 records a second of event time: twenty seconds.

/// Times in order; `keys` alive at a time, and slowly others, as auctions and bidders are.
std::vector<Batch<In>> stream(std::uint64_t keys, bool moving) {
  Random random(11);
  std::vector<Batch<In>> batches;
  const KeyGroups groups;
  for (std::size_t n = 0; n < kRecords; ++n) {
    if (n % kBatch == 0) {
      batches.emplace_back();
      batches.back().records().reserve(kBatch);
      batches.back().times().reserve(kBatch);
    }
    const Key key = random.below(keys) + (moving ? n / 16 : 0);
    batches.back().records().push_back({key, n, groups.of<Key>(key)});
    batches.back().times().push_back(EventTime(EventDuration(static_cast<std::int64_t>(n) / kPerMillisecond)));
  }
  return batches;
}

// The thread's own time: others use the machine too.
double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}
double median(std::vector<double> all) {
  std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2));
  return all[all.size() / 2];
}

struct Said {
  std::uint64_t rows = 0, sum = 0;
  bool operator==(const Said&) const = default;
};

/// A window operator over the stream, a watermark a batch, as it is called by the engine.
template <class Op>
Said run(Op& op, const std::vector<Batch<In>>& batches) {
  Said said;
  Context context;
  StateSet states;
  op.declare(states);
  for (const auto& [name, state] : states.all()) state->open(context);
  if (!op.open(context).ok()) std::abort();
  const auto take = [&](Collector<Counted>& out) {
    for (const Batch<Counted>& made : out.take()) {
      for (const Counted& row : made) said.sum += row.value;
      said.rows += made.size();
    }
  };
  for (const Batch<In>& batch : batches) {
    Collector<Counted> out(batch);
    if (!op.process(batch, out).ok()) std::abort();
    take(out);
    Collector<Counted> due;
    if (!op.on_watermark(batch.times().back(), due).ok()) std::abort();
    take(due);
  }
  Collector<Counted> due;
  if (!op.on_watermark(EventTime::max(), due).ok()) std::abort();
  take(due);
  return said;
}
template <class Assigner>
Said windows(Assigner assigner, const std::vector<Batch<In>>& batches) {
  internal::SliceWindows<Key, std::uint64_t, internal::CountOf, Assigner, AtEnd> op(assigner, {}, {}, {});
  return run(op, batches);
}

Said bare_tumbling(std::int64_t size, const std::vector<Batch<In>>& batches) {
  Said said;
  boost::unordered_flat_map<Key, std::uint64_t> table;
  std::vector<Counted> rows;
  std::int64_t end = size;
  const auto close = [&] {
    for (const auto& [key, count] : table) rows.push_back({key, {}, count});
    for (const Counted& row : rows) said.sum += row.value;
    said.rows += rows.size();
    rows.clear();
    table.clear();
  };
  for (const Batch<In>& batch : batches) {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::int64_t time = batch.times()[i].time_since_epoch().count();
      if (time >= end) {
        close();
        end = time - time % size + size;
      }
      ++table[batch[i].key];
    }
  }
  close();
  return said;
}

/// As bench/nexmark/loops/windows.h does q5.
template <std::size_t kSlices>
Said bare_sliding(std::int64_t slide, const std::vector<Batch<In>>& batches) {
  struct Counts {
    std::array<std::uint32_t, kSlices> slices{};
    std::uint32_t total = 0;
  };
  Said said;
  boost::unordered_flat_map<Key, Counts> table;
  std::vector<Counted> rows;
  std::int64_t end = slide;
  std::size_t slice = 0;
  const auto close = [&] {
    const std::size_t oldest = (slice + 1) % kSlices;
    for (auto at = table.begin(); at != table.end();) {
      Counts& counts = at->second;
      rows.push_back({at->first, {}, counts.total});
      counts.total -= std::exchange(counts.slices[oldest], 0);
      if (counts.total == 0) {
        table.erase(at++);
      } else {
        ++at;
      }
    }
    for (const Counted& row : rows) said.sum += row.value;
    said.rows += rows.size();
    rows.clear();
    slice = oldest;
    end += slide;
  };
  for (const Batch<In>& batch : batches) {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::int64_t time = batch.times()[i].time_since_epoch().count();
      while (time >= end) close();
      Counts& counts = table[batch[i].key];
      ++counts.slices[slice];
      ++counts.total;
    }
  }
  while (!table.empty()) close();
  return said;
}

/// As bench/nexmark/loops/keyed.h does q11: it speaks once a gap, not at every watermark.
Said bare_sessions(std::int64_t gap, const std::vector<Batch<In>>& batches) {
  struct One {
    std::int64_t start = 0, last = 0, count = 0;
  };
  Said said;
  boost::unordered_flat_map<Key, One> table;
  std::vector<Counted> rows;
  std::int64_t next = 0;
  const auto emit = [&](Key key, const One& one) { rows.push_back({key, {}, static_cast<std::uint64_t>(one.count)}); };
  const auto sweep = [&](std::int64_t time) {
    for (auto at = table.begin(); at != table.end();) {
      if (time < at->second.last + gap) {
        ++at;
      } else {
        emit(at->first, at->second);
        table.erase(at++);
      }
    }
    next = time + gap;
    for (const Counted& row : rows) said.sum += row.value;
    said.rows += rows.size();
    rows.clear();
  };
  for (const Batch<In>& batch : batches) {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::int64_t time = batch.times()[i].time_since_epoch().count();
      if (time >= next) sweep(time);
      One& one = table[batch[i].key];
      if (one.count > 0 && time >= one.last + gap) {
        emit(batch[i].key, one);
        one.count = 0;
      }
      if (one.count == 0) one.start = time;
      one.last = time;
      ++one.count;
    }
  }
  sweep(std::numeric_limits<std::int64_t>::max());
  return said;
}

template <class Bare, class Ours>
void compare(benchmark::State& state, Bare&& bare, Ours&& ours) {
  std::vector<double> bare_ns, ours_ns;
  Said said, expected;
  (void)ours();
  for (auto _ : state) {
    const double start = cpu_ns();
    expected = bare();
    const double middle = cpu_ns();
    said = ours();
    bare_ns.push_back(middle - start);
    ours_ns.push_back(cpu_ns() - middle);
  }
  if (said != expected) state.SkipWithError("the two do not say the same");
  const double ratio = median(bare_ns) / median(ours_ns);
  state.counters["bare_ns"] = median(bare_ns) / kRecords;
  state.counters["window_ns"] = median(ours_ns) / kRecords;
  state.counters["rows"] = static_cast<double>(said.rows);
  state.counters["ratio"] = ratio;
}

void BM_TumblingBesideBare(benchmark::State& state) {
  const auto batches = stream(static_cast<std::uint64_t>(state.range(0)), false);
  compare(state, [&] { return bare_tumbling(10'000, batches); }, [&] { return windows(tumbling(10s), batches); });
}
BENCHMARK(BM_TumblingBesideBare)->ArgName("keys")->Arg(100)->Arg(10'000)->Arg(1'000'000)->Iterations(7)->Unit(benchmark::kMillisecond);

void BM_SlidingBesideBare(benchmark::State& state) {
  const auto batches = stream(static_cast<std::uint64_t>(state.range(0)), state.range(1) != 0);
  compare(state, [&] { return bare_sliding<5>(2'000, batches); }, [&] { return windows(sliding(10s, 2s), batches); });
}
BENCHMARK(BM_SlidingBesideBare)->ArgNames({"keys", "moving"})->ArgsProduct({{100, 10'000}, {0, 1}})->Iterations(7)
    ->Unit(benchmark::kMillisecond);

void BM_SessionsBesideBare(benchmark::State& state) {
  const auto batches = stream(static_cast<std::uint64_t>(state.range(0)), state.range(1) != 0);
  compare(state, [&] { return bare_sessions(1'000, batches); },
          [&] {
            internal::SessionWindows<Key, std::uint64_t, internal::CountOf> op(session(1s), {}, {});
            return run(op, batches);
          });
}
BENCHMARK(BM_SessionsBesideBare)->ArgNames({"keys", "moving"})->ArgsProduct({{100, 10'000}, {0, 1}})->Iterations(7)
    ->Unit(benchmark::kMillisecond);

/// A slide of 100 ms; ten thousand records of a thousand keys in each. `max`: what cannot be taken off again.
template <class A>
void BM_SizeBySlide(benchmark::State& state) {
  const auto batches = stream(1'000, false);
  std::uint64_t rows = 0;
  for (auto _ : state) {
    internal::SliceWindows<Key, std::uint64_t, A, Sliding, AtEnd> op(sliding(100ms * state.range(0), 100ms), A{}, {}, {});
    rows = run(op, batches).rows;
  }
  const auto records = static_cast<double>(state.iterations()) * static_cast<double>(kRecords);
  state.counters["ns_per_record"] = benchmark::Counter(records / 1e9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  // Windows at the two ends of the stream are rows too: more of them the longer a window is.
  state.counters["rows"] = static_cast<double>(rows);
}
BENCHMARK(BM_SizeBySlide<internal::CountOf>)->ArgName("size_by_slide")->Arg(5)->Arg(50)->Arg(500)->Unit(benchmark::kMillisecond);
using Max = internal::ExtremeOf<std::uint64_t, std::identity, std::greater<>>;
BENCHMARK(BM_SizeBySlide<Max>)->ArgName("size_by_slide")->Arg(5)->Arg(50)->Arg(500)->Unit(benchmark::kMillisecond);

// What cannot be noise is asserted: a record of a key that its window has allocates nothing.
void BM_Allocations(benchmark::State& state) {
  const auto batches = stream(100, false);
  internal::SliceWindows<Key, std::uint64_t, internal::CountOf, Tumbling, AtEnd> op(tumbling(1h), {}, {}, {});
  internal::SessionWindows<Key, std::uint64_t, internal::CountOf> sessions(session(1h), {}, {});
  Context context;
  if (!op.open(context).ok() || !sessions.open(context).ok()) std::abort();
  Collector<Counted> out;
  if (!op.process(batches[0], out).ok() || !sessions.process(batches[0], out).ok()) std::abort();
  std::uint64_t within = 0;
  for (auto _ : state) {
    const std::uint64_t before = bench::allocations();
    for (const auto& batch : batches) {
      if (!op.process(batch, out).ok() || !sessions.process(batch, out).ok()) std::abort();
    }
    within += bench::allocations() - before;
  }
  state.counters["allocations"] = static_cast<double>(within);
  if (within != 0) state.SkipWithError("a record of a key that is there allocates");
}
BENCHMARK(BM_Allocations)->Iterations(3)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
