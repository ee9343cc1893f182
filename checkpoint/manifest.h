#pragma once

#include <sluice/engine/decider.h>
#include <sluice/engine/snapshot.h>
#include <sluice/io/base/result.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::checkpoint {

/// One file of a checkpoint, beside its manifest.
struct ManifestFile {
  std::string
      name;  ///< letters, digits, '-', '.', '_'; never a path, so that the directory can be moved
  std::uint64_t size_bytes = 0;
  std::string digest;  ///< xxh3-128 of the whole file, 32 hex digits
  bool operator==(const ManifestFile&) const = default;
};

/// Where one state's bytes are.
struct ManifestState {
  std::string operator_id;
  std::string state;
  std::string type;
  ShardId shard;
  std::uint32_t file = 0;  ///< index into Manifest::files
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t checksum = 0;  ///< xxh3-64 of the bytes
  bool operator==(const ManifestState&) const = default;
};

/// A checkpoint's name: the epoch and the claim that wrote it.
struct CheckpointName {
  Epoch epoch{0};
  Uuid writer;
  bool operator==(const CheckpointName&) const = default;
  /// "00000000000000000041-<32 hex digits>": the name of its directory; sorts by epoch.
  [[nodiscard]] std::string directory() const;
  /// False where `text` is not such a name, spelt exactly so.
  static bool parse(std::string_view text, CheckpointName& name);
};

/// A decided checkpoint that came before.
struct Ancestor {
  CheckpointName name;
  std::string digest;  ///< of its manifest
  bool operator==(const Ancestor&) const = default;
};

/// The table of contents of one checkpoint, written last. Its bytes are specified in format.md.
struct Manifest {
  std::string engine_version;
  std::string job_id;
  CheckpointName name;
  std::uint16_t shards = 1;  ///< of the job when it was written
  std::vector<Ancestor>
      ancestors;  ///< the decided checkpoints that existed when it was written, newest first
  std::vector<ManifestFile> files;
  /// The states of one file lie in it in this order, without gaps; of a file that an earlier
  /// checkpoint wrote, some. A state that is there several times is what was all of it, then what
  /// changed, in order.
  std::vector<ManifestState> states;
  std::vector<SplitPosition> positions;
  std::vector<PreparedOutput> prepared;
  bool operator==(const Manifest& other) const;
};

inline constexpr std::uint64_t kManifestBytesMax = 64ull << 20;
inline constexpr std::size_t kAncestorsMax = 1'024;

/// The bytes of MANIFEST. What it encodes it can decode; larger than kManifestBytesMax: kInvalid.
[[nodiscard]] Result<std::string> encode(const Manifest& manifest);
/// Any bytes: a manifest that is consistent within itself, or kCorrupt (another format version:
/// kInvalid, exit 65) with the reason. Allocates no more than a small multiple of `bytes`.
[[nodiscard]] Result<Manifest> decode_manifest(std::string_view bytes);

/// xxh3-128 as 32 hex digits: what a Decision carries of a manifest's bytes.
[[nodiscard]] std::string digest_of(std::string_view bytes);
/// The digest of a local decision that carries its positions itself.
[[nodiscard]] std::string digest_of(const std::vector<SplitPosition>& positions);

}  // namespace sluice::checkpoint
