// Goal: the keyed count of a shuffled stream is that of a single thread, though the job is killed at random and comes back with another
// number of shards each time.
// Method: rounds of a bounded job without Kafka (tests/kill/keyed_count.cc): SIGKILL some milliseconds behind each start, 1, 2, 1 …
//   shards, until the round's kills are used up; then to its end. Each count that is told (every 16th of a key) and each total must
//   be there exactly once. Counts twice, and none lost: what a key's state says is what was read. Some restores must have come from changes.
//
//   keyed_test --kills 100                  the run by hand
//   keyed_test --kills 10 --per-round 5     a share of it, in CI
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <sluice/io/base/random.h>

#include <support/process.h>

#include "keyed_input.h"
#include "run.h"

namespace sluice::testing {
namespace {

using std::chrono::milliseconds;
namespace fs = std::filesystem;

struct Settings {
  int kills = 10;
  int per_round = 5;
  int lives_ms = 400;  // At most, between a start and its kill.
  std::uint64_t seed = 0;
  std::vector<int> shards{1, 2, 1};
  KeyedInput input;
};

struct Totals {
  int kills = 0, ended_early = 0, from_changes = 0;
};

/// What is wrong with the files in `out`; empty: nothing.
std::string judge(const fs::path& out, const std::map<std::uint64_t, std::uint64_t>& totals) {
  std::map<std::uint64_t, std::set<std::uint64_t>> told;
  std::map<std::uint64_t, std::uint64_t> ended;
  for (const auto& entry : fs::directory_iterator(out)) {
    if (entry.path().extension() == ".tmp") continue;  // Of an epoch that nobody decided.
    std::ifstream file(entry.path());
    std::string what;
    std::uint64_t key = 0, count = 0;
    while (file >> what >> key >> count) {
      const bool first = what == "total" ? ended.emplace(key, count).second : told[key].insert(count).second;
      if (!first) return fmt::format("{} {} {} is there twice (again in {})", what, key, count, entry.path().string());
    }
  }
  if (ended != totals) {
    for (const auto& [key, total] : totals) {
      if (!ended.contains(key)) return fmt::format("key {} has no total, expected {}", key, total);
      if (ended[key] != total) return fmt::format("key {} has the total {}, expected {}", key, ended[key], total);
    }
    return "there are totals of keys that never came";
  }
  for (const auto& [key, total] : totals) {
    if (told[key].size() != total / kToldEvery) {
      return fmt::format("key {}: {} counts told, expected {}", key, told[key].size(), total / kToldEvery);
    }
    if (!told[key].empty() && *told[key].rbegin() > total) return fmt::format("key {}: count {} of {}", key, *told[key].rbegin(), total);
  }
  return {};
}

class Round {
 public:
  Round(const Settings& settings, Random& random, Totals& totals) : settings_(settings), random_(random), all_(totals) {}

  bool run(const std::map<std::uint64_t, std::uint64_t>& totals) {
    for (int kill = 0; kill < settings_.per_round && all_.kills < settings_.kills; ++kill) {
      Process job = start();
      const auto lives = milliseconds(random_.below(static_cast<std::uint64_t>(settings_.lives_ms)) + 1);
      if (const auto ended = job.wait(lives)) {
        if (!ended->ok()) return surprised(*ended);
        ++all_.ended_early;
        break;
      }
      (void)job.kill();
      ++all_.kills;
      const fs::path newest = newest_checkpoint(directory_.path() / "state");
      all_.from_changes += !newest.empty() && builds_on_others(newest);
    }
    Process last = start();
    const auto ended = last.wait(std::chrono::minutes(5));
    if (!ended) {
      std::printf("the last run did not end within five minutes\n");
      (void)last.kill();
      return false;
    }
    if (!ended->ok()) return surprised(*ended);
    const std::string wrong = judge(directory_.path() / "out", totals);
    if (!wrong.empty()) std::printf("%s\n", wrong.c_str());
    return wrong.empty();
  }

 private:
  Process start() {
    const int shards = settings_.shards[static_cast<std::size_t>(starts_++) % settings_.shards.size()];
    Process::Options options;
    options.arguments = {program("keyed_count"), "--directory", (directory_.path() / "state").string(), "--out",
                         (directory_.path() / "out").string(), "--shards", std::to_string(shards), "--records",
                         std::to_string(settings_.input.records), "--keys", std::to_string(settings_.input.keys)};
    options.stderr_file = directory_.path() / "log";
    return Process(std::move(options));
  }
  bool surprised(const Process::End& end) {
    std::printf("start %d ended by itself with %s\n", starts_, end.to_string().c_str());
    std::printf("%s", tail_of(directory_.path() / "log").c_str());
    return false;
  }

  const Settings& settings_;
  Random& random_;
  Totals& all_;
  TempDirectory directory_;
  int starts_ = 0;
};

}  // namespace
}  // namespace sluice::testing

int main(int argc, char** argv) {
  using namespace sluice::testing;
  Settings settings;
  CLI::App app{"Kills the keyed count at random and compares it with one thread's."};
  app.add_option("--kills", settings.kills, "in all")->capture_default_str();
  app.add_option("--per-round", settings.per_round, "before a round may come to its end")->capture_default_str();
  app.add_option("--lives-ms", settings.lives_ms, "from a start to its kill, at most")->capture_default_str();
  app.add_option("--seed", settings.seed, "0: from the system");
  app.add_option("--shards", settings.shards, "one start after the other")->delimiter(',')->capture_default_str();
  app.add_option("--records", settings.input.records, "of each split")->capture_default_str();
  app.add_option("--keys", settings.input.keys)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (settings.seed == 0) settings.seed = sluice::Random::seed_from_system() % 1'000'000'000 + 1;
  std::printf("seed %llu\n", static_cast<unsigned long long>(settings.seed));
  sluice::Random random(settings.seed);
  const auto totals = settings.input.totals();
  Totals all;
  int rounds = 0;
  for (; all.kills < settings.kills; ++rounds) {
    Round round(settings, random, all);
    if (!round.run(totals)) {
      std::printf("round %d, kill %d, seed %llu: wrong\n", rounds + 1, all.kills, static_cast<unsigned long long>(settings.seed));
      return 1;
    }
    if (all.ended_early > settings.kills) {
      std::printf("the job ends before it can be killed: more --records\n");
      return 1;
    }
  }
  std::printf("%d kills in %d rounds, %d of them restored from changes: as one thread counts\n", all.kills, rounds, all.from_changes);
  return all.from_changes > 0 ? 0 : 1;
}
