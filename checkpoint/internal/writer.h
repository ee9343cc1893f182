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
/// in. States that are changes build on `previous` (null: none do): its files that are still needed
/// get a second name here, so every checkpoint has all of its files in its own directory. Returns
/// the manifest's digest. kRecover: changes of a state that `previous` does not hold. A failure
/// leaves files behind, for the caller to remove.
[[nodiscard]] asio::awaitable<Result<std::string>> write_checkpoint(
    io::FileSystem* files, std::filesystem::path directory, checkpoint::Manifest* manifest,
    const checkpoint::Manifest* previous, const CheckpointData* data);

}  // namespace sluice::internal
