#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace sluice {

/// A number that one thread writes and any thread reads; a plain add on the writer's side.
class Counter {
 public:
  void add(std::uint64_t count) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }
  /// For what may also fall, or is no sum: a time, a size.
  void set(std::uint64_t value) noexcept { value_.store(value, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  alignas(64) std::atomic<std::uint64_t> value_{0};  // A line of its own: neighbours belong to other shards.
};

/// Counters by name (`sluice_held_batches_total`), so that a test, the admin page or a log line can read them.
/// counter() hands out a new Counter of the name for each caller, as one thread writes each; value() sums them up.
/// Any thread; not for use a record.
class Metrics {
 public:
  std::shared_ptr<Counter> counter(const std::string& name) {
    auto made = std::make_shared<Counter>();
    const std::lock_guard lock(mutex_);
    counters_.emplace(name, made);
    return made;
  }
  [[nodiscard]] std::uint64_t value(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    std::uint64_t sum = 0;
    const auto [first, last] = counters_.equal_range(name);
    for (auto at = first; at != last; ++at) sum += at->second->value();
    return sum;
  }
  [[nodiscard]] std::map<std::string, std::uint64_t> all() const {
    const std::lock_guard lock(mutex_);
    std::map<std::string, std::uint64_t> sums;
    for (const auto& [name, counter] : counters_) sums[name] += counter->value();
    return sums;
  }

 private:
  mutable std::mutex mutex_;
  std::multimap<std::string, std::shared_ptr<Counter>> counters_;
};

}  // namespace sluice
