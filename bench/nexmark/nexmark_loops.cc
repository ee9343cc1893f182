// The queries by hand, timed as the peers are, for bench/nexmark/run: the baseline of its ratios.
// nexmark_bench answers the same question with Google Benchmark's statistics.
#include "nexmark/digest.h"
#include "nexmark/loops.h"
#include "nexmark/timed.h"
#include <CLI/CLI.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include <sluice/io/base/allocator.h>

namespace {

using namespace sluice::nexmark;

/// Making the events and nothing else: what each query's figure includes.
std::uint64_t generate(const Generator& generator, std::uint64_t events) {
  std::array<Event, kBatchEvents> batch;
  for (std::uint64_t first = 0; first < events; first += kBatchEvents) {
    generator.fill(first, batch);
    asm volatile("" : : "r"(batch.data()) : "memory");  // As if somebody read them.
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  sluice::keep_freed_memory();
  std::vector<std::string> queries;
  std::set<std::string> known(kQueries.begin(), kQueries.end());
  known.insert({"events", "generator"});
  Timed timed{.kind = "loops", .query = {}, .events = 1'000'000};
  Generator::Options options;
  CLI::App app{"Nexmark's queries by hand on one thread: events a second and a CPU-second."};
  app.add_option("--query", queries, "which; \"generator\" makes the events only")
      ->check(CLI::IsMember(known));
  app.add_option("--events", timed.events, "the first so many of the stream")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seed", options.seed, "of the stream")->capture_default_str();
  app.add_option("--rate", options.rate_per_second, "events in a second of event time")
      ->check(CLI::Range(1, 1'000'000'000))
      ->capture_default_str();
  app.add_option("--warm-ups", timed.warm_ups, "runs before the first that counts")
      ->capture_default_str();
  app.add_option("--repeats", timed.repeats, "runs that count; the figures are medians")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--json", timed.json, "one object a line");
  bool list = false;
  app.add_flag("--list", list, "print the names of the queries");
  CLI11_PARSE(app, argc, argv);

  if (list) {
    for (const std::string& name : known) std::printf("%s\n", name.c_str());
    return 0;
  }
  const Generator generator(options);
  for (const std::string& query : queries) {
    timed.query = query;
    report_timed(timed, [&]() -> std::uint64_t {
      if (query == "generator") return generate(generator, timed.events);
      CountRows out;
      run(query, generator, timed.events, out);
      asm volatile("" : : "r"(out.folded));  // Nothing that a row needs is optimised away.
      return out.rows;
    });
  }
  return 0;
}
