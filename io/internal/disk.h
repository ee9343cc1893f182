#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <sluice/io/base/result.h>
#include <sluice/io/executor.h>
#include <sluice/io/file.h>

namespace sluice::internal {

/// One system call on a file. What the pointers show stays until the call has returned.
struct DiskCall {
  enum class Op : unsigned char { kOpen, kWrite, kRead, kSyncData, kSync, kClose, kRename, kUnlink, kRemoveDirectory };
  Op op{};
  int fd = -1;
  int flags = 0;               // kOpen
  const char* path = nullptr;  // kOpen, kRename, kUnlink, kRemoveDirectory
  const char* to = nullptr;    // kRename
  const void* from = nullptr;  // kWrite
  void* into = nullptr;        // kRead
  std::uint32_t bytes = 0;     // kWrite, kRead
  std::uint64_t offset = 0;    // kWrite, kRead
};

/// How a shard makes system calls on files without waiting for them: by its ring, or by a thread.
///
/// Shard      of its executor.
/// Errors     run() gives what the system call gives, -errno on failure. It does not retry and is never cancelled: the
///            kernel may use the buffer until it is done, so the coroutine that owns it stays.
/// Ownership  the destructor waits for the calls in flight.
class Disk {
 public:
  virtual ~Disk() = default;
  [[nodiscard]] virtual asio::awaitable<std::int32_t> run(DiskCall call) = 0;
  [[nodiscard]] virtual std::string_view kind() const noexcept = 0;
};

/// kInvalid, with the reason, where this machine forbids io_uring or its kernel is too old for what we use.
[[nodiscard]] Result<std::unique_ptr<Disk>> make_uring_disk(io::Executor executor);
[[nodiscard]] std::unique_ptr<Disk> make_thread_disk();

/// What files promise, on top of either.
[[nodiscard]] std::unique_ptr<io::FileSystem> make_disk_file_system(std::unique_ptr<Disk> disk);

}  // namespace sluice::internal
