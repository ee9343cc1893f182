#include <sluice/io/file.h>

#include <cerrno>
#include <string>
#include <utility>

#include <sluice/io/clock.h>
#include <sluice/io/internal/disk_status.h>
#include <sluice/io/internal/fault_rules.h>
#include <sluice/io/scope.h>

namespace sluice::io {
namespace {

using internal::FaultRules;
using Call = FaultRules::Call;
using Fault = FaultRules::Fault;
using Path = FileSystem::Path;

/// Waits as the rules say, and gives the fault. Like the disk, it does not listen to a request to stop.
asio::awaitable<Fault> meet(std::shared_ptr<FaultRules> rules, Call call, std::string path) {
  const FaultRules::Verdict verdict = rules->judge(call, path);
  if (verdict.delay > std::chrono::nanoseconds{}) {
    const Status slept = co_await shield(system_clock().sleep(verdict.delay));
    if (!slept.ok()) co_return Fault::kError;
  }
  co_return verdict.fault;
}

/// The failure as the disk below would have said it.
Status failure_of(Fault fault, std::string_view action, const Path& path) {
  const int error = fault == Fault::kNoSpace ? ENOSPC : EIO;
  return action == "read" ? internal::disk_read_status(action, path, error)
                          : internal::disk_status(action, path, error);
}

class FaultFile final : public File {
 public:
  FaultFile(std::shared_ptr<FaultRules> rules, Path path, std::unique_ptr<File> inner)
      : rules_(std::move(rules)), path_(std::move(path)), inner_(std::move(inner)) {}

  [[nodiscard]] asio::awaitable<Status> append(std::span<const std::byte> bytes) override {
    if (!failure_.ok()) co_return failure_;
    const Fault fault = co_await meet(rules_, Call::kWrite, path_.native());
    const auto half = bytes.first(bytes.size() / 2);
    if (fault == Fault::kShort || fault == Fault::kTorn) {
      failure_ = co_await inner_->append(half);
      bytes = bytes.subspan(half.size());
    }
    if (failure_.ok() && fault != Fault::kNone && fault != Fault::kShort) failure_ = failure_of(fault, "write", path_);
    if (failure_.ok()) failure_ = co_await inner_->append(bytes);
    co_return failure_;
  }
  [[nodiscard]] asio::awaitable<Status> sync() override {
    if (!failure_.ok()) co_return failure_;
    const Fault fault = co_await meet(rules_, Call::kSync, path_.native());
    if (fault == Fault::kNone) {
      failure_ = co_await inner_->sync();
    } else {
      failure_ = failure_of(fault, "sync", path_);
    }
    co_return failure_;
  }
  [[nodiscard]] asio::awaitable<Status> close() override {
    const Status closed = co_await inner_->close();
    if (failure_.ok()) failure_ = closed;
    co_return failure_;
  }
  [[nodiscard]] std::uint64_t size() const noexcept override { return inner_->size(); }

 private:
  const std::shared_ptr<FaultRules> rules_;
  const Path path_;
  const std::unique_ptr<File> inner_;
  Status failure_;
};

class FaultFileSystem final : public FileSystem {
 public:
  FaultFileSystem(FaultRules rules, std::unique_ptr<FileSystem> inner)
      : rules_(std::make_shared<FaultRules>(std::move(rules))),
        inner_(std::move(inner)),
        kind_(std::string(inner_->kind()) + " with faults") {}

  [[nodiscard]] asio::awaitable<Result<std::unique_ptr<File>>> create(Path path) override {
    const Fault fault = co_await meet(rules_, Call::kCreate, path.native());
    if (fault != Fault::kNone) co_return failure_of(fault, "create", path);
    Result<std::unique_ptr<File>> made = co_await inner_->create(path);
    if (!made.ok()) co_return made;
    std::unique_ptr<File> file = std::make_unique<FaultFile>(rules_, std::move(path), *std::move(made));
    co_return file;
  }
  [[nodiscard]] asio::awaitable<Result<std::string>> read(Path path, std::uint64_t bytes_max) override {
    const Fault fault = co_await meet(rules_, Call::kRead, path.native());
    if (fault != Fault::kNone) co_return failure_of(fault, "read", path);
    Result<std::string> text = co_await inner_->read(std::move(path), bytes_max);
    co_return text;
  }
  [[nodiscard]] asio::awaitable<Status> rename(Path from, Path to) override {
    const Fault fault = co_await meet(rules_, Call::kRename, from.native() + " " + to.native());
    if (fault != Fault::kNone) co_return failure_of(fault, "rename", from);
    const Status renamed = co_await inner_->rename(std::move(from), std::move(to));
    co_return renamed;
  }
  /// Counts as the creation of `to`.
  [[nodiscard]] asio::awaitable<Status> link(Path from, Path to) override {
    const Fault fault = co_await meet(rules_, Call::kCreate, to.native());
    if (fault != Fault::kNone) co_return failure_of(fault, "link", to);
    const Status linked = co_await inner_->link(std::move(from), std::move(to));
    co_return linked;
  }
  [[nodiscard]] asio::awaitable<Status> sync_directory(Path directory) override {
    const Fault fault = co_await meet(rules_, Call::kSyncDirectory, directory.native());
    if (fault != Fault::kNone) co_return failure_of(fault, "sync directory", directory);
    const Status synced = co_await inner_->sync_directory(std::move(directory));
    co_return synced;
  }
  [[nodiscard]] asio::awaitable<Status> remove(Path path) override { return inner_->remove(std::move(path)); }
  [[nodiscard]] Result<std::vector<std::string>> list(const Path& directory) override {
    return inner_->list(directory);
  }
  [[nodiscard]] Status create_directories(const Path& directory) override {
    return inner_->create_directories(directory);
  }
  [[nodiscard]] Result<std::unique_ptr<DirectoryLock>> lock(const Path& directory) override {
    return inner_->lock(directory);
  }
  [[nodiscard]] std::string_view kind() const noexcept override { return kind_; }

 private:
  const std::shared_ptr<FaultRules> rules_;  // Shared with the files.
  const std::unique_ptr<FileSystem> inner_;
  const std::string kind_;
};

}  // namespace

Result<std::unique_ptr<FileSystem>> make_fault_file_system([[maybe_unused]] Executor executor,
                                                           std::unique_ptr<FileSystem> inner,
                                                           std::string_view specification) {
  Result<FaultRules> rules = FaultRules::parse(specification);
  if (!rules.ok()) return std::move(rules).status();
  return std::unique_ptr<FileSystem>(std::make_unique<FaultFileSystem>(*std::move(rules), std::move(inner)));
}

}  // namespace sluice::io
