#include <sluice/io/base/log.h>
#include <sluice/kafka/internal/rdkafka_watchdog.h>

#include <algorithm>
#include <cstdlib>

namespace sluice::kafka::internal {

Watchdog& Watchdog::of_process() {
  static Watchdog dog;
  return dog;
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Watchdog::Guard Watchdog::watch(io::Monotonic deadline, std::string what) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t id = ++last_id_;
  calls_.emplace(id, Call{deadline + kGrace, std::move(what)});
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  // Deadlines mostly grow, so the thread is mostly waiting for an earlier end already and need not
  // be woken.
  if (deadline + kGrace < waits_until_) changed_.notify_all();
  return Guard(this, id);
}

Watchdog::Guard::~Guard() {
  if (dog_ == nullptr) return;
  const std::lock_guard lock(dog_->mutex_);
  dog_->calls_.erase(id_);  // No notification: the thread wakes at the old end, and looks.
}

void Watchdog::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (calls_.empty()) {
      waits_until_ = io::Monotonic::max();
      changed_.wait(lock);
      continue;
    }
    const auto first =
        std::min_element(calls_.begin(), calls_.end(),
                         [](const auto& a, const auto& b) { return a.second.end < b.second.end; });
    if (first->second.end > std::chrono::steady_clock::now()) {
      waits_until_ = first->second.end;
      const io::Monotonic end = waits_until_;  // A copy: the call may be erased while we wait.
      changed_.wait_until(lock, end);
      continue;
    }
    log().critical(
        "gave up waiting to {}: the client library did not return; the process ends, restart it",
        first->second.what);
    log().flush();
    std::_Exit(1);  // Destructors would wait for the same call.
  }
}

}  // namespace sluice::kafka::internal
