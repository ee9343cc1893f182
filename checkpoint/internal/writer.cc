#include <sluice/checkpoint/internal/bytes.h>
#include <sluice/checkpoint/internal/digest.h>
#include <sluice/checkpoint/internal/layout.h>
#include <sluice/checkpoint/internal/sealed.h>
#include <sluice/checkpoint/internal/writer.h>
#include <sluice/io/base/kill_point.h>

#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace sluice::internal {
namespace {

using checkpoint::Manifest;
using checkpoint::ManifestFile;

constexpr KillPoints kManifestKills{"manifest.written", "manifest.synced", "manifest.renamed"};

std::string state_header(ShardId shard) {
  ByteWriter header;
  header.raw(kStateMagic);
  header.u32(kFormatVersion);
  header.u32(shard.value());
  return std::move(header).take();
}

using StatesOfShard = std::map<ShardId, std::vector<const StateSnapshot*>>;

/// Lists the files and states of `data` in `manifest`, but for the files' digests.
StatesOfShard lay_out(const CheckpointData& data, Manifest& manifest) {
  StatesOfShard shards;
  for (const StateSnapshot& state : data.states) shards[state.shard].push_back(&state);
  std::map<ShardId, std::uint32_t> index;
  for (const auto& [shard, states] : shards) {
    index[shard] = static_cast<std::uint32_t>(manifest.files.size());
    manifest.files.push_back({state_file_name(shard), kStateHeaderBytes, {}});
  }
  for (const StateSnapshot& state : data.states) {
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

}  // namespace

asio::awaitable<Result<std::string>> write_checkpoint(io::FileSystem* files, Path directory,
                                                      Manifest manifest,
                                                      const CheckpointData* data) {
  const Path at = directory / manifest.name.directory();
  const StatesOfShard shards = lay_out(*data, manifest);
  std::size_t index = 0;
  for (const auto& [shard, states] : shards) {
    ManifestFile& file = manifest.files[index++];
    Result<std::string> digest = co_await write_states(files, at / file.name, shard, states);
    if (!digest.ok()) co_return digest;
    file.digest = *std::move(digest);
  }
  const Result<std::string> bytes = checkpoint::encode(manifest);
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
