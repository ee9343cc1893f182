#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <sluice/io/base/assert.h>
#include <sluice/io/internal/directory_lock.h>
#include <sluice/io/internal/disk.h>
#include <sluice/io/internal/disk_status.h>

namespace sluice::internal {
namespace {

using Op = DiskCall::Op;
using io::File;
using io::FileSystem;
using Path = FileSystem::Path;

constexpr std::uint64_t kCallBytes = 1u << 30;  // The kernel moves less than 2 GiB a call.

/// Calls again what a signal or a moment without resources stopped before it did anything. Never a sync.
asio::awaitable<std::int32_t> run_again(Disk* disk, DiskCall call) {
  std::int32_t result = -EAGAIN;
  for (int tries = 0; tries < 100 && (result == -EINTR || result == -EAGAIN); ++tries) {
    result = co_await disk->run(call);
  }
  co_return result;
}

class DiskFile final : public File {
 public:
  DiskFile(std::shared_ptr<Disk> disk, Path path, int fd) : disk_(std::move(disk)), path_(std::move(path)), fd_(fd) {}
  DiskFile(const DiskFile&) = delete;
  DiskFile& operator=(const DiskFile&) = delete;
  ~DiskFile() override {
    SLUICE_ASSERT(!busy_);
    if (fd_ >= 0) ::close(fd_);
  }

  [[nodiscard]] asio::awaitable<Status> append(std::span<const std::byte> bytes) override {
    if (!failure_.ok()) co_return failure_;
    begin();
    while (!bytes.empty() && failure_.ok()) {
      DiskCall call{.op = Op::kWrite, .fd = fd_};
      call.from = bytes.data();
      call.bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes.size(), kCallBytes));
      call.offset = size_;
      const std::int32_t written = co_await run_again(disk_.get(), call);
      if (written > 0) {
        size_ += static_cast<std::uint32_t>(written);
        bytes = bytes.subspan(static_cast<std::uint32_t>(written));
      } else {
        failure_ = disk_status("write", path_, written == 0 ? EIO : -written);
      }
    }
    busy_ = false;
    co_return failure_;
  }

  [[nodiscard]] asio::awaitable<Status> sync() override {
    if (!failure_.ok()) co_return failure_;
    begin();
    const DiskCall call{.op = Op::kSyncData, .fd = fd_};
    const std::int32_t result = co_await disk_->run(call);
    // The kernel has dropped the pages that it could not write: a second fdatasync would succeed, and lie.
    if (result < 0) failure_ = disk_status("sync", path_, -result);
    busy_ = false;
    co_return failure_;
  }

  [[nodiscard]] asio::awaitable<Status> close() override {
    if (fd_ < 0) co_return failure_;
    begin();
    const DiskCall call{.op = Op::kClose, .fd = std::exchange(fd_, -1)};
    const std::int32_t result = co_await disk_->run(call);
    if (result < 0 && failure_.ok()) failure_ = disk_status("close", path_, -result);
    busy_ = false;
    co_return failure_;
  }

  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }

 private:
  void begin() {
    SLUICE_ASSERT(!busy_ && fd_ >= 0);  // One call at a time, none after close().
    busy_ = true;
  }

  const std::shared_ptr<Disk> disk_;
  const Path path_;
  int fd_;
  std::uint64_t size_ = 0;
  bool busy_ = false;
  Status failure_;  // The first one: the file is dead from then on.
};

/// Closes on every way out of a coroutine that opened for a moment.
class Descriptor {
 public:
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  const int fd_;
};

class DiskFileSystem final : public FileSystem {
 public:
  explicit DiskFileSystem(std::unique_ptr<Disk> disk) : disk_(std::move(disk)) {}

  [[nodiscard]] asio::awaitable<Result<std::unique_ptr<File>>> create(Path path) override {
    DiskCall call{.op = Op::kOpen, .flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC};
    call.path = path.c_str();
    const std::int32_t fd = co_await run_again(disk_.get(), call);
    if (fd < 0) co_return disk_status("create", path, -fd);
    std::unique_ptr<File> file = std::make_unique<DiskFile>(disk_, std::move(path), fd);
    co_return file;
  }

