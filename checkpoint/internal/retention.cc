#include <sluice/checkpoint/internal/layout.h>
#include <sluice/checkpoint/internal/retention.h>
#include <sluice/io/base/kill_point.h>

#include <algorithm>
#include <string>

namespace sluice::internal {

using checkpoint::Ancestor;
using checkpoint::CheckpointName;

std::vector<CheckpointName> outdated(const std::vector<CheckpointName>& present, Epoch decided,
                                     const std::vector<Ancestor>& line) {
  std::vector<CheckpointName> found;
  for (const CheckpointName& name : present) {
    const bool kept = std::any_of(line.begin(), line.end(),
                                  [&](const Ancestor& one) { return one.name == name; });
    if (name.epoch <= decided && !kept) found.push_back(name);
  }
  return found;
}

asio::awaitable<Status> remove_checkpoint(io::FileSystem* files, Path directory,
                                          CheckpointName name, std::string_view kill) {
  const Path at = directory / name.directory();
  Result<std::vector<std::string>> entries = files->list(at);
  if (!entries.ok()) co_return entries.status();
  std::stable_partition(entries->begin(), entries->end(),
                        [](const std::string& entry) { return entry == kManifestName; });
  for (const std::string& entry : *entries) {
    const Status removed = co_await files->remove(at / entry);
    if (!removed.ok()) co_return removed;
    if (!kill.empty()) kill_point(kill);
  }
  co_return co_await files->remove(at);
}

}  // namespace sluice::internal
