#include "memory_files.h"

#include <fmt/format.h>

namespace sluice::support {
namespace {

using Path = MemoryDisk::Path;

Status none(std::string_view call, const Path& path) {
  return Status(Code::kInvalid,
                fmt::format("could not {} {}: no such file or directory", call, path.string()))
      .exit(ExitStatus::kCannotCreate);
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

class MemoryFile final : public io::File {
 public:
  MemoryFile(std::shared_ptr<MemoryDisk> disk, std::shared_ptr<MemoryDisk::Inode> inode, Path path)
      : disk_(std::move(disk)), inode_(std::move(inode)), path_(std::move(path)) {}
  [[nodiscard]] asio::awaitable<Status> append(std::span<const std::byte> bytes) override {
    if (!failure_.ok()) co_return failure_;
    const bool stopped = disk_->stop_at_ && disk_->changes_ >= *disk_->stop_at_;
    failure_ = disk_->enter("write", path_, true);
    if (!failure_.ok() && disk_->torn_ && !stopped)
      inode_->bytes += text_of(bytes.first(bytes.size() / 2));
    if (failure_.ok()) {
      inode_->bytes += text_of(bytes);
      size_ += bytes.size();
    }
    co_return failure_;
  }
  [[nodiscard]] asio::awaitable<Status> sync() override {
    if (!failure_.ok()) co_return failure_;
    failure_ = disk_->enter("sync", path_, true);
    if (failure_.ok() && !disk_->lying_) inode_->synced_bytes = inode_->bytes;
    co_return failure_;
  }
  [[nodiscard]] asio::awaitable<Status> close() override { co_return failure_; }
  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }

 private:
  const std::shared_ptr<MemoryDisk> disk_;
  const std::shared_ptr<MemoryDisk::Inode> inode_;
  const Path path_;
  std::uint64_t size_ = 0;
  Status failure_;
};

class MemoryLock final : public io::DirectoryLock {
 public:
  MemoryLock(std::shared_ptr<MemoryDisk> disk, std::string path)
      : disk_(std::move(disk)), path_(std::move(path)), boot_(disk_->boot_) {}
  MemoryLock(const MemoryLock&) = delete;
  MemoryLock& operator=(const MemoryLock&) = delete;
  ~MemoryLock() override {
    if (boot_ == disk_->boot_) disk_->locks_.erase(path_);
  }

