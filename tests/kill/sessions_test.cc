// Goal: the keyed count, the timers and the sessions of a shuffled stream are those of a single thread, exactly once, though the job is
// killed at random and comes back with another number of shards each time.
// Method: a feed writes the stream all the while (shuffled_stream.h); the job (count_and_sessions.cc) reads it, 1, 2, 1 … shards, and gets
//   SIGKILL again and again: every fifth time some milliseconds behind its start, which may be in its recovery, else some milliseconds
//   behind a few checkpoints of its own, so that there is always something done and something under way. Then the feed stops, the job
//   comes to the end, and what Kafka's Java client reads as committed is compared with a reference that shares nothing with the engine.
//   The run fails too when kills did not hit work, when a number of shards did none, or when no restore came from changes.
//
//   sessions_test --kills 100              the run by hand
//   sessions_test --kills 6 --rate 10000   a share of it, in CI
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <sluice/io/base/random.h>

#include <support/broker.h>
#include <support/process.h>

#include "run.h"
#include "shuffled_feed.h"
#include "shuffled_judge.h"

namespace sluice::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
namespace fs = std::filesystem;

/// Nothing is timed here: what takes so long has failed.
constexpr auto kPatience = std::chrono::minutes(5);

struct Settings {
  int kills = 6;
  int rate = 20'000;
  int checkpoints = 8;  // At most, between a start and its kill.
  int early_ms = 1'500;
  int interval_ms = 50;
  std::uint64_t seed = 0;
  std::vector<unsigned> shards{1, 2};
  std::string program = "count_and_sessions";
};

class SessionsRun {
 public:
  SessionsRun(const Settings& settings, std::string brokers)
      : settings_(settings), random_(settings.seed), brokers_(std::move(brokers)), stream_{.seed = settings.seed},
        name_(unique_name("sessions")) {
    // Event times are of another year: Kafka would delete such records as long expired.
    const std::vector<std::string> keep{"retention.ms=-1"};
    create_topic(brokers_, in(), stream_.partitions, keep);
    create_topic(brokers_, updates(), 3, keep);
    create_topic(brokers_, sessions(), 2, keep);
  }

  bool run() {
    ShuffledFeed feed(brokers_, in(), stream_, settings_.rate);
    for (int i = 0; i < settings_.kills; ++i) {
      const bool early = i % 5 == 4;
      if (early ? !kill_early() : !kill_at_work()) return false;
      kills_.push_back({life_, early, feed.written()});
    }
    const std::int64_t records = feed.stop();
    Process last = start(true);
    const auto ended = last.wait(kPatience);
    if (!ended || !ended->ok()) return surprised("the last run", ended);
    return judge(records);
  }

 private:
  [[nodiscard]] std::string in() const { return name_ + "-in"; }
  [[nodiscard]] std::string updates() const { return name_ + "-updates"; }
  [[nodiscard]] std::string sessions() const { return name_ + "-sessions"; }
  [[nodiscard]] fs::path state() const { return directory_.path() / "state"; }
  [[nodiscard]] fs::path log() const { return directory_.path() / "job.log"; }

  Process start(bool bounded) {
    const unsigned shards = settings_.shards[static_cast<std::size_t>(life_++) % settings_.shards.size()];
    Process::Options job;
    job.arguments = {program(settings_.program), "--brokers", brokers_, "--name", name_, "--in", in(), "--updates", updates(),
                     "--sessions", sessions(), "--directory", state().string(), "--disorder-ms", std::to_string(stream_.disorder_ms),
                     "--gap-ms", std::to_string(stream_.gap_ms), "--interval-ms", std::to_string(settings_.interval_ms),
                     "--shards", std::to_string(shards), "--life", std::to_string(life_)};
    if (bounded) job.arguments.push_back("--bounded");
    job.stdout_file = job.stderr_file = log();
    return Process(std::move(job));
  }
  [[nodiscard]] milliseconds below(int ms) { return milliseconds(random_.below(static_cast<std::uint64_t>(ms))); }

