#include <sluice/io/file.h>

namespace sluice::io {

Result<std::unique_ptr<FileSystem>> make_fault_file_system(Executor, std::unique_ptr<FileSystem>, std::string_view) {
  return Status(Code::kInvalid, "could not inject file faults: not built in yet");
}

}  // namespace sluice::io
