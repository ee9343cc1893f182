#pragma once

#include <sluice/checkpoint/manifest.h>
#include <sluice/engine/snapshot.h>
#include <sluice/io/base/result.h>
#include <sluice/io/file.h>

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::internal {

/// What a checkpoint must be beside being whole; empty: anything.
struct Expected {
  std::string digest;  ///< of the manifest
  std::string job_id;
};

struct OpenedCheckpoint {
  checkpoint::Manifest manifest;
  std::string digest;  ///< of the manifest
  std::uint64_t manifest_bytes = 0;
  CheckpointData data;  ///< empty after read_manifest()
};

/// The manifest of the checkpoint `name` in `directory`, verified. kCorrupt: missing, damaged or
/// not the expected one.
[[nodiscard]] asio::awaitable<Result<OpenedCheckpoint>> read_manifest(
    io::FileSystem* files, std::filesystem::path directory, checkpoint::CheckpointName name,
    Expected expected);
/// All of it. Every byte of every file is verified before anything is handed out.
[[nodiscard]] asio::awaitable<Result<OpenedCheckpoint>> read_checkpoint(
    io::FileSystem* files, std::filesystem::path directory, checkpoint::CheckpointName name,
    Expected expected);

}  // namespace sluice::internal
