// Goal: a read_committed reader sees every record once, in order, with the right numbers, whenever the job is killed.
// Method: a generator writes all the while; the job copies, with the stateful operator `number` in it; it is killed with SIGKILL at
//   random times, and kills itself at each named step of the protocol; at the end the Java reader, which shares no code with the
//   engine, compares what came out with what the generator was acknowledged. A step that never fired fails the run.
//
//   kill_test --kills 200 --per-point 20 --partitions 2,4 --shards 1,2          the full run, by hand
//   kill_test --kills 8 --per-point 1 --partitions 4 --shards 2                 a share of it, in CI
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <sluice/io/base/random.h>

#include <support/broker.h>
#include <support/process.h>

#include "points.h"
#include "run.h"

namespace sluice::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Settings {
  int kills = 8;
  int per_point = 1;
  std::vector<int> partitions{4};
  std::vector<int> shards{2};
  int rate = 2000;
  std::uint64_t seed = 0;
  std::vector<std::string> points;
};

/// One combination of partitions and shards, from its topics to its verdict.
class KillRun {
 public:
  KillRun(const Settings& settings, const std::string& brokers, int partitions, int shards)
      : settings_(settings),
        random_(settings.seed + static_cast<std::uint64_t>(partitions * 100 + shards)),
        run_({.name = fmt::format("kill-p{}-s{}", partitions, shards),
              .partitions = partitions,
              .shards = shards,
              .brokers = brokers,
              .direct = brokers}) {}

  bool run() {
    run_.start_generator(settings_.rate);
    for (int kill = 0; kill < settings_.kills; ++kill) {
      if (!random_kill()) return false;
    }
    for (const std::string& point : settings_.points) {
      for (int time = 0; time < settings_.per_point; ++time) {
        if (!named_kill(point)) return false;
      }
    }
    const Verdict verdict = run_.finish();
    std::printf("partitions %d, shards %d, seed %llu: %d random kills", run_.options().partitions, run_.options().shards,
                static_cast<unsigned long long>(settings_.seed), settings_.kills);
    for (const auto& [point, count] : fired_) std::printf(", %s %d", point.c_str(), count);
    std::printf("\n%s\n", verdict.text.c_str());
    bool all_fired = true;
    for (const std::string& point : settings_.points) {
      if (settings_.per_point > 0 && fired_[point] < settings_.per_point) {
        std::printf("kill point %s fired %d times of %d\n", point.c_str(), fired_[point], settings_.per_point);
        all_fired = false;
      }
    }
    std::fflush(stdout);
    return verdict.right && all_fired;
  }

 private:
  bool random_kill() {
    Process job = run_.start_job({});
    const auto lives = milliseconds(random_.below(1800));
    if (const auto ended = job.wait(lives)) return surprised("before a random kill", *ended);
    (void)job.kill();
    return true;
  }
  bool named_kill(const std::string& point) {
    // Recovery happens once a start; the other steps are met again and again, so that some come after real work.
    const bool once = point.starts_with("recovery.");
    const std::string at = once ? point : fmt::format("{}:{}", point, 1 + random_.below(4));
    std::vector<std::string> environment{"SLUICE_KILL_AT=" + at};
    if (point.starts_with("taint.")) environment.push_back("SLUICE_FAULT_TAINT_EVERY=2");
    Process job = run_.start_job(environment);
    const auto ended = job.wait(seconds(40));
    if (!ended) {
      std::printf("kill point %s did not fire within 40 s\n%s", at.c_str(), run_.log_tail().c_str());
      (void)job.kill();
      return false;
    }
    if (ended->signal != SIGKILL) return surprised(at, *ended);
    ++fired_[point];
    return true;
  }
  bool surprised(const std::string& what, const Process::End& end) {
    std::printf("%s: the job ended by itself with %s\n%s", what.c_str(), end.to_string().c_str(), run_.log_tail().c_str());
    return false;
  }

  const Settings& settings_;
  Random random_;
  CopyRun run_;
  std::map<std::string, int> fired_;
};

}  // namespace
}  // namespace sluice::testing

int main(int argc, char** argv) {
  using namespace sluice::testing;
  Settings settings;
  CLI::App app{"Kills a job at random times and at each named step, and verifies what came out."};
  app.add_option("--kills", settings.kills, "at random times, for each combination")->capture_default_str();
  app.add_option("--per-point", settings.per_point, "kills at each named step")->capture_default_str();
  app.add_option("--partitions", settings.partitions, "of the topics")->delimiter(',')->capture_default_str();
  app.add_option("--shards", settings.shards)->delimiter(',')->capture_default_str();
  app.add_option("--rate", settings.rate, "records/s")->capture_default_str();
  app.add_option("--seed", settings.seed, "of the random times (0: drawn, and printed)");
  app.add_option("--points", settings.points, "only these named steps")->delimiter(',');
  CLI11_PARSE(app, argc, argv);
  if (settings.seed == 0) settings.seed = sluice::Random::seed_from_system() % 1'000'000 + 1;
  if (settings.points == std::vector<std::string>{"none"}) {
    settings.points.clear();
  } else if (settings.points.empty()) settings.points.assign(kKillPoints.begin(), kKillPoints.end());

  int failed = 0, passed = 0;
  for (const int partitions : settings.partitions) {
    for (const int shards : settings.shards) {
      KillRun run(settings, SharedBroker::get().bootstrap(), partitions, shards);
      ++(run.run() ? passed : failed);
    }
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
