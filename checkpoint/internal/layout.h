#pragma once

#include <sluice/checkpoint/manifest.h>
#include <sluice/io/base/result.h>
#include <sluice/io/file.h>

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::internal {

using Path = std::filesystem::path;

// The names in a state directory; io::FileSystem adds `lock`.
inline constexpr std::string_view kJobName = "JOB";
inline constexpr std::string_view kDecisionName = "DECIDED";
inline constexpr std::string_view kManifestName = "MANIFEST";

inline constexpr std::uint64_t kSmallFileBytesMax = 64ull << 20;
inline constexpr std::uint64_t kStateHeaderBytes = 8 + 4 + 4;

[[nodiscard]] std::string state_file_name(ShardId shard);  ///< "state-00003.snap"
/// What the state file of an earlier checkpoint is called in one that builds on it:
/// "state-00003-00000000000000000041.snap". `name`: what it is called there, as either.
[[nodiscard]] std::string link_name(std::string_view name, Epoch epoch);
[[nodiscard]] bool is_link_name(std::string_view name) noexcept;
/// A name that cannot lead out of its directory and hides from nobody.
[[nodiscard]] bool is_file_name(std::string_view name) noexcept;

/// Whether `directory` has an entry `name`. A directory that cannot be listed has none.
[[nodiscard]] bool contains(io::FileSystem& files, const Path& directory, std::string_view name);
/// The checkpoint directories of `directory`, finished or not, by epoch.
[[nodiscard]] Result<std::vector<checkpoint::CheckpointName>> checkpoint_names(
    io::FileSystem& files, const Path& directory);
/// Whether any of them has a manifest.
[[nodiscard]] Result<bool> any_checkpoint(io::FileSystem& files, const Path& directory);

/// Points at which a test may end the process while a small file is replaced.
struct KillPoints {
  std::string_view written, synced, renamed;
};
/// Half of replacing a file: `<name>.tmp` is there and synced. A failure changes nothing that
/// counts.
[[nodiscard]] asio::awaitable<Status> write_temporary(io::FileSystem* files, Path directory,
                                                      std::string name, std::string bytes,
                                                      KillPoints kill);
/// The other half: renamed to `name`, directory synced. After a failure either may be there.
[[nodiscard]] asio::awaitable<Status> publish(io::FileSystem* files, Path directory,
                                              std::string name, KillPoints kill);

[[nodiscard]] inline std::span<const std::byte> as_bytes(std::string_view text) noexcept {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace sluice::internal
