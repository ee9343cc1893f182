#pragma once

#include <sluice/checkpoint/engine.h>
#include <sluice/engine/collection.h>
#include <sluice/io/base/random.h>

#include <filesystem>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace sluice::jobs_test {

/// For whole jobs in the test's own process, without a broker.

/// Of a job's own: without one it would go on from where the last test of its name ended.
struct Directory {
  Directory() : path(std::filesystem::temp_directory_path() / ("sluice-test-" + Uuid::make().to_string())) {}
  ~Directory() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

/// What came out, in the order of the calls; shards write, the test asks.
template <class T>
struct Collected {
  std::mutex mutex;
  std::vector<T> values;
  std::shared_ptr<Sink<T>> sink() {
    return for_each<T>([this](const T& value) {
      const std::lock_guard lock(mutex);
      values.push_back(value);
    });
  }
  std::vector<T> take() {
    const std::lock_guard lock(mutex);
    return values;
  }
};

inline Status run_to_end(Job job) {
  Result<Running> running = Engine().start(std::move(job));
  if (!running.ok()) return running.status();
  return running->wait();
}

}  // namespace sluice::jobs_test
