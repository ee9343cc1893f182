#pragma once

#include <sluice/io/file.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sluice::support {

/// A disk in memory that loses what was not synced, and says in which order it was asked to do
/// what.
///
/// What is written, made, renamed or removed is seen at once by everybody and survives the death of
/// a process. At a power cut only this survives: of a file the bytes that sync() covered, of a
/// directory the entries that sync_directory() covered. A real disk may keep more, in any order;
/// crash() can do that too.
class MemoryDisk {
 public:
  using Path = std::filesystem::path;

  enum class Keep : std::uint8_t {
    kSynced,   ///< nothing that was not synced
    kEntries,  ///< every entry, also of files whose bytes are gone: a rename that overtook its data
    kData,     ///< all bytes, but only synced entries
  };
  /// Cuts the power and restores it: locks are free, what was not kept is gone, calls work again.
  void crash(Keep keep);

  /// Called before each call with its name (create write sync rename link syncdir remove mkdir read) and
  /// path; a failure is what the call then returns, without having any effect.
  using Fault = std::function<Status(const std::string& call, const Path& path)>;
  void set_fault(Fault fault) { fault_ = std::move(fault); }
  /// As if the power went at the n-th changing call from now (0: the next): it and all later ones
  /// have no effect.
  void stop_after(std::uint64_t calls) { stop_at_ = changes_ + calls; }
  /// Half of what the call would write is written before its fault strikes.
  void set_torn(bool torn) { torn_ = torn; }

  /// Confirms the sync of files without doing it, like a disk with a volatile cache. For tests of
  /// tests.
  void set_lying(bool lying) { lying_ = lying; }

  /// Changing calls since the beginning.
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_; }
  /// "sync /state/…/MANIFEST.tmp", changing calls only.
  std::vector<std::string> trace;

  /// Every file by path, as a process sees it. For tests that damage them.
  [[nodiscard]] std::map<std::string, std::string> all() const;
  void put(const Path& path, std::string bytes);  ///< as if always there: durable
  void erase(const Path& path);
  /// Moves a whole directory, like mv.
  void move(const Path& from, const Path& to);

 private:
  friend class MemoryFiles;
  friend class MemoryFile;
  friend class MemoryLock;
  struct Inode {
    bool directory = false;
    std::string bytes, synced_bytes;
    std::map<std::string, std::shared_ptr<Inode>> entries, synced_entries;
  };
  std::shared_ptr<Inode> find(const Path& path) const;
  std::shared_ptr<Inode> find_directory(const Path& path) const;
  Status enter(const std::string& call, const Path& path, bool changes);
  static void keep(Inode& inode, Keep keep, std::set<Inode*>& seen);

  std::shared_ptr<Inode> root_ = [] {
    auto root = std::make_shared<Inode>();
    root->directory = true;
    return root;
  }();
  std::set<std::string> locks_;
  std::uint64_t boot_ = 0;  // Locks and open files of an earlier one are void.
  std::uint64_t changes_ = 0;
  std::optional<std::uint64_t> stop_at_;
  Fault fault_;
  bool torn_ = false;
  bool lying_ = false;
};

/// One process's view of a MemoryDisk. Nothing suspends.
class MemoryFiles final : public io::FileSystem {
 public:
  explicit MemoryFiles(std::shared_ptr<MemoryDisk> disk) : disk_(std::move(disk)) {}
  [[nodiscard]] asio::awaitable<Result<std::unique_ptr<io::File>>> create(Path path) override;
  [[nodiscard]] asio::awaitable<Result<std::string>> read(Path path,
                                                          std::uint64_t bytes_max) override;
  [[nodiscard]] asio::awaitable<Status> rename(Path from, Path to) override;
  [[nodiscard]] asio::awaitable<Status> link(Path from, Path to) override;
  [[nodiscard]] asio::awaitable<Status> sync_directory(Path directory) override;
  [[nodiscard]] asio::awaitable<Status> remove(Path path) override;
  [[nodiscard]] Result<std::vector<std::string>> list(const Path& directory) override;
  [[nodiscard]] Status create_directories(const Path& directory) override;
  [[nodiscard]] Result<std::unique_ptr<io::DirectoryLock>> lock(const Path& directory) override;
  [[nodiscard]] std::string_view kind() const noexcept override { return "memory"; }

 private:
  std::shared_ptr<MemoryDisk> disk_;
};

}  // namespace sluice::support
