// Goal: a test's children do what it says and never outlive it.
// Method: small shell programs; a child that starts a child for what happens when we are killed.
#include <gtest/gtest.h>
#include <signal.h>
#include <support/process.h>

#include <fstream>
#include <thread>

namespace sluice::testing {
namespace {

using namespace std::chrono_literals;

// Scripts that sleep do so with exec: a sleep of its own would outlive a killed shell and keep the
// test's output open, and CTest waits for that.
Process shell(const std::string& script, const std::filesystem::path& out = {}) {
  return Process({.arguments = {"sh", "-c", script},
                  .environment = {"GREETING=hello"},
                  .directory = "/",
                  .stdout_file = out,
                  .stderr_file = out});
}

TEST(Process, ReportsTheExitStatus) {
  Process process = shell("exit 75");
  EXPECT_EQ(process.wait(5s), (Process::End{.status = 75, .signal = 0}));
  EXPECT_EQ(process.wait(0s), (Process::End{.status = 75, .signal = 0})) << "a second time";
}

TEST(Process, ReportsTheSignal) {
  Process process = shell("exec sleep 60");
  EXPECT_TRUE(process.running());
  EXPECT_EQ(process.kill(), (Process::End{.status = 0, .signal = SIGKILL}));
}

TEST(Process, WaitEndsAtItsDeadline) {
  Process process = shell("exec sleep 60");
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(process.wait(50ms), std::nullopt);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
}

TEST(Process, GetsEnvironmentDirectoryAndFiles) {
  TempDirectory scratch;
  Process process = shell("echo $GREETING; pwd >&2", scratch.path() / "out");
  ASSERT_TRUE(process.wait(5s));
  std::ifstream file(scratch.path() / "out");
  std::string first, second;
  file >> first >> second;
  EXPECT_EQ(first, "hello");
  EXPECT_EQ(second, "/");
}

TEST(Process, APausedOneStandsStillUntilResumed) {
  Process process = shell("exec sleep 0.2");
  process.pause();
  EXPECT_EQ(process.wait(500ms), std::nullopt);
  process.resume();
  EXPECT_EQ(process.wait(5s), Process::End{});
}

TEST(Process, AMissingProgramIsAnErrorWithItsName) {
  try {
    Process process({.arguments = {"no-such-program"}});
    FAIL() << "started";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "could not start no-such-program: No such file or directory");
  }
}

TEST(Process, EndsWithTheScopeThatStartedIt) {
  pid_t pid = 0;
  {
    Process process = shell("exec sleep 60");
    pid = process.pid();
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_EQ(::kill(pid, 0), -1);
}

// Stands for a test binary that its runner kills: no destructor runs, the kernel has to do it.
TEST(Process, EndsWithTheThreadThatStartedIt) {
  std::optional<Process> process;
  std::thread([&] { process.emplace(shell("exec sleep 60")); }).join();
  EXPECT_EQ(process->wait(5s), (Process::End{.status = 0, .signal = SIGKILL}));
}

TEST(RunProgram, ReturnsTheOutputOrThrowsIt) {
  EXPECT_EQ(run_program({"printf", "a b"}, 5s), "a b");
  EXPECT_THROW(run_program({"sh", "-c", "exit 1"}, 5s), std::runtime_error);
  EXPECT_THROW(run_program({"sleep", "60"}, 50ms), std::runtime_error);
}

}  // namespace
}  // namespace sluice::testing
