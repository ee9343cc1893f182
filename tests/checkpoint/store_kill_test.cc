// Goal: a process that is killed at any named step leaves a directory from which the next one goes
// on. Method: a child runs epochs on real files and kills itself at the n-th pass of a point;
// another one recovers.
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store_fixture.h"
#include <fstream>

namespace sluice::checkpoint {
namespace {

constexpr std::uint64_t kEpochs = 4;

enum Verdict : int { kFine = 0, kNoStart = 10, kLost = 11, kWrong = 12, kStuck = 13 };

std::uint64_t confirmed_in(const Path& log) {
  std::ifstream in(log);
  std::uint64_t last = 0;
  for (std::uint64_t epoch; in >> epoch;) last = epoch;
  return last;
}

/// A process's whole life: recover, check, run epochs.
int live(const Path& directory, const Path& log, std::uint64_t epochs) {
  Loop owner;  // The process's loop runs the files, so they are made for it.
  auto files = *io::make_file_system(owner.executor(), io::FileBackend::kThreads);
  auto opened = owner.run(Store::open(*files, directory, "orders"));
  if (!opened.ok()) return kNoStart;
  Store& store = **opened;
  LocalDecider decider(*files, directory, "orders");
  const auto claimed = owner.run(decider.claim());
  if (!claimed.ok()) return kNoStart;
  Decision decided = *claimed;
  if (decided.epoch.value() < confirmed_in(log)) return kLost;
  const auto restored = owner.run(store.read(decided));
  if (!restored.ok()) return kLost;
  if (decided.epoch > Epoch(0) && !same(*restored, sample(decided.epoch.value()))) return kWrong;
  for (; epochs > 0; --epochs) {
    Decision next;
    next.epoch = decided.epoch.next();
    next.writer = decider.claim_id();
    const CheckpointData data = sample(next.epoch.value());
    const auto digest = owner.run(store.write(next.epoch, next.writer, data, {2, decided}));
    if (!digest.ok()) return kStuck;
    next.digest = *digest;
    if (!owner.run(decider.decide(next, {})).ok()) return kStuck;
    decided = next;
    std::ofstream(log, std::ios::app) << decided.epoch.value() << '\n' << std::flush;
    if (!owner.run(store.collect(decided, 2)).ok()) return kStuck;
  }
  return kFine;
}

int in_a_process(const Path& directory, const Path& log, std::uint64_t epochs,
                 const std::string& kill_at) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!kill_at.empty()) ::setenv("SLUICE_KILL_AT", kill_at.c_str(), 1);
    ::_exit(live(directory, log, epochs));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

class StoreKill : public testing::TestWithParam<const char*> {};

TEST_P(StoreKill, TheNextProcessGoesOn) {
  std::string root = testing::TempDir() + "sluice-kill-XXXXXX";
  ASSERT_NE(::mkdtemp(root.data()), nullptr);
  for (int pass = 1; pass <= 3; ++pass) {
    const Path directory = Path(root) / std::to_string(pass);
    const Path log = Path(root) / (std::to_string(pass) + ".log");
    const int killed = in_a_process(directory, log, kEpochs + 2,
                                    std::string(GetParam()) + ':' + std::to_string(pass));
    ASSERT_TRUE(WIFSIGNALED(killed)) << "never came to pass " << pass;
    ASSERT_EQ(WTERMSIG(killed), SIGKILL);
    const int went_on = in_a_process(directory, log, kEpochs, "");
    ASSERT_TRUE(WIFEXITED(went_on));
    EXPECT_EQ(WEXITSTATUS(went_on), kFine) << "pass " << pass;
    std::size_t left = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory))
      left += entry.is_directory() ? 1 : 0;
    EXPECT_EQ(left, 2u) << "pass " << pass;
  }
  std::filesystem::remove_all(root);
}

INSTANTIATE_TEST_SUITE_P(At, StoreKill,
                         testing::Values("checkpoint.file_written", "checkpoint.file_synced",
                                         "manifest.written", "manifest.synced", "manifest.renamed",
                                         "checkpoint.durable", "local.decision_written",
                                         "local.decision_renamed", "retention.deleted"),
                         [](const auto& value) {
                           std::string name = value.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace sluice::checkpoint
