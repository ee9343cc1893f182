#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

namespace sluice::nexmark {

/// What is timed, how often, and how it is told. `bench/nexmark/run` reads the JSON of every kind:
/// the loops, sluice and the peers print the same line.
struct Timed {
  std::string kind, query;
  std::uint64_t events = 0;
  unsigned shards = 1, warm_ups = 1, repeats = 5;
  bool json = false;
};

[[nodiscard]] inline double process_cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// The runs that count.
struct Timing {
  std::vector<double> seconds, cpu_seconds;
  std::uint64_t rows = 0;
  void add(double wall, double cpu, std::uint64_t its_rows) {
    seconds.push_back(wall);
    cpu_seconds.push_back(cpu);
    rows = its_rows;
  }
};

/// Prints the medians of wall time and of the CPU time of all threads.
inline void report(const Timed& timed, Timing timing) {
  const auto median = [](std::vector<double>& values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  };
  const double wall = median(timing.seconds), cpu = median(timing.cpu_seconds);
  const auto events = static_cast<double>(timed.events);
  if (timed.json) {
    fmt::print(
        "{{\"schema_version\":1,\"bench\":\"nexmark\",\"kind\":\"{}\",\"query\":\"{}\",\"events\":"
        "{},\"parallelism\":{},\"repeats\":{},\"rows\":{},\"seconds\":{:.4f},\"cpu_seconds\":"
        "{:.4f},\"events_per_second\":{:.0f},\"events_per_cpu_second\":{:.0f}}}\n",
        timed.kind, timed.query, timed.events, timed.shards, timed.repeats, timing.rows, wall, cpu,
        events / wall, events / cpu);
  } else {
    fmt::print(
        "{:<9} {:12.0f} events/s {:12.0f} events/CPU-s {:8.1f} ns of CPU an event, {} rows\n",
        timed.query, events / wall, events / cpu, cpu * 1e9 / events, timing.rows);
  }
  std::fflush(stdout);
}

/// Calls `once`, which returns its number of rows, and reports. Sketch: two clock reads around a second of work.
template <class Once>
void report_timed(const Timed& timed, Once once) {
  Timing timing;
  for (unsigned at = 0; at < timed.warm_ups + timed.repeats; ++at) {
    const double cpu = process_cpu_seconds();
    const auto start = std::chrono::steady_clock::now();
    const std::uint64_t rows = once();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    if (at >= timed.warm_ups) timing.add(wall.count(), process_cpu_seconds() - cpu, rows);
  }
  report(timed, std::move(timing));
}

}  // namespace sluice::nexmark
