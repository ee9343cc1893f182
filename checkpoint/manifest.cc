#include <sluice/checkpoint/internal/bytes.h>
#include <sluice/checkpoint/internal/digest.h>
#include <sluice/checkpoint/internal/layout.h>
#include <sluice/checkpoint/internal/sealed.h>
#include <sluice/checkpoint/manifest.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>

namespace sluice::checkpoint {
namespace {

using internal::ByteReader;
using internal::ByteWriter;

constexpr std::size_t kEpochDigits =
    20;  // Of the largest 64-bit number, so that names sort as numbers do.
constexpr std::uint64_t kAncestorBytes = 8 + 32 + 32;
constexpr std::uint64_t kFileBytesMin = 1 + 8 + 32;
constexpr std::uint64_t kStateBytesMin = 1 + 1 + 1 + 2 + 1 + 8 + 8 + 8;
constexpr std::uint64_t kPreparedBytesMin = 1 + 2 + 1;

Manifest read_payload(ByteReader& in) {
  Manifest manifest;
  manifest.engine_version = in.string();
  manifest.job_id = in.string();
  manifest.name.epoch = Epoch(in.u64());
  manifest.name.writer = in.uuid();
  manifest.shards = in.u16();
  for (std::uint64_t left = in.count(kAncestorBytes); left > 0 && in.ok(); --left) {
    Ancestor ancestor;
    ancestor.name.epoch = Epoch(in.u64());
    ancestor.name.writer = in.uuid();
    ancestor.digest = in.digest();
    manifest.ancestors.push_back(std::move(ancestor));
  }
  for (std::uint64_t left = in.count(kFileBytesMin); left > 0 && in.ok(); --left) {
    ManifestFile file;
    file.name = in.string();
    file.size_bytes = in.u64();
    file.digest = in.digest();
    manifest.files.push_back(std::move(file));
  }
  for (std::uint64_t left = in.count(kStateBytesMin); left > 0 && in.ok(); --left) {
    ManifestState state;
    state.operator_id = in.string();
    state.state = in.string();
    state.type = in.string();
    state.shard = ShardId(in.u16());
    const std::uint64_t file = in.varint();
    if (file >= manifest.files.size()) in.fail();
    state.file = static_cast<std::uint32_t>(file);
    state.offset = in.u64();
    state.length = in.u64();
    state.checksum = in.u64();
    manifest.states.push_back(std::move(state));
  }
  manifest.positions = in.positions();
  for (std::uint64_t left = in.count(kPreparedBytesMin); left > 0 && in.ok(); --left) {
    PreparedOutput prepared;
    prepared.sink = in.string();
    prepared.shard = ShardId(in.u16());
    prepared.bytes = in.string();
    manifest.prepared.push_back(std::move(prepared));
  }
  return manifest;
}

/// What does not fit together in `manifest`; empty: nothing.
std::string contradiction(const Manifest& manifest) {
  if (manifest.name.epoch == Epoch(0)) return "has no epoch";
  if (manifest.shards == 0) return "has no shards";
  Epoch above = manifest.name.epoch;
  for (const Ancestor& ancestor : manifest.ancestors) {
    if (ancestor.name.epoch >= above || ancestor.name.epoch == Epoch(0))
      return "has ancestors out of order";
    above = ancestor.name.epoch;
  }
  std::set<std::string_view> names;
  for (const ManifestFile& file : manifest.files) {
    if (!internal::is_file_name(file.name) || file.name == internal::kManifestName) {
      return fmt::format("names a file \"{}\"", file.name);
    }
    if (!names.insert(file.name).second) return fmt::format("names {} twice", file.name);
  }
  std::vector<std::uint64_t> end(manifest.files.size(), internal::kStateHeaderBytes);
  for (const ManifestState& state : manifest.states) {
    const ManifestFile& file = manifest.files[state.file];
    // Of an earlier checkpoint's file some states may have been written anew since: gaps are right.
    const bool link = internal::is_link_name(file.name);
    if (link ? state.offset < internal::kStateHeaderBytes : state.offset != end[state.file])
      return fmt::format("has a gap before state \"{}\"", state.state);
    if (state.length > file.size_bytes - std::min(state.offset, file.size_bytes)) {
      return fmt::format("has state \"{}\" end behind its file", state.state);
    }
    end[state.file] = link ? file.size_bytes : end[state.file] + state.length;
  }
  for (std::size_t at = 0; at < end.size(); ++at) {
    if (end[at] != manifest.files[at].size_bytes)
      return fmt::format("does not account for all of {}", manifest.files[at].name);
  }
  return {};
}

}  // namespace

std::string CheckpointName::directory() const {
  return fmt::format("{:020}-{}", epoch.value(), writer.to_string());
}

bool CheckpointName::parse(std::string_view text, CheckpointName& name) {
  if (text.size() != kEpochDigits + 1 + 32) return false;
  std::uint64_t epoch = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + kEpochDigits, epoch);
  if (error != std::errc() || end != text.data() + kEpochDigits) return false;
  const CheckpointName parsed{Epoch(epoch), Uuid::parse(text.substr(kEpochDigits + 1))};
  if (parsed.writer.nil() || parsed.directory() != text) return false;
  name = parsed;
  return true;
}