  [[nodiscard]] asio::awaitable<Result<std::string>> read(Path path, std::uint64_t bytes_max) override {
    DiskCall open{.op = Op::kOpen, .flags = O_RDONLY | O_CLOEXEC};
    open.path = path.c_str();
    const std::int32_t opened = co_await run_again(disk_.get(), open);
    if (opened < 0) co_return disk_read_status("read", path, -opened);
    const Descriptor fd(opened);
    struct stat about {};
    if (::fstat(fd.get(), &about) != 0) co_return disk_read_status("read", path, errno);
    const auto bytes = static_cast<std::uint64_t>(about.st_size);
    if (bytes > bytes_max) {
      co_return Status(Code::kCorrupt, fmt::format("could not read {}: it has {} bytes and should have at most {}",
                                                   path.string(), bytes, bytes_max));
    }
    std::string text(bytes, '\0');
    std::uint64_t got = 0;
    while (got < bytes) {
      DiskCall call{.op = Op::kRead, .fd = fd.get()};
      call.into = text.data() + got;
      call.bytes = static_cast<std::uint32_t>(std::min(bytes - got, kCallBytes));
      call.offset = got;
      const std::int32_t more = co_await run_again(disk_.get(), call);
      if (more < 0) co_return disk_read_status("read", path, -more);
      if (more == 0) break;  // It was cut meanwhile: what is there is the file.
      got += static_cast<std::uint32_t>(more);
    }
    text.resize(got);
    co_return text;
  }

  [[nodiscard]] asio::awaitable<Status> rename(Path from, Path to) override {
    DiskCall call{.op = Op::kRename};
    call.path = from.c_str();
    call.to = to.c_str();
    const std::int32_t result = co_await run_again(disk_.get(), call);
    if (result < 0) co_return disk_status("rename", from, -result).with("(to", to.string() + ")");
    co_return Status();
  }

  /// In place: it changes two entries in memory, and io_uring cannot do it on every kernel that has the rest.
  [[nodiscard]] asio::awaitable<Status> link(Path from, Path to) override {
    if (::link(from.c_str(), to.c_str()) == 0) co_return Status();
    co_return disk_status("link", from, errno).with("(to", to.string() + ")");
  }

  [[nodiscard]] asio::awaitable<Status> sync_directory(Path directory) override {
    DiskCall open{.op = Op::kOpen, .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC};
    open.path = directory.c_str();
    const std::int32_t opened = co_await run_again(disk_.get(), open);
    if (opened < 0) co_return disk_status("sync directory", directory, -opened);
    const Descriptor fd(opened);
    const DiskCall sync{.op = Op::kSync, .fd = fd.get()};
    const std::int32_t result = co_await disk_->run(sync);
    if (result < 0) co_return disk_status("sync directory", directory, -result);
    co_return Status();
  }

  [[nodiscard]] asio::awaitable<Status> remove(Path path) override {
    DiskCall call{.op = Op::kUnlink};
    call.path = path.c_str();
    std::int32_t result = co_await run_again(disk_.get(), call);
    if (result == -EISDIR) {
      call.op = Op::kRemoveDirectory;
      result = co_await run_again(disk_.get(), call);
    }
    if (result < 0 && result != -ENOENT) co_return disk_status("remove", path, -result);
    co_return Status();
  }

  [[nodiscard]] Result<std::vector<std::string>> list(const Path& directory) override {
    std::error_code error;
    std::vector<std::string> names;
    for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
      names.push_back(at->path().filename().string());
    }
    if (error) return disk_read_status("list", directory, error.value());
    std::sort(names.begin(), names.end());
    return names;
  }

  [[nodiscard]] Status create_directories(const Path& directory) override {
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    return error ? disk_status("create directory", directory, error.value()) : Status();
  }

  [[nodiscard]] Result<std::unique_ptr<io::DirectoryLock>> lock(const Path& directory) override {
    return lock_directory(directory);
  }

  [[nodiscard]] std::string_view kind() const noexcept override { return disk_->kind(); }

 private:
  const std::shared_ptr<Disk> disk_;  // Shared with the files.
};

}  // namespace

std::unique_ptr<FileSystem> make_disk_file_system(std::unique_ptr<Disk> disk) {
  return std::make_unique<DiskFileSystem>(std::move(disk));
}

}  // namespace sluice::internal
