#pragma once

#include <sluice/checkpoint/manifest.h>
#include <sluice/engine/decider.h>
#include <sluice/engine/snapshot.h>
#include <sluice/io/base/result.h>
#include <sluice/io/file.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::checkpoint {

/// The durable checkpoints of one job in one directory; format.md specifies every byte.
///
/// A checkpoint is a directory named by epoch and claim, a file of states a shard, and a manifest
/// that is renamed into place last. Nothing is ever overwritten, and nothing here says which
/// checkpoint counts: a Decision does. Names inside are relative, so the directory can be moved.
///
/// Shard      the control thread, the one of the FileSystem. One call at a time.
/// Errors     kCorrupt: bytes differ from what was written, or files are missing; nothing was
/// handed out. kInvalid: the
///            directory cannot be used (exit 73), or is another job's (78). kExhausted, kRecover:
///            the disk failed. Every message names the file and what to do.
/// Ownership  holds the directory's lock until it is destroyed; the FileSystem must outlive it.
class Store {
 public:
  using Path = std::filesystem::path;

  /// Creates and locks the directory, and marks it as the job's. Deletes nothing.
  [[nodiscard]] static asio::awaitable<Result<std::unique_ptr<Store>>> open(io::FileSystem& files,
                                                                            Path directory,
                                                                            std::string job_id);
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store();

  [[nodiscard]] const Path& directory() const noexcept { return directory_; }

  /// How a new checkpoint fits into the job.
  struct Lineage {
    std::uint16_t shards = 1;  ///< of the job now
    Decision previous;         ///< what is decided so far; epoch 0: nothing. Retention hangs on it.
  };
  /// Makes checkpoint `epoch` durable and returns the digest of its manifest, for the Decision.
  /// States that hold changes are put behind what `lineage.previous` holds of them: its epoch is not
  /// below their `since`, and it is of the same attempt. kRecover where it holds nothing of one.
  /// `data` must stay until it returns. On any failure nothing is left that could pass for a
  /// checkpoint, and the caller merges the epoch into the next: the same (epoch, writer) is never
  /// written twice (kInvalid).
  [[nodiscard]] asio::awaitable<Result<std::string>> write(Epoch epoch, Uuid writer,
                                                           const CheckpointData& data,
                                                           Lineage lineage);

  /// Hands out exactly the checkpoint that `decision` names, after every byte of it was verified. A
  /// decision that carries its positions opens nothing (its decider vouches for them); epoch 0 is
  /// empty.
  [[nodiscard]] asio::awaitable<Result<CheckpointData>> read(Decision decision);
  /// Whether its manifest is there (not whether it is whole). True where a decision needs no
  /// checkpoint.
  [[nodiscard]] bool has(const Decision& decision) const;
  /// Whether there is any finished checkpoint, whoever wrote it: then a missing decision is a loss
  /// and not a beginning.
  [[nodiscard]] bool any() const;

  /// After a decision of one's own, and only then: deletes what is at or below `decided.epoch`, but
  /// for the newest `keep` decided checkpoints (`decided` is the first of them; 0 counts as 1).
  /// Never touches what is above.
  [[nodiscard]] asio::awaitable<Status> collect(Decision decided, std::uint32_t keep);

  /// What stands in a directory, for people. Needs no lock; a job may run in it meanwhile.
  struct Entry {
    CheckpointName name;
    std::uint64_t size_bytes = 0;  ///< by the manifest, with it
    bool complete = false;  ///< manifest whole, every file there; contents are verified by read()
    std::string reason;     ///< why not complete
    std::string digest;     ///< of the manifest, where there is one
  };
  /// Sorted by epoch.
  [[nodiscard]] static asio::awaitable<Result<std::vector<Entry>>> list(io::FileSystem& files,
                                                                        Path directory);
  /// One checkpoint, decided or not, verified like read(), to look into.
  struct Contents {
    Manifest manifest;
    CheckpointData data;
  };
  [[nodiscard]] static asio::awaitable<Result<Contents>> inspect(io::FileSystem& files,
                                                                 Path directory,
                                                                 CheckpointName name);

 private:
  Store(io::FileSystem& files, Path directory, std::string job_id,
        std::unique_ptr<io::DirectoryLock> lock);
  static asio::awaitable<Result<std::unique_ptr<Store>>> open_at(io::FileSystem* files,
                                                                 Path directory,
                                                                 std::string job_id);
  asio::awaitable<Result<std::string>> write_new(CheckpointName name, const CheckpointData* data,
                                                 Lineage lineage);
  asio::awaitable<Result<std::vector<Ancestor>>> line_of(Decision decision);
  asio::awaitable<Result<std::shared_ptr<const Manifest>>> manifest_of(Decision decision);

  io::FileSystem& files_;
  const Path directory_;
  const std::string job_id_;
  const std::unique_ptr<io::DirectoryLock> lock_;
  // Decided checkpoints, newest first, as far back as they are kept: of the newest decision that we
  // were told of, and of the checkpoint written last, should it be decided.
  std::vector<Ancestor> decided_;
  std::vector<Ancestor> written_;
  // What changes build on: of the two checkpoints written last, of which one is the newest decided.
  std::shared_ptr<const Manifest> last_, last_but_one_;
};

}  // namespace sluice::checkpoint
