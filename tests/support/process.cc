#include <fcntl.h>
#include <poll.h>
#include <support/process.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace sluice::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::runtime_error system_error(const std::string& what) {
  return std::runtime_error("could not " + what + ": " + std::strerror(errno));
}

std::vector<std::string> merged_environment(const std::vector<std::string>& added) {
  std::vector<std::string> merged = added;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view own = *entry;
    const std::string_view name = own.substr(0, own.find('=') + 1);
    bool replaced = false;
    for (const std::string& other : added) replaced = replaced || other.starts_with(name);
    if (!replaced) merged.emplace_back(own);
  }
  return merged;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& string : strings) result.push_back(string.data());
  result.push_back(nullptr);
  return result;
}

int open_output(const std::filesystem::path& file) {
  if (file.empty()) return -1;
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) throw system_error("open " + file.string());
  return fd;
}

std::string read_file(const std::filesystem::path& file) {
  std::ostringstream content;
  content << std::ifstream(file, std::ios::binary).rdbuf();
  return content.str();
}

}  // namespace

std::string Process::End::to_string() const {
  return signal != 0 ? "signal " + std::to_string(signal) : "exit status " + std::to_string(status);
}

Process::Process(Options options) {
  if (options.arguments.empty()) throw std::runtime_error("could not start a process: no program");
  // Everything that allocates happens here: other threads may hold the allocator's lock at the
  // fork.
  std::vector<std::string> environment = merged_environment(options.environment);
  const std::vector<char*> argv = pointers(options.arguments);
  const std::vector<char*> envp = pointers(environment);
  const int out = open_output(options.stdout_file);
  const int err = open_output(options.stderr_file);
  int failure[2];
  if (::pipe2(failure, O_CLOEXEC) != 0) throw system_error("make a pipe");
  const pid_t parent = ::getpid();

  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);  // The parent ended before the line above.
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    if (out >= 0) ::dup2(out, STDOUT_FILENO);
    if (err >= 0) ::dup2(err, STDERR_FILENO);
    if (options.directory.empty() || ::chdir(options.directory.c_str()) == 0) {
      ::execvpe(argv[0], argv.data(), envp.data());
    }
    const int error = errno;
    [[maybe_unused]] const ssize_t written = ::write(failure[1], &error, sizeof(error));
    ::_exit(127);
  }
  const int fork_error = errno;
  if (out >= 0) ::close(out);
  if (err >= 0) ::close(err);
  ::close(failure[1]);
  int error = pid_ < 0 ? fork_error : 0;
  // Closed by a successful exec, so this waits until the program runs.
  if (pid_ > 0 && ::read(failure[0], &error, sizeof(error)) > 0) ::waitpid(pid_, nullptr, 0);
  ::close(failure[0]);
  if (error != 0) {
    errno = error;
    throw system_error("start " + options.arguments[0]);
  }
  // The system call: glibc 2.36 declares its wrapper for C only.
  pid_fd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  if (pid_fd_ < 0) {
    const auto failed = system_error("watch " + options.arguments[0]);
    destroy();
    throw failed;
  }
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pid_fd_(std::exchange(other.pid_fd_, -1)),
      end_(std::exchange(other.end_, std::nullopt)) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    destroy();
    pid_ = std::exchange(other.pid_, -1);
    pid_fd_ = std::exchange(other.pid_fd_, -1);
    end_ = std::exchange(other.end_, std::nullopt);
  }
  return *this;
}

Process::~Process() { destroy(); }

void Process::destroy() noexcept {
  if (pid_ > 0 && !end_) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (pid_fd_ >= 0) ::close(pid_fd_);
  pid_ = pid_fd_ = -1;
}

std::optional<Process::End> Process::wait(milliseconds timeout) {
  if (end_ || pid_ < 0) return end_;
  const auto deadline = steady_clock::now() + timeout;
  pollfd watched{.fd = pid_fd_, .events = POLLIN, .revents = 0};
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count();
    const int ready = ::poll(&watched, 1, static_cast<int>(left > 0 ? left : 0));
    if (ready == 1) break;
    if (ready == 0) return std::nullopt;
    if (errno != EINTR) throw system_error("wait for a process");
  }
  int status = 0;
  if (::waitpid(pid_, &status, 0) != pid_) throw system_error("reap a process");
  end_ = WIFSIGNALED(status) ? End{.status = 0, .signal = WTERMSIG(status)}
                             : End{.status = WEXITSTATUS(status), .signal = 0};
  return end_;
}

void Process::signal(int number) {
  if (running()) ::kill(pid_, number);
}

void Process::pause() {
  signal(SIGSTOP);
  if (end_) return;
  siginfo_t info{};
  // Other threads of the process may run on for a moment after kill() returned.
  ::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WEXITED | WNOWAIT);
}

void Process::resume() { signal(SIGCONT); }
void Process::terminate() { signal(SIGTERM); }

Process::End Process::kill() {
  signal(SIGKILL);
  const std::optional<End> ended = wait(std::chrono::seconds(30));
  if (!ended) throw std::runtime_error("a killed process did not end within 30 s");
  return *ended;
}

std::string run_program(std::vector<std::string> arguments, milliseconds timeout) {
  TempDirectory scratch("sluice-run");
  std::string line;
  for (const std::string& argument : arguments) line += (line.empty() ? "" : " ") + argument;
  Process process({.arguments = std::move(arguments),
                   .stdout_file = scratch.path() / "out",
                   .stderr_file = scratch.path() / "err"});
  const std::optional<Process::End> ended = process.wait(timeout);
  if (ended && ended->ok()) return read_file(scratch.path() / "out");
  throw std::runtime_error("\"" + line + "\" " +
                           (ended ? "ended with " + ended->to_string()
                                  : "took more than " + std::to_string(timeout.count()) + " ms") +
                           ":\n" + read_file(scratch.path() / "err") +
                           read_file(scratch.path() / "out"));
}

TempDirectory::TempDirectory(const std::string& prefix) {
  std::string pattern = (std::filesystem::temp_directory_path() / (prefix + "-XXXXXX")).string();
  if (::mkdtemp(pattern.data()) == nullptr) throw system_error("make " + pattern);
  path_ = pattern;
}

TempDirectory::~TempDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path source_directory() {
  const char* given = std::getenv("SLUICE_SOURCE_DIR");
  return given != nullptr ? given : SLUICE_SOURCE_DIR;
}

}  // namespace sluice::testing
