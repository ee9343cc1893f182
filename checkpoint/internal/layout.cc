#include <sluice/checkpoint/internal/layout.h>
#include <sluice/io/base/kill_point.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace sluice::internal {
namespace {

Path temporary(const Path& directory, const std::string& name) {
  return directory / (name + ".tmp");
}

}  // namespace

std::string state_file_name(ShardId shard) {
  return fmt::format("state-{:05}.snap", shard.value());
}

// "state-" and ".snap" around five digits of a shard, or around these, '-' and twenty of an epoch.
constexpr std::size_t kStemBytes = 6 + 5, kSuffixBytes = 5;

std::string link_name(std::string_view name, Epoch epoch) {
  if (is_link_name(name)) return std::string(name);
  return fmt::format("{}-{:020}.snap", name.substr(0, kStemBytes), epoch.value());
}

bool is_link_name(std::string_view name) noexcept {
  if (name.size() != kStemBytes + 1 + 20 + kSuffixBytes || !name.starts_with("state-") ||
      !name.ends_with(".snap") || name[kStemBytes] != '-') {
    return false;
  }
  const auto digits = [](std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [](char letter) { return letter >= '0' && letter <= '9'; });
  };
  return digits(name.substr(6, 5)) && digits(name.substr(kStemBytes + 1, 20));
}

bool is_file_name(std::string_view name) noexcept {
  const auto harmless = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '-' || letter == '_' || letter == '.';
  };
  return !name.empty() && name.size() <= 255 && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), harmless);
}

bool contains(io::FileSystem& files, const Path& directory, std::string_view name) {
  const Result<std::vector<std::string>> names = files.list(directory);
  return names.ok() && std::find(names->begin(), names->end(), name) != names->end();
}

Result<std::vector<checkpoint::CheckpointName>> checkpoint_names(io::FileSystem& files,
                                                                 const Path& directory) {
  const Result<std::vector<std::string>> names = files.list(directory);
  if (!names.ok()) return names.status();
  std::vector<checkpoint::CheckpointName> found;
  for (const std::string& text : *names) {
    checkpoint::CheckpointName name;
    if (checkpoint::CheckpointName::parse(text, name)) found.push_back(name);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& one, const auto& two) { return one.epoch < two.epoch; });
  return found;
}

Result<bool> any_checkpoint(io::FileSystem& files, const Path& directory) {
  const auto names = checkpoint_names(files, directory);
  if (!names.ok()) return names.status();
  return std::any_of(names->begin(), names->end(), [&](const checkpoint::CheckpointName& name) {
    return contains(files, directory / name.directory(), kManifestName);
  });
}

asio::awaitable<Status> write_temporary(io::FileSystem* files, Path directory, std::string name,
                                        std::string bytes, KillPoints kill) {
  Result<std::unique_ptr<io::File>> created = co_await files->create(temporary(directory, name));
  if (!created.ok()) co_return created.status();
  io::File& file = **created;
  const Status appended = co_await file.append(as_bytes(bytes));
  if (!appended.ok()) co_return appended;
  kill_point(kill.written);
  const Status synced = co_await file.sync();
  if (!synced.ok()) co_return synced;
  kill_point(kill.synced);
  co_return co_await file.close();
}

asio::awaitable<Status> publish(io::FileSystem* files, Path directory, std::string name,
                                KillPoints kill) {
  const Status renamed = co_await files->rename(temporary(directory, name), directory / name);
  if (!renamed.ok()) co_return renamed;
  kill_point(kill.renamed);
  co_return co_await files->sync_directory(directory);
}

}  // namespace sluice::internal