  struct Kill {
    int life;
    bool early;
    std::int64_t written;  // What the feed had by then.
  };
  bool kill_early() {
    Process job = start(false);
    if (const auto ended = job.wait(below(settings_.early_ms))) return surprised("before an early kill", ended);
    return kill(job);
  }
  bool kill_at_work() {
    const fs::path before = newest_checkpoint(state());
    Process job = start(false);
    const auto deadline = steady_clock::now() + kPatience;
    fs::path newest = before;
    // The first that is seen may yet be undone: the second is begun when it is decided.
    for (auto left = 2 + random_.below(static_cast<std::uint64_t>(settings_.checkpoints)); left > 0;) {
      if (const auto ended = job.wait(milliseconds(5))) return surprised("before a kill", ended);
      const fs::path now = newest_checkpoint(state());
      if (now > newest) --left, newest = now;
      if (steady_clock::now() > deadline) {
        (void)job.kill();
        return surprised("waiting for a few checkpoints", std::nullopt);
      }
    }
    if (const auto ended = job.wait(below(settings_.interval_ms * 2))) return surprised("before a kill", ended);
    return kill(job);
  }
  bool kill(Process& job) {
    (void)job.kill();
    const fs::path newest = newest_checkpoint(state());
    from_changes_ += !newest.empty() && builds_on_others(newest);
    return true;
  }
  bool surprised(const std::string& when, const std::optional<Process::End>& end) {
    const std::string ended = end ? end->to_string() : "not within five minutes";
    std::printf("%s, life %d: %s\n%s", when.c_str(), life_, ended.c_str(), tail_of(log()).c_str());
    return false;
  }

  /// Calls `row(key, value)` for each row that the Java client reads.
  template <class Row>
  void read(std::vector<std::string> arguments, Row&& row) {
    const fs::path file = directory_.path() / "rows";
    arguments.insert(arguments.begin(), (source_directory() / "tools" / "read").string());
    arguments.insert(arguments.end(), {"--dump", "--brokers", brokers_});
    Process reader({.arguments = std::move(arguments), .stdout_file = file, .stderr_file = log()});
    const auto ended = reader.wait(kPatience);
    if (!ended || !ended->ok()) throw std::runtime_error("tools/read failed:\n" + tail_of(log()));
    std::ifstream rows(file);
    for (std::string line; std::getline(rows, line);) {
      // topic, partition, offset, key, value, headers, timestamp
      std::vector<std::string_view> fields;
      for (std::size_t at = 0; at <= line.size();) {
        const std::size_t tab = std::min(line.find('\t', at), line.size());
        fields.push_back(std::string_view(line).substr(at, tab - at));
        at = tab + 1;
      }
      if (fields.size() != 7) throw std::runtime_error("tools/read gave a line that is no row: " + line);
      row(fields[3], fields[4]);
    }
    fs::remove(file);
  }

