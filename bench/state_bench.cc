// Question  What does an update of keyed state cost beside a bare table, how long does it stall while it grows, and what do a
//           barrier and a snapshot cost?
// Sketch    A cache miss or two a key either way; the group's hash (two products) and the epoch's mark (a compare) come on top.
// Baseline  A boost::unordered_flat_map with its own hash, on the same keys in the same order, in turn within one run:
//           BM_UpdateBesideBare has both and their ratio.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <boost/unordered/unordered_flat_map.hpp>
#include <fmt/format.h>

#include <sluice/engine/keyed_state.h>
#include <sluice/io/base/random.h>

#include "allocations.h"

namespace {

using namespace sluice;
using Key = std::uint64_t;
using Bare = boost::unordered_flat_map<Key, std::uint64_t>;
using Kept = ValueState<Key, std::uint64_t>;

constexpr std::size_t kUpdates = 1'000'000;
constexpr double kLeast = 0.6;  // Of the bare table's rate, on a million keys.

std::vector<Key> updates(std::uint64_t keys) {
  Random random(7);
  std::vector<Key> made(kUpdates);
  for (Key& key : made) key = random.below(keys) * 0x9e3779b97f4a7c15ull;
  return made;
}
template <class Table>
void fill(Table& table, std::uint64_t keys) {
  for (std::uint64_t i = 0; i < keys; ++i) table[i * 0x9e3779b97f4a7c15ull] = i;
}

// The thread's own time: others use the machine too.
double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}
template <class Work>
double timed(Work&& work) {
  const double before = cpu_ns();
  work();
  return cpu_ns() - before;
}
double median(std::vector<double> all) {
  std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2));
  return all[all.size() / 2];
}
double sum_of(const Bare& table) {
  double sum = 0;
  for (const auto& [key, value] : table) sum += static_cast<double>(value);
  return sum;
}
double sum_of(const Kept& table) {
  double sum = 0;
  table.for_each([&](Key, std::uint64_t value) { sum += static_cast<double>(value); });
  return sum;
}

void BM_UpdateBesideBare(benchmark::State& state) {
  const auto keys = static_cast<std::uint64_t>(state.range(0));
  const bool barriers = state.range(1) != 0;  // One before each million updates: each key is noted once.
  const bool grouped = state.range(2) != 0;   // The key's group comes with the record, as behind key_by.
  const std::vector<Key> stream = updates(keys);
  std::vector<KeyGroup> groups;
  for (const Key key : stream) groups.push_back(KeyGroups().of(key));
  Bare bare;
  Kept kept;
  fill(bare, keys);
  fill(kept, keys);
  kept.mark(Epoch(1));
  kept.confirm(Epoch(1));
  std::vector<double> bare_ns, kept_ns;
  std::uint64_t epoch = 1;
  const auto update_bare = [&] { for (const Key key : stream) ++bare[key]; };
  const auto update_kept = [&] {
    if (barriers) {
      kept.mark(Epoch(++epoch));
      kept.confirm(Epoch(epoch));
    }
    if (!grouped) {
      for (const Key key : stream) ++kept[key];
    } else {
      for (std::size_t i = 0; i < stream.size(); ++i) ++kept.in_group(stream[i], groups[i]);
    }
  };
  update_kept();
  update_bare();
  std::uint64_t within = 0;
  for (auto _ : state) {
    bare_ns.push_back(timed(update_bare));
    const std::uint64_t before = bench::allocations();
    const double took = timed(update_kept);
    within += bench::allocations() - before;
    kept_ns.push_back(took);
  }
  if (sum_of(bare) != sum_of(kept)) state.SkipWithError("the two tables do not hold the same");
  const double ratio = median(bare_ns) / median(kept_ns);
  state.counters["bare_ns"] = median(bare_ns) / kUpdates;
  state.counters["state_ns"] = median(kept_ns) / kUpdates;
  state.counters["ratio"] = ratio;
  if (!barriers && within != 0) state.SkipWithError("an update of a key that is there allocates");
  if (keys == 1'000'000 && grouped && ratio < kLeast) {
    const std::string slow = fmt::format("{:.1f} ns, bare {:.1f}: {:.2f} of its rate, {} is asked for", median(kept_ns) / kUpdates,
                                         median(bare_ns) / kUpdates, ratio, kLeast);
    state.SkipWithError(slow.c_str());
  }
}
BENCHMARK(BM_UpdateBesideBare)->ArgNames({"keys", "barriers", "grouped"})->ArgsProduct({{1'000, 100'000, 1'000'000}, {0, 1}, {0, 1}})
    ->Iterations(15)->Unit(benchmark::kMillisecond);

// The longest of any 16 insertions, on the way to 14 million entries.
template <class Table>
void BM_GrowthStall(benchmark::State& state) {
  double worst = 0;
  for (auto _ : state) {
    Table table;
    for (std::uint64_t i = 0; i < 14'000'000; i += 16) {
      worst = std::max(worst, timed([&] { for (std::uint64_t k = i; k < i + 16; ++k) table[k] = k; }));
    }
    benchmark::DoNotOptimize(table.size());
  }
  state.counters["worst_ms"] = worst / 1e6;
}
BENCHMARK(BM_GrowthStall<Kept>)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_GrowthStall<Bare>)->Iterations(1)->Unit(benchmark::kMillisecond);

// A barrier, and the snapshots of a million keys: all of them, and what one per cent of changes costs.
void BM_Mark(benchmark::State& state) {
  Kept kept;
  fill(kept, static_cast<std::uint64_t>(state.range(0)));
  std::uint64_t epoch = 0;
  for (auto _ : state) {
    kept.mark(Epoch(++epoch));
    kept.confirm(Epoch(epoch));
  }
}
BENCHMARK(BM_Mark)->ArgName("keys")->Arg(1'000)->Arg(1'000'000)->Unit(benchmark::kMicrosecond);

void BM_Save(benchmark::State& state) {
  Kept kept;
  fill(kept, 1'000'000);
  std::string bytes;
  for (auto _ : state) {
    bytes.clear();
    kept.save(bytes);
  }
  state.counters["bytes"] = static_cast<double>(bytes.size());
  state.SetItemsProcessed(state.iterations() * 1'000'000);
}
BENCHMARK(BM_Save)->Unit(benchmark::kMillisecond);

void BM_SaveOnePercent(benchmark::State& state) {
  Kept kept;
  fill(kept, 1'000'000);
  kept.mark(Epoch(1));
  kept.confirm(Epoch(1));
  for (std::uint64_t i = 0; i < 10'000; ++i) ++kept[i * 97 * 0x9e3779b97f4a7c15ull];
  std::string bytes;
  for (auto _ : state) {
    bytes.clear();
    kept.save_changes(bytes);
  }
  state.counters["bytes"] = static_cast<double>(bytes.size());
  state.SetItemsProcessed(state.iterations() * 10'000);
}
BENCHMARK(BM_SaveOnePercent)->Unit(benchmark::kMillisecond);

void BM_Restore(benchmark::State& state) {
  Kept kept;
  fill(kept, 1'000'000);
  std::string bytes;
  kept.save(bytes);
  for (auto _ : state) {
    Kept restored;
    if (!restored.restore(bytes, Context()).ok() || restored.size() != 1'000'000) state.SkipWithError("not restored");
  }
  state.SetItemsProcessed(state.iterations() * 1'000'000);
}
BENCHMARK(BM_Restore)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
