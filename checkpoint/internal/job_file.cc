#include <sluice/checkpoint/internal/bytes.h>
#include <sluice/checkpoint/internal/job_file.h>
#include <sluice/checkpoint/internal/layout.h>
#include <sluice/checkpoint/internal/reader.h>
#include <sluice/checkpoint/internal/sealed.h>

#include <fmt/format.h>

namespace sluice::internal {
namespace {

constexpr KillPoints kNoKills{};

Status check_job(const Path& directory, const std::string& found, const std::string& wanted) {
  if (found == wanted) return {};
  return Status(Code::kInvalid, fmt::format("state directory {} belongs to job \"{}\", not to "
                                            "\"{}\": give each job a directory of its "
                                            "own, or use the job id that this one was made with",
                                            directory.string(), found, wanted))
      .exit(ExitStatus::kConfiguration);
}

asio::awaitable<Result<std::string>> read_job(io::FileSystem* files, Path directory) {
  const Path at = directory / kJobName;
  const Result<std::string> bytes = co_await files->read(at, kSmallFileBytesMax);
  if (!bytes.ok()) co_return bytes;
  const Result<std::string_view> payload = unseal(kJobMagic, *bytes);
  std::string why = payload.ok() ? std::string() : std::string(payload.status().message());
  if (payload.ok()) {
    ByteReader reader(*payload);
    std::string job_id = reader.string();
    if (reader.done()) co_return job_id;
    why = "has a right checksum, but fields that do not fit its length";
  }
  const Code code = payload.ok() ? Code::kCorrupt : payload.code();
  co_return Status(
      code,
      fmt::format("could not read {}: it {}; nothing was changed: if the directory is this job's, "
                  "delete the file, and it is made again from the checkpoints",
                  at.string(), why))
      .exit(ExitStatus::kData);
}

/// By the newest manifest that can be read: a directory whose JOB was deleted may be another job's
/// all the same.
asio::awaitable<Status> check_checkpoints(io::FileSystem* files, Path directory,
                                          std::string job_id) {
  const auto names = checkpoint_names(*files, directory);
  if (!names.ok()) co_return names.status();
  for (auto name = names->rbegin(); name != names->rend(); ++name) {
    Expected anything;
    const Result<OpenedCheckpoint> opened =
        co_await read_manifest(files, directory, *name, std::move(anything));
    if (opened.ok()) co_return check_job(directory, opened->manifest.job_id, job_id);
  }
  co_return Status();
}

/// The directory was perhaps made just now, and its parents too: their entries must not be lost
/// with the power.
asio::awaitable<Status> sync_parents(io::FileSystem* files, Path directory) {
  for (Path at = directory.lexically_normal(); at.has_relative_path();) {
    Path parent = at.parent_path();
    if (parent == at) break;
    Path to_sync = parent.empty() ? Path(".") : parent;
    const Status synced = co_await files->sync_directory(std::move(to_sync));
    // One that we may pass but not open is not one that we made.
    if (!synced.ok() && synced.code() != Code::kInvalid) co_return synced;
    at = std::move(parent);
  }
  co_return Status();
}

asio::awaitable<Status> write_job(io::FileSystem* files, Path directory, std::string job_id) {
  ByteWriter payload;
  payload.string(job_id);
  std::string bytes = seal(kJobMagic, payload.bytes());
  const std::string name(kJobName);
  const Status written =
      co_await write_temporary(files, directory, name, std::move(bytes), kNoKills);
  if (!written.ok()) co_return written;
  const Status published = co_await publish(files, directory, name, kNoKills);
  co_return published;
}

}  // namespace

asio::awaitable<Status> adopt_directory(io::FileSystem* files, Path directory, std::string job_id) {
  const bool marked = contains(*files, directory, kJobName);
  if (marked) {
    const Result<std::string> found = co_await read_job(files, directory);
    if (!found.ok()) co_return found.status();
    const Status own = check_job(directory, *found, job_id);
    if (!own.ok()) co_return own;
  } else {
    const Status own = co_await check_checkpoints(files, directory, job_id);
    if (!own.ok()) co_return own;
    const Status synced = co_await sync_parents(files, directory);
    if (!synced.ok()) co_return synced;
  }
  const Status written = co_await write_job(files, directory, std::move(job_id));
  // A full disk is no reason not to start where nothing new had to be said.
  if (marked && written.code() == Code::kExhausted) co_return Status();
  co_return written;
}

}  // namespace sluice::internal
