#pragma once

#include <sluice/io/base/status.h>
#include <sluice/io/file.h>

#include <filesystem>
#include <string>

namespace sluice::internal {

/// Marks `directory` as the job's, or finds that it is: kInvalid (exit 78) where it is another's.
/// Where JOB is missing, the checkpoints tell. Writes something in every case, so that a directory
/// that is not writable is found at start.
[[nodiscard]] asio::awaitable<Status> adopt_directory(io::FileSystem* files,
                                                      std::filesystem::path directory,
                                                      std::string job_id);

}  // namespace sluice::internal