 private:
  const std::shared_ptr<MemoryDisk> disk_;
  const std::string path_;
  const std::uint64_t boot_;
};

// ---- the disk ----

void MemoryDisk::keep(Inode& inode, Keep keep_what, std::set<Inode*>& seen) {
  if (!seen.insert(&inode).second) return;
  if (keep_what == Keep::kData) {
    inode.synced_bytes = inode.bytes;
  } else {
    inode.bytes = inode.synced_bytes;
  }
  if (keep_what == Keep::kEntries) {
    inode.synced_entries = inode.entries;
  } else {
    inode.entries = inode.synced_entries;
  }
  for (auto& [name, entry] : inode.entries) keep(*entry, keep_what, seen);
}

void MemoryDisk::crash(Keep keep_what) {
  std::set<Inode*> seen;
  keep(*root_, keep_what, seen);
  locks_.clear();
  ++boot_;
  stop_at_.reset();
  fault_ = nullptr;
  torn_ = false;
}

Status MemoryDisk::enter(const std::string& call, const Path& path, bool changes) {
  if (changes) {
    if (stop_at_ && changes_ >= *stop_at_) return Status(Code::kRecover, "no power");
    ++changes_;
    trace.push_back(call + ' ' + path.string());
  }
  return fault_ ? fault_(call, path) : Status();
}

std::shared_ptr<MemoryDisk::Inode> MemoryDisk::find(const Path& path) const {
  std::shared_ptr<Inode> at = root_;
  for (const Path& part : path.relative_path()) {
    if (part.empty() || part == ".") continue;
    const auto entry = at->entries.find(part.string());
    if (!at->directory || entry == at->entries.end()) return nullptr;
    at = entry->second;
  }
  return at;
}

std::shared_ptr<MemoryDisk::Inode> MemoryDisk::find_directory(const Path& path) const {
  auto found = find(path);
  return found && found->directory ? found : nullptr;
}

std::map<std::string, std::string> MemoryDisk::all() const {
  std::map<std::string, std::string> files;
  const std::function<void(const Path&, const Inode&)> walk = [&](const Path& at,
                                                                  const Inode& inode) {
    for (const auto& [name, entry] : inode.entries) {
      if (entry->directory)
        walk(at / name, *entry);
      else
        files[(at / name).string()] = entry->bytes;
    }
  };
  walk("/", *root_);
  return files;
}

void MemoryDisk::put(const Path& path, std::string bytes) {
  const auto directory = find_directory(path.parent_path());
  SLUICE_ASSERT(directory != nullptr);
  auto inode = std::make_shared<Inode>();
  inode->bytes = inode->synced_bytes = std::move(bytes);
  directory->entries[path.filename().string()] =
      directory->synced_entries[path.filename().string()] = inode;
}

void MemoryDisk::erase(const Path& path) {
  const auto directory = find_directory(path.parent_path());
  SLUICE_ASSERT(directory != nullptr);
  directory->entries.erase(path.filename().string());
  directory->synced_entries.erase(path.filename().string());
}

void MemoryDisk::move(const Path& from, const Path& to) {
  const auto inode = find(from);
  const auto directory = find_directory(to.parent_path());
  SLUICE_ASSERT(inode != nullptr && directory != nullptr);
  erase(from);
  directory->entries[to.filename().string()] = directory->synced_entries[to.filename().string()] =
      inode;
}

// ---- the calls ----

asio::awaitable<Result<std::unique_ptr<io::File>>> MemoryFiles::create(Path path) {
  const auto directory = disk_->find_directory(path.parent_path());
  const Status entered = disk_->enter("create", path, true);
  if (!entered.ok()) co_return entered;
  if (!directory) co_return none("create", path);
  auto& entry = directory->entries[path.filename().string()];
  if (!entry) entry = std::make_shared<MemoryDisk::Inode>();
  entry->bytes.clear();
  std::unique_ptr<io::File> file = std::make_unique<MemoryFile>(disk_, entry, path);
  co_return file;
}

asio::awaitable<Result<std::string>> MemoryFiles::read(Path path, std::uint64_t bytes_max) {
  const Status entered = disk_->enter("read", path, false);
  if (!entered.ok()) co_return entered;
  const auto inode = disk_->find(path);
  if (!inode || inode->directory) co_return none("read", path);
  if (inode->bytes.size() > bytes_max)
    co_return Status(Code::kCorrupt, "could not read", path.string(), ": too large");
  co_return inode->bytes;
}

asio::awaitable<Status> MemoryFiles::rename(Path from, Path to) {
  const Status entered = disk_->enter("rename", to, true);
  if (!entered.ok()) co_return entered;
  const auto inode = disk_->find(from);
  const auto source = disk_->find_directory(from.parent_path());
  const auto target = disk_->find_directory(to.parent_path());
  if (!inode || !source || !target) co_return none("rename", from);
  source->entries.erase(from.filename().string());
  target->entries[to.filename().string()] = inode;
  co_return Status();
}

asio::awaitable<Status> MemoryFiles::link(Path from, Path to) {
  const Status entered = disk_->enter("link", to, true);
  if (!entered.ok()) co_return entered;
  const auto inode = disk_->find(from);
  const auto target = disk_->find_directory(to.parent_path());
  if (!inode || !target) co_return none("link", from);
  if (!target->entries.emplace(to.filename().string(), inode).second)
    co_return Status(Code::kInvalid, "could not link", to.string(), ": it exists");
  co_return Status();
}

asio::awaitable<Status> MemoryFiles::sync_directory(Path directory) {
  const Status entered = disk_->enter("syncdir", directory, true);
  if (!entered.ok()) co_return entered;
  const auto inode = disk_->find_directory(directory);
  if (!inode) co_return none("sync directory", directory);
  inode->synced_entries = inode->entries;
  co_return Status();
}

asio::awaitable<Status> MemoryFiles::remove(Path path) {
  const Status entered = disk_->enter("remove", path, true);
  if (!entered.ok()) co_return entered;
  const auto inode = disk_->find(path);
  if (!inode) co_return Status();
  if (inode->directory && !inode->entries.empty())
    co_return Status(Code::kInvalid, "could not remove", path.string(), ": not empty");
  disk_->find_directory(path.parent_path())->entries.erase(path.filename().string());
  co_return Status();
}

Result<std::vector<std::string>> MemoryFiles::list(const Path& directory) {
  const auto inode = disk_->find_directory(directory);
  if (!inode) return none("list", directory);
  std::vector<std::string> names;
  for (const auto& [name, entry] : inode->entries) names.push_back(name);
  return names;
}

Status MemoryFiles::create_directories(const Path& directory) {
  if (disk_->find_directory(directory)) return {};
  SLUICE_TRY(disk_->enter("mkdir", directory, true));
  auto at = disk_->root_;
  for (const Path& part : directory.relative_path()) {
    if (part.empty() || part == ".") continue;
    auto& entry = at->entries[part.string()];
    if (!entry) {
      entry = std::make_shared<MemoryDisk::Inode>();
      entry->directory = true;
    }
    if (!entry->directory) return none("create directory", directory);
    at = entry;
  }
  return {};
}

Result<std::unique_ptr<io::DirectoryLock>> MemoryFiles::lock(const Path& directory) {
  if (!disk_->find_directory(directory)) return none("lock", directory);
  if (!disk_->locks_.insert(directory.string()).second) {
    return Status(Code::kInvalid,
                  fmt::format("could not lock {}: process 1 runs on it", directory.string()))
        .exit(ExitStatus::kCannotCreate);
  }
  return std::unique_ptr<io::DirectoryLock>(
      std::make_unique<MemoryLock>(disk_, directory.string()));
}

}  // namespace sluice::support
