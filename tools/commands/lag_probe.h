#pragma once

#include "pipeline_file/pipeline.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

/// How many records wait in the topics of a pipeline: what a lag tool sees, the ends of the topics
/// less the offsets of the group. A thread of its own, since each look takes round trips.
namespace sluice::tools {

class LagProbe {
 public:
  explicit LagProbe(const Pipeline& pipeline);
  LagProbe(const LagProbe&) = delete;
  LagProbe& operator=(const LagProbe&) = delete;
  ~LagProbe();
  /// Nothing while it is not known: no group, offsets that are not committed, topics by pattern, or
  /// a cluster that does not answer.
  [[nodiscard]] std::optional<std::uint64_t> records() const;

 private:
  struct Input;
  void run();

  std::vector<Input> inputs_;
  std::atomic<std::int64_t> records_{-1};
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace sluice::tools
