#include <sluice/checkpoint/internal/bytes.h>
#include <sluice/checkpoint/internal/digest.h>
#include <sluice/checkpoint/internal/layout.h>
#include <sluice/checkpoint/internal/sealed.h>
#include <sluice/checkpoint/internal/writer.h>
#include <sluice/io/base/kill_point.h>

#include <fmt/format.h>

#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace sluice::internal {
namespace {

using checkpoint::Manifest;
using checkpoint::ManifestFile;
using checkpoint::ManifestState;

constexpr KillPoints kManifestKills{"manifest.written", "manifest.synced", "manifest.renamed"};

std::string state_header(ShardId shard) {
  ByteWriter header;
  header.raw(kStateMagic);
  header.u32(kFormatVersion);
  header.u32(shard.value());
  return std::move(header).take();
}

using StatesOfShard = std::map<ShardId, std::vector<const StateSnapshot*>>;

/// Names in `manifest` what `previous` holds of `state`, in order, and the files that it lies in.
Status build_on(const Manifest* previous, const StateSnapshot& state,
                std::map<std::uint32_t, std::uint32_t>& linked, Manifest& manifest) {
  bool any = false;
  const auto end = previous == nullptr ? std::size_t{0} : previous->states.size();
  for (std::size_t at = 0; at < end; ++at) {
    ManifestState part = previous->states[at];
    if (part.shard != state.shard || part.state != state.state || part.type != state.type ||
        part.operator_id != state.operator_id) {
      continue;
    }
    const auto next = static_cast<std::uint32_t>(manifest.files.size());
    const auto [index, added] = linked.emplace(part.file, next);
    if (added) {
      ManifestFile file = previous->files[part.file];
      file.name = link_name(file.name, previous->name.epoch);
      manifest.files.push_back(std::move(file));
    }
    part.file = index->second;
    manifest.states.push_back(std::move(part));
    any = true;
  }
  if (any) return {};
  return Status(Code::kRecover,
                fmt::format("state \"{}\" of operator \"{}\" on shard {} came as changes since epoch "
                            "{}, but checkpoint {} holds nothing of it",
                            state.state, state.operator_id, state.shard, state.since,
                            previous == nullptr ? Epoch(0) : previous->name.epoch));
}

/// Lists the files and states of `data` in `manifest`, but for the digests of the files that are to
/// be written. `linked`: of `previous`, by their index there, with that in `manifest`.
Result<StatesOfShard> lay_out(const CheckpointData& data, const Manifest* previous,
                              std::map<std::uint32_t, std::uint32_t>& linked, Manifest& manifest) {
  StatesOfShard shards;
  for (const StateSnapshot& state : data.states) shards[state.shard].push_back(&state);
  std::map<ShardId, std::uint32_t> index;
  for (const auto& [shard, states] : shards) {
    index[shard] = static_cast<std::uint32_t>(manifest.files.size());
    manifest.files.push_back({state_file_name(shard), kStateHeaderBytes, {}});
  }
  for (const StateSnapshot& state : data.states) {
    if (state.since != Epoch(0)) SLUICE_TRY(build_on(previous, state, linked, manifest));
    ManifestFile& file = manifest.files[index[state.shard]];
    manifest.states.push_back({state.operator_id, state.state, state.type, state.shard,
                               index[state.shard], file.size_bytes, state.bytes.size(),
                               checksum_of(state.bytes)});
    file.size_bytes += state.bytes.size();
  }
  manifest.positions = data.positions;
  manifest.prepared = data.prepared;
  return shards;
}

/// One state file, synced; returns its digest.
asio::awaitable<Result<std::string>> write_states(io::FileSystem* files, Path at, ShardId shard,
                                                  std::vector<const StateSnapshot*> states) {
  Result<std::unique_ptr<io::File>> created = co_await files->create(at);
  if (!created.ok()) co_return created.status();
  io::File& file = **created;
  Digest digest;
  const std::string header = state_header(shard);
  digest.update(header);
  const Status begun = co_await file.append(as_bytes(header));
  if (!begun.ok()) co_return begun;
  for (const StateSnapshot* state : states) {
    digest.update(state->bytes);
    const Status appended = co_await file.append(as_bytes(state->bytes));
    if (!appended.ok()) co_return appended;
  }
  kill_point("checkpoint.file_written");
  const Status synced = co_await file.sync();
  if (!synced.ok()) co_return synced;
  kill_point("checkpoint.file_synced");
  const Status closed = co_await file.close();
  if (!closed.ok()) co_return closed;
  co_return digest.hex();
}

/// The file `from` under a second name; where the file system has no links, a copy.
asio::awaitable<Status> link_or_copy(io::FileSystem* files, Path from, Path to, ManifestFile file) {
  const Status linked = co_await files->link(from, to);
  if (linked.ok()) co_return Status();
  const Result<std::string> bytes = co_await files->read(from, file.size_bytes);
  if (!bytes.ok()) co_return bytes.status();
  if (checkpoint::digest_of(*bytes) != file.digest) {
    co_return Status(Code::kRecover, fmt::format("could not copy {}: its digest differs from the "
                                                 "one that was written; check the disk",
                                                 from.string()));
  }
  Result<std::unique_ptr<io::File>> created = co_await files->create(to);
  if (!created.ok()) co_return created.status();
  const Status appended = co_await (*created)->append(as_bytes(*bytes));
  if (!appended.ok()) co_return appended;
  const Status synced = co_await (*created)->sync();
  if (!synced.ok()) co_return synced;
  const Status closed = co_await (*created)->close();
  co_return closed;
}

}  // namespace

asio::awaitable<Result<std::string>> write_checkpoint(io::FileSystem* files, Path directory,
                                                      Manifest* manifest, const Manifest* previous,
                                                      const CheckpointData* data) {
  const Path at = directory / manifest->name.directory();
  std::map<std::uint32_t, std::uint32_t> linked;
  const Result<StatesOfShard> shards = lay_out(*data, previous, linked, *manifest);
  if (!shards.ok()) co_return shards.status();
  for (const auto& [there, here] : linked) {
    const Path from = directory / previous->name.directory() / previous->files[there].name;
    const ManifestFile& file = manifest->files[here];
    const Status added = co_await link_or_copy(files, from, at / file.name, file);
    if (!added.ok()) co_return added;
  }
  std::size_t index = 0;
  for (const auto& [shard, states] : *shards) {
    ManifestFile& file = manifest->files[index++];
    Result<std::string> digest = co_await write_states(files, at / file.name, shard, states);
    if (!digest.ok()) co_return digest;
    file.digest = *std::move(digest);
  }
  const Result<std::string> bytes = checkpoint::encode(*manifest);
  if (!bytes.ok()) co_return bytes;
  const std::string name(kManifestName);
  const Status written = co_await write_temporary(files, at, name, *bytes, kManifestKills);
  if (!written.ok()) co_return written;
  const Status published = co_await publish(files, at, name, kManifestKills);
  if (!published.ok()) co_return published;
  // The checkpoint's own directory is an entry of its parent, and as easily lost.
  const Status durable = co_await files->sync_directory(directory);
  if (!durable.ok()) co_return durable;
  kill_point("checkpoint.durable");
  co_return checkpoint::digest_of(std::string_view(*bytes));
}

}  // namespace sluice::internal
