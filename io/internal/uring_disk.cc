#include <sluice/io/internal/disk.h>

namespace sluice::internal {

Result<std::unique_ptr<Disk>> make_uring_disk(io::Executor) {
  return Status(Code::kInvalid, "could not start io_uring: not built in yet");
}

}  // namespace sluice::internal