bool Manifest::operator==(const Manifest& other) const {
  const auto same_prepared = [](const PreparedOutput& one, const PreparedOutput& two) {
    return std::tie(one.sink, one.shard, one.bytes) == std::tie(two.sink, two.shard, two.bytes);
  };
  return std::tie(engine_version, job_id, name, shards, ancestors, files, states, positions) ==
             std::tie(other.engine_version, other.job_id, other.name, other.shards, other.ancestors,
                      other.files, other.states, other.positions) &&
         std::equal(prepared.begin(), prepared.end(), other.prepared.begin(), other.prepared.end(),
                    same_prepared);
}

Result<std::string> encode(const Manifest& manifest) {
  SLUICE_ASSERT(contradiction(manifest).empty());
  SLUICE_ASSERT(!manifest.name.writer.nil());
  ByteWriter out;
  out.string(manifest.engine_version);
  out.string(manifest.job_id);
  out.u64(manifest.name.epoch.value());
  out.uuid(manifest.name.writer);
  out.u16(manifest.shards);
  out.varint(manifest.ancestors.size());
  for (const Ancestor& ancestor : manifest.ancestors) {
    SLUICE_ASSERT(!ancestor.name.writer.nil() && internal::is_digest(ancestor.digest));
    out.u64(ancestor.name.epoch.value());
    out.uuid(ancestor.name.writer);
    out.raw(ancestor.digest);
  }
  out.varint(manifest.files.size());
  for (const ManifestFile& file : manifest.files) {
    SLUICE_ASSERT(internal::is_digest(file.digest));
    out.string(file.name);
    out.u64(file.size_bytes);
    out.raw(file.digest);
  }
  out.varint(manifest.states.size());
  for (const ManifestState& state : manifest.states) {
    out.string(state.operator_id);
    out.string(state.state);
    out.string(state.type);
    out.u16(state.shard.value());
    out.varint(state.file);
    out.u64(state.offset);
    out.u64(state.length);
    out.u64(state.checksum);
  }
  out.positions(manifest.positions);
  out.varint(manifest.prepared.size());
  for (const PreparedOutput& prepared : manifest.prepared) {
    out.string(prepared.sink);
    out.u16(prepared.shard.value());
    out.string(prepared.bytes);
  }
  std::string bytes = internal::seal(internal::kManifestMagic, out.bytes());
  if (bytes.size() > kManifestBytesMax) {
    return Status(Code::kInvalid,
                  fmt::format("the manifest of epoch {} has {} bytes and may have {}: {} source "
                              "positions, {} prepared "
                              "outputs; take fewer splits in one job, or longer files in its sinks",
                              manifest.name.epoch, bytes.size(), kManifestBytesMax,
                              manifest.positions.size(), manifest.prepared.size()));
  }
  return bytes;
}

Result<Manifest> decode_manifest(std::string_view bytes) {
  if (bytes.size() > kManifestBytesMax)
    return Status(Code::kCorrupt, "is larger than a manifest can be");
  const Result<std::string_view> payload = internal::unseal(internal::kManifestMagic, bytes);
  if (!payload.ok()) return payload.status();
  ByteReader reader(*payload);
  Manifest manifest = read_payload(reader);
  if (!reader.done())
    return Status(Code::kCorrupt, "has a right checksum, but fields that do not fit its length");
  if (const std::string what = contradiction(manifest); !what.empty())
    return Status(Code::kCorrupt, what);
  return manifest;
}

std::string digest_of(std::string_view bytes) {
  internal::Digest digest;
  digest.update(bytes);
  return digest.hex();
}

std::string digest_of(const std::vector<SplitPosition>& positions) {
  ByteWriter out;
  out.positions(positions);
  return digest_of(std::string_view(out.bytes()));
}

}  // namespace sluice::checkpoint
