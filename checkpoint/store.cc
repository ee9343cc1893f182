#include <sluice/checkpoint/internal/job_file.h>
#include <sluice/checkpoint/internal/layout.h>
#include <sluice/checkpoint/internal/reader.h>
#include <sluice/checkpoint/internal/retention.h>
#include <sluice/checkpoint/internal/writer.h>
#include <sluice/checkpoint/store.h>
#include <sluice/version.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sluice::checkpoint {
namespace {

using Path = std::filesystem::path;

/// Whatever the reason, a state directory that cannot be had is for a person to correct.
Status unusable(const Path& directory, const Status& reason) {
  return Status(Code::kInvalid,
                fmt::format("could not use state directory {}: {}; name another with "
                            "checkpoint.directory, or correct its owner and mode",
                            directory.string(), reason.message()))
      .exit(ExitStatus::kCannotCreate);
}

asio::awaitable<Store::Entry> describe(io::FileSystem* files, Path directory, CheckpointName name) {
  Store::Entry entry;
  entry.name = name;
  internal::Expected anything;
  const auto opened = co_await internal::read_manifest(files, directory, name, std::move(anything));
  if (!opened.ok()) {
    entry.reason = opened.status().message();
    co_return entry;
  }
  entry.digest = opened->digest;
  entry.size_bytes = opened->manifest_bytes;
  for (const ManifestFile& file : opened->manifest.files) {
    entry.size_bytes += file.size_bytes;
    if (entry.reason.empty() &&
        !internal::contains(*files, directory / name.directory(), file.name)) {
      entry.reason = fmt::format("{} is missing", file.name);
    }
  }
  entry.complete = entry.reason.empty();
  co_return entry;
}

// The public functions take references and are no coroutines; these are, and take values.
asio::awaitable<Result<std::vector<Store::Entry>>> list_all(io::FileSystem* files, Path directory) {
  const auto names = internal::checkpoint_names(*files, directory);
  if (!names.ok()) co_return names.status();
  std::vector<Store::Entry> entries;
  for (const CheckpointName& name : *names) {
    Store::Entry entry = co_await describe(files, directory, name);
    entries.push_back(std::move(entry));
  }
  co_return entries;
}

asio::awaitable<Result<Store::Contents>> inspect_one(io::FileSystem* files, Path directory,
                                                     CheckpointName name) {
  internal::Expected anything;
  auto opened = co_await internal::read_checkpoint(files, directory, name, std::move(anything));
  if (!opened.ok()) co_return opened.status();
  Store::Contents contents{std::move(opened->manifest), std::move(opened->data)};
  co_return contents;
}

}  // namespace

Store::Store(io::FileSystem& files, Path directory, std::string job_id,
             std::unique_ptr<io::DirectoryLock> lock)
    : files_(files),
      directory_(std::move(directory)),
      job_id_(std::move(job_id)),
      lock_(std::move(lock)) {}

Store::~Store() = default;

asio::awaitable<Result<std::unique_ptr<Store>>> Store::open(io::FileSystem& files, Path directory,
                                                            std::string job_id) {
  return open_at(&files, std::move(directory), std::move(job_id));
}

asio::awaitable<Result<std::unique_ptr<Store>>> Store::open_at(io::FileSystem* files,
                                                               Path directory, std::string job_id) {
  const Status created = files->create_directories(directory);
  if (!created.ok()) co_return unusable(directory, created);
  Result<std::unique_ptr<io::DirectoryLock>> lock = files->lock(directory);
  if (!lock.ok())
    co_return lock.status().code() == Code::kInvalid ? lock.status()
                                                     : unusable(directory, lock.status());
  const Status adopted = co_await internal::adopt_directory(files, directory, job_id);
  if (!adopted.ok()) co_return adopted;
  co_return std::unique_ptr<Store>(
      new Store(*files, std::move(directory), std::move(job_id), *std::move(lock)));
}

asio::awaitable<Result<std::string>> Store::write(Epoch epoch, Uuid writer,
                                                  const CheckpointData& data, Lineage lineage) {
  SLUICE_ASSERT(epoch > lineage.previous.epoch);
  SLUICE_ASSERT(!writer.nil());
  return write_new({epoch, writer}, &data, std::move(lineage));
}

