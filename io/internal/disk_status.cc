#include <sluice/io/internal/disk_status.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace sluice::internal {
namespace {

struct Meaning {
  Code code;
  std::string_view remedy;
};

Meaning meaning_of(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT: return {Code::kExhausted, "free space there, or raise the quota"};
    case EFBIG: return {Code::kExhausted, "raise the limit on the size of a file (ulimit -f)"};
    case EMFILE:
    case ENFILE: return {Code::kExhausted, "raise the limit on open files (ulimit -n)"};
    case ENOENT:
    case ENOTDIR: return {Code::kInvalid, "create the directory, or name another one"};
    case EACCES:
    case EPERM: return {Code::kInvalid, "let this user write there, or name another directory"};
    case EROFS: return {Code::kInvalid, "mount it for writing, or name another directory"};
    case EISDIR:
    case EEXIST:
    case ENOTEMPTY:
    case ELOOP:
    case EXDEV:
    case ENAMETOOLONG: return {Code::kInvalid, "move away what is in the way, or name another directory"};
    default: return {Code::kRecover, "see the kernel's log for the state of the disk"};
  }
}

Status status_of(std::string_view action, const std::filesystem::path& path, int error, std::string_view remedy,
                 Code code) {
  return Status(code, fmt::format("could not {} {}: {}; {}", action, path.string(),
                                  std::generic_category().message(error), remedy));
}

}  // namespace

Status disk_status(std::string_view action, const std::filesystem::path& path, int error) {
  const Meaning meaning = meaning_of(error);
  Status status = status_of(action, path, error, meaning.remedy, meaning.code);
  return meaning.code == Code::kInvalid ? std::move(status).exit(ExitStatus::kCannotCreate) : status;
}

Status disk_read_status(std::string_view action, const std::filesystem::path& path, int error) {
  const Meaning meaning = meaning_of(error);
  switch (error) {
    case ENOENT:
    case ENOTDIR: return status_of(action, path, error, "name a file that exists", Code::kInvalid);
    case EACCES:
    case EPERM: return status_of(action, path, error, "let this user read it", Code::kInvalid);
    default: return status_of(action, path, error, meaning.remedy, meaning.code);
  }
}

}  // namespace sluice::internal