  bool judge(std::int64_t records) {
    ShuffledJudge judge(Reference(stream_, records));
    std::map<std::string, std::int64_t> thrown_away;  // By life: what was written and never committed.
    const auto life_of = [](std::string_view value) {
      value = value.substr(0, value.rfind(' '));
      value = value.substr(0, value.rfind(' '));
      return std::string(value.substr(value.rfind(' ') + 1));
    };
    read({updates(), "--read-uncommitted"}, [&](std::string_view, std::string_view value) { ++thrown_away[life_of(value)]; });
    read({updates(), sessions()}, [&](std::string_view key, std::string_view value) {
      judge.take(key, value);
      if (!value.starts_with("session ")) --thrown_away[life_of(value)];
    });
    const bool right = judge.finish();

    return report(judge, right, std::ranges::count_if(thrown_away, [](const auto& life) { return life.second > 0; }));
  }
  /// Whether it was right, and a test of kills.
  bool report(const ShuffledJudge& judge, bool right, std::ptrdiff_t thrown_away) {
    std::ptrdiff_t behind_work = 0, early = 0;
    std::int64_t least_left = std::numeric_limits<std::int64_t>::max();
    for (const Kill& kill : kills_) {
      const auto life = judge.lives().find(kill.life);
      early += kill.early;
      behind_work += life != judge.lives().end() && life->second.counts > 0;
      std::int64_t committed = 0;
      for (auto at = judge.lives().begin(); at != judge.lives().upper_bound(kill.life); ++at) committed += at->second.counts;
      least_left = std::min(least_left, kill.written - committed);
    }
    const Reference& reference = judge.reference();
    std::printf("seed %llu, %d kills: %td early, %td behind work that was committed, %td with work thrown away that was written; "
                "%lld records or more were left to do; %d restored from changes\n",
                static_cast<unsigned long long>(settings_.seed), settings_.kills, early, behind_work, thrown_away,
                static_cast<long long>(least_left), from_changes_);
    std::printf("%lld records, %zu sessions, %lld merged by a late record, %zu timers;", static_cast<long long>(reference.records),
                reference.sessions.size(), static_cast<long long>(reference.merges), reference.timers.size());
    bool all_ran = true;
    for (const unsigned shards : settings_.shards) {
      const auto whole = std::ranges::count_if(
          judge.lives(), [&](const auto& life) { return life.second.shards == shards && life.second.wrote.size() == shards; });
      std::printf(" %td lives on %u shards", whole, shards);
      all_ran = all_ran && whole > 0;
    }
    std::printf("\n%s%s\n", judge.wrong().c_str(), right ? "as a single thread says, each once" : "NOT what a single thread says");
    bool hit = true;
    const auto require = [&](bool met, const char* what) {
      if (!met) std::printf("proves nothing: %s\n", what);
      hit = hit && met;
    };
    require(all_ran, "not every number of shards committed something on each of its shards");
    require(behind_work * 2 > settings_.kills, "too few lives committed something before they were killed");
    require(least_left > 0, "a kill hit a job that had nothing to do");
    require(thrown_away > 0 || settings_.kills < 20, "no kill threw work away");
    require(from_changes_ > 0, "no checkpoint was one of changes");
    require(reference.merges > 0, "no sessions merged");
    return right && hit;
  }

  const Settings& settings_;
  Random random_;
  const std::string brokers_;
  const ShuffledStream stream_;
  const std::string name_;
  TempDirectory directory_;
  int life_ = 0, from_changes_ = 0;
  std::vector<Kill> kills_;
};

}  // namespace
}  // namespace sluice::testing

int main(int argc, char** argv) {
  using namespace sluice::testing;
  Settings settings;
  CLI::App app{"Kills a job of counts, timers and sessions at random and compares it with a single thread."};
  app.add_option("--kills", settings.kills)->capture_default_str();
  app.add_option("--rate", settings.rate, "records/s")->capture_default_str();
  app.add_option("--checkpoints", settings.checkpoints, "from a start to its kill, at most")->capture_default_str();
  app.add_option("--early-ms", settings.early_ms, "from a start to an early kill, at most")->capture_default_str();
  app.add_option("--interval-ms", settings.interval_ms, "between checkpoints")->capture_default_str();
  app.add_option("--seed", settings.seed, "0: from the system");
  app.add_option("--shards", settings.shards, "one start after the other")->delimiter(',')->capture_default_str();
  app.add_option("--program", settings.program, "the job")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (settings.seed == 0) settings.seed = sluice::Random::seed_from_system() % 1'000'000 + 1;
  if (const std::string blind = judge_the_judge(); !blind.empty()) {
    std::printf("the judge is not to be trusted: %s\n", blind.c_str());
    return 1;
  }
  SessionsRun run(settings, SharedBroker::get().bootstrap());
  return run.run() ? 0 : 1;
}