asio::awaitable<Result<std::string>> Store::write_new(CheckpointName name,
                                                      const CheckpointData* data, Lineage lineage) {
  Result<std::vector<Ancestor>> line = co_await line_of(lineage.previous);
  if (!line.ok()) co_return line.status();
  // After --reset-decision epochs start again, and what is remembered of the old ones is not this
  // one's past.
  std::erase_if(*line, [&](const Ancestor& one) { return one.name.epoch >= name.epoch; });
  if (line->size() > kAncestorsMax) line->resize(kAncestorsMax);
  decided_ = *line;
  if (internal::contains(files_, directory_, name.directory())) {
    co_return Status(
        Code::kInvalid,
        fmt::format("checkpoint \"{}\" of {} was begun before and is not written again: "
                    "merge its epoch into the next, or take a new claim",
                    name.directory(), directory_.string()));
  }
  std::shared_ptr<const Manifest> previous;
  for (const StateSnapshot& state : data->states) {
    if (state.since == Epoch(0)) continue;
    SLUICE_ASSERT(state.since <= lineage.previous.epoch);
    Result<std::shared_ptr<const Manifest>> known = co_await manifest_of(lineage.previous);
    if (!known.ok()) co_return known.status();
    previous = *std::move(known);
    break;
  }
  const Status created = files_.create_directories(directory_ / name.directory());
  if (!created.ok()) co_return created.with("(checkpoint of epoch", name.epoch, "failed)");
  Manifest manifest;
  manifest.engine_version = SLUICE_VERSION;
  manifest.job_id = job_id_;
  manifest.name = name;
  manifest.shards = lineage.shards;
  manifest.ancestors = *line;
  Result<std::string> digest = co_await internal::write_checkpoint(&files_, directory_, &manifest,
                                                                   previous.get(), data);
  if (!digest.ok()) {
    // Ours alone, and its digest never left: nobody can have decided it. Its space may be what the
    // next one lacks.
    const Status removed = co_await internal::remove_checkpoint(&files_, directory_, name, {});
    static_cast<void>(removed.ok());  // What stays is garbage for collect().
    co_return digest.status().with("(checkpoint of epoch", name.epoch, "failed)");
  }
  line->insert(line->begin(), {name, *digest});
  written_ = *std::move(line);
  last_but_one_ = std::exchange(last_, std::make_shared<const Manifest>(std::move(manifest)));
  co_return digest;
}

/// Null where it has none.
asio::awaitable<Result<std::shared_ptr<const Manifest>>> Store::manifest_of(Decision decision) {
  std::shared_ptr<const Manifest> none;
  if (decision.epoch == Epoch(0) || decision.positions_only) co_return none;
  const CheckpointName name{decision.epoch, decision.writer};
  if (last_ && last_->name == name) co_return last_;
  if (last_but_one_ && last_but_one_->name == name) co_return last_but_one_;
  internal::Expected expected{decision.digest, job_id_};
  auto opened = co_await internal::read_manifest(&files_, directory_, name, std::move(expected));
  if (!opened.ok()) co_return opened.status();
  co_return std::make_shared<const Manifest>(std::move(opened->manifest));
}

asio::awaitable<Result<std::vector<Ancestor>>> Store::line_of(Decision decision) {
  if (decision.epoch == Epoch(0)) co_return std::vector<Ancestor>();
  if (decision.positions_only)
    co_return decided_;  // It has no files; what came before it is as it was.
  const Ancestor self{{decision.epoch, decision.writer}, decision.digest};
  if (!decided_.empty() && decided_.front() == self) co_return decided_;
  if (!written_.empty() && written_.front() == self) co_return written_;
  internal::Expected expected{decision.digest, job_id_};
  auto opened =
      co_await internal::read_manifest(&files_, directory_, self.name, std::move(expected));
  if (!opened.ok()) co_return opened.status();
  std::vector<Ancestor> line = std::move(opened->manifest.ancestors);
  line.insert(line.begin(), self);
  co_return line;
}

asio::awaitable<Result<CheckpointData>> Store::read(Decision decision) {
  CheckpointData data;
  if (decision.epoch == Epoch(0)) co_return data;
  if (decision.positions_only) {
    data.positions = std::move(decision.positions);
    co_return data;
  }
  const CheckpointName name{decision.epoch, decision.writer};
  internal::Expected expected{decision.digest, job_id_};
  auto opened = co_await internal::read_checkpoint(&files_, directory_, name, std::move(expected));
  if (!opened.ok()) co_return opened.status();
  decided_ = std::move(opened->manifest.ancestors);
  decided_.insert(decided_.begin(), {name, decision.digest});
  co_return std::move(opened->data);
}

bool Store::has(const Decision& decision) const {
  if (decision.epoch == Epoch(0) || decision.positions_only) return true;
  const CheckpointName name{decision.epoch, decision.writer};
  return internal::contains(files_, directory_ / name.directory(), internal::kManifestName);
}

bool Store::any() const {
  const Result<bool> any = internal::any_checkpoint(files_, directory_);
  return !any.ok() || *any;  // A directory that cannot be listed is not an empty one.
}

asio::awaitable<Status> Store::collect(Decision decided, std::uint32_t keep) {
  Result<std::vector<Ancestor>> line = co_await line_of(decided);
  if (!line.ok()) co_return line.status();
  if (line->empty())
    co_return Status();  // Nothing is known to be decided, so nothing is known to be outdated.
  line->resize(std::min<std::size_t>(line->size(), std::max<std::uint32_t>(keep, 1)));
  decided_ = *line;
  const auto names = internal::checkpoint_names(files_, directory_);
  if (!names.ok()) co_return names.status();
  Status first;
  for (const CheckpointName& name : internal::outdated(*names, decided.epoch, *line)) {
    Status removed =
        co_await internal::remove_checkpoint(&files_, directory_, name, "retention.deleted");
    if (first.ok() && !removed.ok()) first = std::move(removed);
  }
  co_return first;
}

asio::awaitable<Result<std::vector<Store::Entry>>> Store::list(io::FileSystem& files,
                                                               Path directory) {
  return list_all(&files, std::move(directory));
}

asio::awaitable<Result<Store::Contents>> Store::inspect(io::FileSystem& files, Path directory,
                                                        CheckpointName name) {
  return inspect_one(&files, std::move(directory), name);
}

}  // namespace sluice::checkpoint
