#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>

#include <sluice/io/internal/disk.h>
#include <sluice/io/offload.h>

namespace sluice::internal {
namespace {

long call_kernel(const DiskCall& call) {
  using Op = DiskCall::Op;
  switch (call.op) {
    case Op::kOpen: return ::open(call.path, call.flags, 0644);
    case Op::kWrite: return ::pwrite(call.fd, call.from, call.bytes, static_cast<off_t>(call.offset));
    case Op::kRead: return ::pread(call.fd, call.into, call.bytes, static_cast<off_t>(call.offset));
    case Op::kSyncData: return ::fdatasync(call.fd);
    case Op::kSync: return ::fsync(call.fd);
    case Op::kClose: return ::close(call.fd);
    case Op::kRename: return ::rename(call.path, call.to);
    case Op::kUnlink: return ::unlink(call.path);
    case Op::kRemoveDirectory: return ::rmdir(call.path);
  }
  errno = EINVAL;
  return -1;
}

class ThreadDisk final : public Disk {
 public:
  [[nodiscard]] asio::awaitable<std::int32_t> run(DiskCall call) override {
    auto work = [call] {
      const long result = call_kernel(call);
      return static_cast<std::int32_t>(result < 0 ? -errno : result);
    };
    const std::int32_t result = co_await io::offload(thread_, std::move(work));
    co_return result;
  }
  [[nodiscard]] std::string_view kind() const noexcept override { return "threads"; }

 private:
  io::OffloadThread thread_{"sluice-files"};
};

}  // namespace

std::unique_ptr<Disk> make_thread_disk() { return std::make_unique<ThreadDisk>(); }

}  // namespace sluice::internal
