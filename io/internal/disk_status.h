#pragma once

#include <filesystem>
#include <string_view>

#include <sluice/io/base/status.h>

namespace sluice::internal {

/// What a failed system call on a file means to the caller, in words with a remedy. `action` is "write", "rename", …
[[nodiscard]] Status disk_status(std::string_view action, const std::filesystem::path& path, int error);
/// The same for a call that only reads: a missing file is not a directory that can not be written.
[[nodiscard]] Status disk_read_status(std::string_view action, const std::filesystem::path& path, int error);

}  // namespace sluice::internal
