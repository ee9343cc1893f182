#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice::testing {

/// A child process that a test starts, pauses and kills, and that never outlives the test.
///
/// Lifetime   killed with SIGKILL and reaped on destruction; also when the thread that started it
///            ends (PR_SET_PDEATHSIG): start it from a thread that lives on.
/// Errors     std::runtime_error when the program cannot be started.
class Process {
 public:
  struct Options {
    std::vector<std::string> arguments = {};    ///< the first is the program, looked up in PATH
    std::vector<std::string> environment = {};  ///< NAME=VALUE, added to this process's own
    std::filesystem::path directory = {};       ///< empty: this process's own
    std::filesystem::path stdout_file = {};     ///< appended to; empty: this process's own
    std::filesystem::path stderr_file = {};     ///< may be the same file
  };
  /// How it ended: by exit(status), or by a signal.
  struct End {
    int status = 0;
    int signal = 0;
    bool ok() const noexcept { return status == 0 && signal == 0; }
    /// "exit status 75", "signal 9"
    std::string to_string() const;
    friend bool operator==(const End&, const End&) = default;
  };

  explicit Process(Options options);
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();

  pid_t pid() const noexcept { return pid_; }
  bool running() { return !wait(std::chrono::milliseconds(0)); }
  /// Nothing when it still runs after `timeout`. May be asked again after the end.
  std::optional<End> wait(std::chrono::milliseconds timeout);

  /// Does nothing once the end is known: the pid may belong to another process by then.
  void signal(int number);
  void pause();      ///< SIGSTOP, and waits until it has stopped
  void resume();     ///< SIGCONT
  void terminate();  ///< SIGTERM
  End kill();        ///< SIGKILL, and waits for the end

 private:
  void destroy() noexcept;

  pid_t pid_ = -1;
  int pid_fd_ = -1;  // Readable once the process has ended, so that a wait needs no polling.
  std::optional<End> end_;
};

/// Runs a program to its end; std::runtime_error with its output when it fails or takes longer than
/// `timeout`. Returns what it wrote to stdout.
std::string run_program(std::vector<std::string> arguments, std::chrono::milliseconds timeout);

/// A directory of one's own under the system's temporary one, removed on destruction.
class TempDirectory {
 public:
  explicit TempDirectory(const std::string& prefix = "sluice-test");
  TempDirectory(const TempDirectory&) = delete;
  ~TempDirectory();
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

/// The root of the source tree: SLUICE_SOURCE_DIR of the environment, or where this was built.
std::filesystem::path source_directory();

}  // namespace sluice::testing
