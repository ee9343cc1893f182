#include <sluice/io/file.h>

#include <atomic>
#include <utility>

#include <sluice/io/base/log.h>
#include <sluice/io/internal/disk.h>

namespace sluice::io {

using internal::Disk;

Result<std::unique_ptr<FileSystem>> make_file_system(Executor executor, FileBackend backend) {
  std::unique_ptr<Disk> disk;
  if (backend != FileBackend::kThreads) {
    Result<std::unique_ptr<Disk>> uring = internal::make_uring_disk(std::move(executor));
    if (uring.ok()) {
      disk = *std::move(uring);
    } else if (backend == FileBackend::kUring) {
      return std::move(uring).status();
    } else {
      static std::atomic<bool> warned{false};  // Once a process, not once a shard.
      if (!warned.exchange(true)) log().warn("files are written by threads: {}", uring.status().message());
    }
  }
  if (!disk) disk = internal::make_thread_disk();
  return internal::make_disk_file_system(std::move(disk));
}

}  // namespace sluice::io
