#include <sluice/checkpoint/internal/bytes.h>
#include <sluice/checkpoint/internal/digest.h>
#include <sluice/checkpoint/internal/layout.h>
#include <sluice/checkpoint/internal/reader.h>
#include <sluice/checkpoint/internal/sealed.h>

#include <fmt/format.h>

#include <utility>

namespace sluice::internal {
namespace {

using checkpoint::CheckpointName;
using checkpoint::Manifest;
using checkpoint::ManifestState;

Status damaged(const Path& directory, CheckpointName name, std::string_view what) {
  return Status(
      Code::kCorrupt,
      fmt::format(
          "could not open checkpoint \"{}\" of {}: {}; nothing was restored or deleted: put back a "
          "copy of it, or start from another one with --from PATH",
          name.directory(), directory.string(), what));
}

/// Tells a file that is not there from one that cannot be read; the file system has one code for
/// both.
asio::awaitable<Result<std::string>> read_file(io::FileSystem* files, Path directory,
                                               CheckpointName name, std::string file,
                                               std::uint64_t bytes_max) {
  const Path at = directory / name.directory();
  if (!contains(*files, at, file))
    co_return damaged(directory, name, fmt::format("{} is missing", file));
  Result<std::string> bytes = co_await files->read(at / file, bytes_max);
  if (!bytes.ok() && bytes.code() == Code::kCorrupt) {
    co_return damaged(directory, name,
                      fmt::format("{} is larger than the {} bytes it may have", file, bytes_max));
  }
  co_return bytes;
}

std::string what_is_wrong_with_states(const Manifest& manifest, std::uint32_t file,
                                      std::string_view bytes) {
  for (const ManifestState& state : manifest.states) {
    if (state.file == file &&
        checksum_of(bytes.substr(state.offset, state.length)) != state.checksum) {
      return fmt::format("the checksum of state \"{}\" of operator \"{}\", shard {}, in it differs",
                         state.state, state.operator_id, state.shard);
    }
  }
  return {};
}

/// What is wrong with the bytes of one state file; empty: nothing.
std::string what_is_wrong(const Manifest& manifest, std::uint32_t index, std::string_view bytes) {
  const checkpoint::ManifestFile& file = manifest.files[index];
  if (bytes.size() != file.size_bytes)
    return fmt::format("it has {} bytes, the manifest says {}", bytes.size(), file.size_bytes);
  ByteReader header(bytes);
  const bool known =
      header.raw(kStateMagic.size()) == kStateMagic && header.u32() == kFormatVersion;
  const std::string states = what_is_wrong_with_states(manifest, index, bytes);
  if (!states.empty()) return states;
  if (checkpoint::digest_of(bytes) != file.digest) return "its digest differs from the manifest's";
  if (!known) return "it does not begin like a state file of this format";
  return {};
}

}  // namespace

asio::awaitable<Result<OpenedCheckpoint>> read_manifest(io::FileSystem* files, Path directory,
                                                        CheckpointName name, Expected expected) {
  const std::string file(kManifestName);
  const Result<std::string> bytes =
      co_await read_file(files, directory, name, file, checkpoint::kManifestBytesMax);
  if (!bytes.ok()) co_return bytes.status();
  OpenedCheckpoint opened;
  opened.manifest_bytes = bytes->size();
  opened.digest = checkpoint::digest_of(*bytes);
  Result<Manifest> decoded = checkpoint::decode_manifest(*bytes);
  if (!decoded.ok()) {
    const Status named =
        damaged(directory, name, fmt::format("{} {}", file, decoded.status().message()));
    co_return named.as(decoded.code()).exit(ExitStatus::kData);
  }
  opened.manifest = *std::move(decoded);
  if (!expected.digest.empty() && opened.digest != expected.digest) {
    co_return damaged(
        directory, name,
        fmt::format(
            "{} is whole, but not the one that was decided: its digest is {}, decided was {}", file,
            opened.digest, expected.digest));
  }
  if (opened.manifest.name != name) {
    co_return damaged(
        directory, name,
        fmt::format("{} is that of checkpoint \"{}\"", file, opened.manifest.name.directory()));
  }
  if (!expected.job_id.empty() && opened.manifest.job_id != expected.job_id) {
    co_return damaged(directory, name,
                      fmt::format("{} is of job \"{}\", not of \"{}\"", file,
                                  opened.manifest.job_id, expected.job_id));
  }
  co_return opened;
}

asio::awaitable<Result<OpenedCheckpoint>> read_checkpoint(io::FileSystem* files, Path directory,
                                                          CheckpointName name, Expected expected) {
  Result<OpenedCheckpoint> opened =
      co_await read_manifest(files, directory, name, std::move(expected));
  if (!opened.ok()) co_return opened;
  const Manifest& manifest = opened->manifest;
  std::vector<StateSnapshot> states(manifest.states.size());
  for (std::uint32_t index = 0; index < manifest.files.size(); ++index) {
    const checkpoint::ManifestFile& file = manifest.files[index];
    const Result<std::string> bytes =
        co_await read_file(files, directory, name, file.name, file.size_bytes);
    if (!bytes.ok()) co_return bytes.status();
    const std::string what = what_is_wrong(manifest, index, *bytes);
    if (!what.empty()) co_return damaged(directory, name, fmt::format("{}: {}", file.name, what));
    for (std::size_t at = 0; at < states.size(); ++at) {
      const ManifestState& state = manifest.states[at];
      if (state.file != index) continue;
      states[at] = {state.operator_id, state.state, state.type, state.shard,
                    bytes->substr(state.offset, state.length)};
    }
  }
  opened->data.states = std::move(states);
  opened->data.positions = manifest.positions;
  opened->data.prepared = manifest.prepared;
  co_return opened;
}

}  // namespace sluice::internal
