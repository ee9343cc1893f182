// Question  What does an event of nexmark cost in sluice, query by query?
// Method    Jobs of the public API in this process, a job a run: events made by its shards, rows counted, or with --digest digested. Timed
//           as the loops and the peers are (timed.h); bench/nexmark/run compares them.
#include "nexmark/queries/queries.h"
#include "nexmark/timed.h"
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <sluice/io/base/allocator.h>
#include <sluice/io/base/log.h>

namespace {

using namespace sluice;
using namespace sluice::nexmark;

}  // namespace

int main(int argc, char** argv) {
  sluice::keep_freed_memory();
  const std::vector<Query> all = all_queries();
  std::vector<std::string> known, queries;
  for (const Query& query : all) known.emplace_back(query.name);
  Timed timed{.kind = "sluice", .query = {}, .events = 1'000'000};
  QueryRun run;
  bool list = false;
  CLI::App app{"Nexmark's queries as sluice's jobs: events a second and a CPU-second, or what they answer."};
  app.add_option("--query", queries, "which; all when not given")->check(CLI::IsMember(known));
  app.add_option("--events", run.events, "the first so many of the stream")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--seed", run.generator.seed, "of the stream")->capture_default_str();
  app.add_option("--rate", run.generator.rate_per_second, "events in a second of event time")
      ->check(CLI::Range(1, 1'000'000'000))
      ->capture_default_str();
  app.add_option("--shards", run.shards, "threads")->check(CLI::Range(1, 64))->capture_default_str();
  app.add_option("--warm-ups", timed.warm_ups, "runs before the first that counts")->capture_default_str();
  app.add_option("--repeat,--repeats", timed.repeats, "runs that count; the figures are medians")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--json", timed.json, "one object a line");
  app.add_flag("--digest", run.digests, "print query, rows and digest, and time nothing");
  app.add_flag("--list", list, "print the names of the queries");
  CLI11_PARSE(app, argc, argv);

  log().set_level(spdlog::level::warn);  // A line a run would be all there is to see.
  if (list) {
    for (const std::string& name : known) std::printf("%s\n", name.c_str());
    return 0;
  }
  timed.events = run.events;
  timed.shards = run.shards;
  for (const Query& query : all) {
    if (!queries.empty() && std::find(queries.begin(), queries.end(), query.name) == queries.end()) continue;
    timed.query = query.name;
    Timing timing;
    for (unsigned at = 0; at < (run.digests ? 1 : timed.warm_ups + timed.repeats); ++at) {
      const Result<std::shared_ptr<Answer>> answer = run_query(query, run);
      if (!answer.ok()) {
        std::fprintf(stderr, "nexmark_sluice: %s: %s\n", timed.query.c_str(), answer.status().to_string().c_str());
        return 1;
      }
      if (run.digests) {
        std::printf("%s %s\n", timed.query.c_str(), (*answer)->digest().text().c_str());
        std::fflush(stdout);
      } else if (at >= timed.warm_ups) {
        timing.add((*answer)->seconds(), (*answer)->cpu_seconds(), (*answer)->rows());
      }
    }
    if (!run.digests) report(timed, std::move(timing));
  }
  return 0;
}
