#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/io/base/result.h>
#include <sluice/io/executor.h>

namespace sluice::io {

/// A file that is being written from its beginning, never overwritten in place.
///
/// Shard      of the FileSystem that made it.
/// Errors     kExhausted: no space (the disk, the quota). kRetry is never returned: after a failed write or sync the
///            file is dead (`failed()`), a second fsync on it would lie, and every later call returns the first error.
/// Ownership  the destructor closes the descriptor, without a sync.
class File {
 public:
  virtual ~File() = default;
  /// Appends all of `bytes`; short writes are continued. The bytes must stay until it returns.
  [[nodiscard]] virtual asio::awaitable<Status> append(std::span<const std::byte> bytes) = 0;
  [[nodiscard]] virtual asio::awaitable<Status> sync() = 0;  ///< fdatasync
  [[nodiscard]] virtual asio::awaitable<Status> close() = 0;
  [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;  ///< bytes appended
};

/// Holds a directory against a second process; dies with the process, kill -9 included (flock).
class DirectoryLock {
 public:
  virtual ~DirectoryLock() = default;
};

/// Durable files for one shard (or the control thread). Names are not created O_EXCL unless said.
///
/// Shard      the one of the executor it was made for.
/// Errors     messages name the path and the remedy; ENOENT, EACCES, EROFS: kInvalid with exit status 73 for writing
///            calls; ENOSPC, EDQUOT: kExhausted; anything else of the disk: kRecover.
class FileSystem {
 public:
  using Path = std::filesystem::path;
  virtual ~FileSystem() = default;
  /// Creates or truncates.
  [[nodiscard]] virtual asio::awaitable<Result<std::unique_ptr<File>>> create(Path path) = 0;
  /// The whole file; kCorrupt when it is larger than `bytes_max`, kInvalid when there is none.
  [[nodiscard]] virtual asio::awaitable<Result<std::string>> read(Path path, std::uint64_t bytes_max) = 0;
  [[nodiscard]] virtual asio::awaitable<Status> rename(Path from, Path to) = 0;
  /// A second name for a file's bytes (a hard link). Fails where the file system has none: copy then.
  [[nodiscard]] virtual asio::awaitable<Status> link(Path from, Path to) = 0;
  [[nodiscard]] virtual asio::awaitable<Status> sync_directory(Path directory) = 0;
  [[nodiscard]] virtual asio::awaitable<Status> remove(Path path) = 0;  ///< ok when there is none
  // Metadata calls that are rare and quick; they run in place.
  [[nodiscard]] virtual Result<std::vector<std::string>> list(const Path& directory) = 0;  ///< names, sorted
  [[nodiscard]] virtual Status create_directories(const Path& directory) = 0;
  /// Locks `directory/lock`; a held one gives kInvalid, exit status 73, with the holder's process id.
  [[nodiscard]] virtual Result<std::unique_ptr<DirectoryLock>> lock(const Path& directory) = 0;
  [[nodiscard]] virtual std::string_view kind() const noexcept = 0;  ///< "io_uring", "threads", …
};

enum class FileBackend : unsigned char {
  kAutomatic,  ///< io_uring, or threads with one warning where it is forbidden
  kUring,      ///< kInvalid where forbidden
  kThreads,
};
[[nodiscard]] Result<std::unique_ptr<FileSystem>> make_file_system(Executor executor, FileBackend backend);

/// Wraps a file system and injects faults, by a specification such as
///   "write:enospc:every=3,path=snapshot;sync:eio:nth=2;sync:slow=500ms;write:short:every=2;write:torn:nth=4"
/// `<call>:<fault>[=<duration>][:<key>=<value>,…]`, several joined by ';'. Calls: create write sync rename syncdir read.
/// Faults: enospc, eio, short (half of the bytes, then goes on: must be invisible), torn (half is written, then EIO),
/// slow=<n>ms (or us, s). Which: every=<n>, nth=<n> (once), path=<substring> (of a rename: of either path); all where
/// nothing is said. Each rule counts the calls that it matches, for all files of this file system together.
/// A specification that does not parse: kInvalid.
[[nodiscard]] Result<std::unique_ptr<FileSystem>> make_fault_file_system(Executor executor,
                                                                         std::unique_ptr<FileSystem> inner,
                                                                         std::string_view specification);

}  // namespace sluice::io
