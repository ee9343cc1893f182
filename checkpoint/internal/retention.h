#pragma once

#include <sluice/checkpoint/manifest.h>
#include <sluice/io/base/result.h>
#include <sluice/io/file.h>

#include <filesystem>
#include <vector>

namespace sluice::internal {

/// Which of `present` may go once `decided` is decided: all that is not above it and not in `line`,
/// the decided checkpoints to keep.
[[nodiscard]] std::vector<checkpoint::CheckpointName> outdated(
    const std::vector<checkpoint::CheckpointName>& present, Epoch decided,
    const std::vector<checkpoint::Ancestor>& line);

/// Deletes one checkpoint: its manifest first, so that at no time half of one looks like a whole
/// one.
[[nodiscard]] asio::awaitable<Status> remove_checkpoint(io::FileSystem* files,
                                                        std::filesystem::path directory,
                                                        checkpoint::CheckpointName name,
                                                        std::string_view kill);

}  // namespace sluice::internal
