#pragma once

#include <memory>

#include <sluice/io/file.h>

namespace sluice::internal {

[[nodiscard]] Result<std::unique_ptr<io::DirectoryLock>> lock_directory(const std::filesystem::path& directory);

}  // namespace sluice::internal
