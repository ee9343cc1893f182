#include "commands/job_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

namespace sluice::tools {
namespace {

/// The lock file of io/internal/directory_lock.cc, opened to look at.
class LockFile {
 public:
  explicit LockFile(const std::filesystem::path& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;
  ~LockFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] bool open() const noexcept { return fd_ >= 0; }
  /// A shared lock that we get proves that nobody has the exclusive one.
  [[nodiscard]] bool held() const {
    if (::flock(fd_, LOCK_SH | LOCK_NB) != 0) return errno == EWOULDBLOCK;
    ::flock(fd_, LOCK_UN);
    return false;
  }
  [[nodiscard]] pid_t holder() const {
    std::array<char, 32> text{};
    const ssize_t got = ::pread(fd_, text.data(), text.size(), 0);
    pid_t pid = 0;
    if (got > 0) std::from_chars(text.data(), text.data() + got, pid);
    return pid;
  }

 private:
  const int fd_;
};

// glibc 2.36 has wrappers, but only in a header that older systems lack.
int open_handle(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

}  // namespace

JobProcess::JobProcess(JobProcess&& other) noexcept
    : pid_(other.pid_), handle_(std::exchange(other.handle_, -1)) {}

JobProcess::~JobProcess() {
  if (handle_ >= 0) ::close(handle_);
}

Status JobProcess::terminate() const {
  if (::syscall(SYS_pidfd_send_signal, handle_, SIGTERM, nullptr, 0) == 0) return {};
  if (errno == ESRCH) return {};  // Gone by itself meanwhile.
  return Status(Code::kRecover,
                fmt::format("could not signal process {}: {}", pid_, std::strerror(errno)));
}

bool JobProcess::wait(std::chrono::milliseconds timeout) const {
  pollfd ended{handle_, POLLIN, 0};
  int got = 0;
  do {
    got = ::poll(&ended, 1, static_cast<int>(timeout.count()));
  } while (got < 0 && errno == EINTR);
  return got > 0;
}

Result<std::optional<JobProcess>> find_job(const std::filesystem::path& directory) {
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error)) {
    return Status(Code::kInvalid,
                  fmt::format("there is no state directory \"{}\"; name the one that the job was "
                              "started with",
                              directory.string()))
        .exit(ExitStatus::kFailed);
  }
  const LockFile lock(directory / "lock");
  if (!lock.open() || !lock.held()) return std::optional<JobProcess>();
  const pid_t pid = lock.holder();
  const int handle = pid > 0 ? open_handle(pid) : -1;
  // Looked at again behind the handle: if it is still held, the handle is the holder's.
  if (handle < 0 || !lock.held()) {
    if (handle >= 0) ::close(handle);
    return std::optional<JobProcess>();
  }
  return std::optional<JobProcess>(JobProcess(pid, handle));
}

}  // namespace sluice::tools
