#include <sluice/io/internal/directory_lock.h>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <string>
#include <string_view>

#include <sluice/io/internal/disk_status.h>

namespace sluice::internal {
namespace {

/// The lock is the kernel's, on the open file: it is gone when the process is, however it ended. The file stays.
class FileLock final : public io::DirectoryLock {
 public:
  explicit FileLock(int fd) noexcept : fd_(fd) {}
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock() override { ::close(fd_); }

 private:
  const int fd_;
};

std::string holder_of(int fd) {
  char text[32];
  const auto got = ::pread(fd, text, sizeof text, 0);
  long pid = 0;
  if (got > 0) std::from_chars(text, text + got, pid);
  // The holder writes its id after it has the lock, so for a moment there is none to read.
  return pid > 0 ? "process " + std::to_string(pid) : std::string("another process");
}

Status write_holder(int fd, const std::filesystem::path& path) {
  const std::string text = std::to_string(::getpid()) + '\n';
  if (::ftruncate(fd, 0) != 0) return disk_status("write", path, errno);
  if (::pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return disk_status("write", path, errno);
  }
  return Status();
}

}  // namespace

Result<std::unique_ptr<io::DirectoryLock>> lock_directory(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / "lock";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return disk_status("lock", path, errno);
  auto lock = std::make_unique<FileLock>(fd);
  int locked = -1;
  do {
    locked = ::flock(fd, LOCK_EX | LOCK_NB);
  } while (locked != 0 && errno == EINTR);
  if (locked != 0 && errno == EWOULDBLOCK) {
    return Status(Code::kInvalid, fmt::format("could not lock {}: {} runs on it; stop that one, or name another directory",
                                              directory.string(), holder_of(fd)))
        .exit(ExitStatus::kCannotCreate);
  }
  if (locked != 0) return disk_status("lock", path, errno);
  SLUICE_TRY(write_holder(fd, path));
  return std::unique_ptr<io::DirectoryLock>(std::move(lock));
}

}  // namespace sluice::internal
