#pragma once

#include <sluice/checkpoint/manifest.h>
#include <sluice/engine/snapshot.h>
#include <sluice/io/base/result.h>
#include <sluice/io/file.h>

#include <filesystem>
#include <string>

namespace sluice::internal {

/// Writes one checkpoint into `directory`, which exists and has nothing of it, and makes it
/// durable. `manifest` comes with what `data` does not know (names, ancestors); the rest is filled
/// in. Returns the manifest's digest. A failure leaves files behind, for the caller to remove.
[[nodiscard]] asio::awaitable<Result<std::string>> write_checkpoint(io::FileSystem* files,
                                                                    std::filesystem::path directory,
                                                                    checkpoint::Manifest manifest,
                                                                    const CheckpointData* data);

}  // namespace sluice::internal
