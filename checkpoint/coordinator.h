#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <sluice/checkpoint/store.h>
#include <sluice/engine/decider.h>
#include <sluice/engine/job.h>
#include <sluice/engine/runtime.h>
#include <sluice/engine/watermark_status.h>
#include <sluice/io/backoff.h>
#include <sluice/io/shards.h>

namespace sluice::checkpoint {

enum class JobState : std::uint8_t { kStarting, kRestoring, kRunning, kDraining, kRestarting, kDone, kFailed };

/// Runs a job to its end: recovers, starts checkpoints, drives the commit step by step (the comments name the steps of the
/// protocol), and recovers again when an attempt fails and the restart strategy allows it.
///
/// Shard      the control thread, all calls; request_stop(), state() and watermarks() from any.
/// Errors     run() ends with ok (drained, or bounded input done), kFenced, kInvalid, kCorrupt, kExhausted as they came, or
///            the last failure when the restart strategy gave up.
/// Ownership  of the engine; run() must have ended before the destructor.
class Coordinator {
 public:
  Coordinator(Job& job, io::Shards& shards, io::Clock& clock, Metrics& metrics);
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;
  ~Coordinator();

  [[nodiscard]] asio::awaitable<Status> run();
  /// Drain: stop the sources, take a last checkpoint, commit, end with ok. Idempotent, any thread.
  void request_stop();
  [[nodiscard]] JobState state() const noexcept;
  /// Of the attempt that runs, or ran last; empty before the first. Any thread.
  [[nodiscard]] std::vector<WatermarkStatus> watermarks() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace sluice::checkpoint
