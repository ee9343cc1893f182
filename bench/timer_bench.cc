// Question  What does a timer cost, to set and to fire, with ten million of them pending?
// Sketch    A few moves from bucket to bucket, 16 bytes each and mostly in order of memory, and a sort of those of one millisecond:
//           some 10 ns to set, some 30 to fire.
// Baseline  A binary heap with a set of what is in it, which is what setting a timer twice asks for. In the same run; 2 million
//           only, it takes its time.
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <boost/unordered/unordered_flat_set.hpp>
#include <fmt/format.h>

#include <sluice/engine/timers.h>
#include <sluice/io/base/random.h>

namespace {

using namespace sluice;
using Key = std::uint64_t;

constexpr std::int64_t kStart = 1'700'000'000'000;
constexpr double kMost_ns = 100;

double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}
EventTime ms(std::int64_t since_start) { return EventTime(EventDuration(kStart + since_start)); }

class Heap {
 public:
  void set(EventTime time, Key key) {
    if (set_.insert({time, key}).second) heap_.push({time, key});
  }
  template <class F>
  void fire(EventTime until, F&& fired) {
    while (!heap_.empty() && heap_.top().first <= until) {
      const auto [time, key] = heap_.top();
      heap_.pop();
      set_.erase({time, key});
      fired(time, key);
    }
  }

 private:
  using One = std::pair<EventTime, Key>;
  struct Hash {
    using is_avalanching = void;
    std::size_t operator()(const One& one) const {
      return KeyHash<Key>::hash(one.second, static_cast<std::uint64_t>(one.first.time_since_epoch().count()));
    }
  };
  std::priority_queue<One, std::vector<One>, std::greater<>> heap_;
  boost::unordered_flat_set<One, Hash> set_;
};

/// Of one timer.
void judge(benchmark::State& state, double set_ns, double fire_ns, bool limited) {
  state.counters["set_ns"] = set_ns;
  state.counters["fire_ns"] = fire_ns;
  if (limited && std::max(set_ns, fire_ns) > kMost_ns) state.SkipWithError("more than 100 ns");
}

// All are set, for any time within the next hour; then the watermark goes through it by 100 ms.
template <class Queue>
void BM_AllAtOnce(benchmark::State& state) {
  const auto timers = static_cast<std::uint64_t>(state.range(0));
  constexpr std::int64_t kHour = 3'600'000;
  double set_ns = 0, fire_ns = 0;
  for (auto _ : state) {
    Queue queue;
    Random random(3);
    queue.set(ms(1), 1);
    queue.fire(ms(1), [](EventTime, Key) {});  // A watermark has come before.
    std::vector<std::pair<EventTime, Key>> input(1'024);
    for (std::uint64_t done = 0; done < timers; done += input.size()) {
      for (std::size_t i = 0; i < input.size(); ++i) {
        input[i] = {ms(2 + static_cast<std::int64_t>(random.below(kHour))), done + i};
      }
      const double before = cpu_ns();
      for (const auto& [time, key] : input) queue.set(time, key);
      set_ns += cpu_ns() - before;
    }
    std::uint64_t fired = 0, sum = 0;
    const double before = cpu_ns();
    for (std::int64_t now = 0; now <= kHour + 100; now += 100) {
      queue.fire(ms(now), [&](EventTime, Key key) {
        ++fired;
        sum += key;
      });
    }
    fire_ns += cpu_ns() - before;
    const std::uint64_t all = (timers + input.size() - 1) / input.size() * input.size();
    if (fired != all || sum != all * (all - 1) / 2) state.SkipWithError("not every timer fired once");
  }
  const double count = static_cast<double>(timers) * static_cast<double>(state.iterations());
  judge(state, set_ns / count, fire_ns / count, std::is_same_v<Queue, Timers<Key>>);
}
BENCHMARK(BM_AllAtOnce<Timers<Key>>)->ArgName("timers")->Arg(2'000'000)->Arg(10'000'000)->Iterations(3)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_AllAtOnce<Heap>)->ArgName("timers")->Arg(2'000'000)->Iterations(1)->Unit(benchmark::kMillisecond);

// So many are pending all the time: each record sets one, about a minute ahead and out of order by a second; the watermark follows
// the batches.
template <class Queue>
void BM_Steady(benchmark::State& state) {
  const auto pending = static_cast<std::uint64_t>(state.range(0));
  const double per_ms = static_cast<double>(pending) / 60'000;
  double set_ns = 0, fire_ns = 0;
  std::uint64_t count = 0, fired = 0;
  for (auto _ : state) {
    Queue queue;
    Random random(3);
    std::vector<std::pair<EventTime, Key>> input(1'024);
    for (std::uint64_t n = 0; n < pending * 3; n += input.size()) {
      const auto now = static_cast<std::int64_t>(static_cast<double>(n) / per_ms);
      for (auto& [time, key] : input) {
        time = ms(now + 60'000 + static_cast<std::int64_t>(random.below(1'000)));
        key = random.below(pending);
      }
      const double before = cpu_ns();
      for (const auto& [time, key] : input) queue.set(time, key);
      const double between = cpu_ns();
      queue.fire(ms(now), [&](EventTime, Key) { ++fired; });
      set_ns += between - before;
      fire_ns += cpu_ns() - between;
      count += input.size();
    }
  }
  judge(state, set_ns / static_cast<double>(count), fire_ns / static_cast<double>(fired), std::is_same_v<Queue, Timers<Key>>);
}
BENCHMARK(BM_Steady<Timers<Key>>)->ArgName("pending")->Arg(100'000)->Arg(10'000'000)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Steady<Heap>)->ArgName("pending")->Arg(100'000)->Iterations(1)->Unit(benchmark::kMillisecond);

// The same timer of each of a thousand keys with every record.
void BM_SetAgain(benchmark::State& state) {
  Timers<Key> timers;
  timers.fire(ms(0), [](EventTime, Key) {});
  Key key = 0;
  for (auto _ : state) timers.set(ms(60'000), key++ % 1'000);
  state.counters["kept"] = static_cast<double>(timers.size());
}
BENCHMARK(BM_SetAgain);

}  // namespace

BENCHMARK_MAIN();
