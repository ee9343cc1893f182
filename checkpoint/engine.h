#pragma once

#include <memory>
#include <vector>

#include <sluice/checkpoint/coordinator.h>
#include <sluice/engine/dropped_records.h>
#include <sluice/engine/job.h>
#include <sluice/engine/watermark_status.h>
#include <sluice/io/base/metrics.h>
#include <sluice/io/base/result.h>

namespace sluice {

/// A job that was started: its shards and its coordinator.
///
/// Shard      called from the thread that embeds it, or any other.
/// Errors     wait(): how the job ended, see Coordinator::run.
/// Ownership  the destructor stops with drain and waits. No globals, no signal handlers, no threads but the job's shards, its
///            control thread, and those of the Kafka client.
class Running {
 public:
  Running(Running&&) noexcept;
  Running& operator=(Running&&) noexcept;
  ~Running();
  /// Stop the sources, take a last checkpoint, commit. Returns at once; wait() tells how it went.
  void stop();
  [[nodiscard]] Status wait();
  [[nodiscard]] bool done() const;
  [[nodiscard]] Metrics& metrics() noexcept;
  [[nodiscard]] checkpoint::JobState state() const noexcept;
  /// Who holds the watermark of each Stream::watermarks back, which splits are silent or paused, how far they are apart: engine/time.md.
  /// Of the attempt that runs, or ran last; empty while the first one opens. Taken anew at each call.
  [[nodiscard]] std::vector<WatermarkStatus> watermarks() const;
  /// What was left out so far, each with its reason.
  [[nodiscard]] std::vector<DroppedRecords> dropped() const;
  /// Called once, on the control thread, when the job has ended.
  void on_done(std::function<void()> call);

 private:
  friend class Engine;
  struct Impl;
  explicit Running(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Starts jobs inside a program.
///
///     Engine engine;
///     Result<Running> running = engine.start(std::move(job));
///     …
///     running->stop();
///     const Status ended = running->wait();
class Engine {
 public:
  [[nodiscard]] Result<Running> start(Job job);
};

/// Runs a job to its end as a program: SIGTERM and SIGINT drain (stop the sources, take a last checkpoint, commit), a second one
/// exits at once. Says on stderr what went wrong; returns the documented exit status.
/// For tests, the environment may set: SLUICE_FILE_FAULTS (io/file.h), SLUICE_KILL_AT (io/base/kill_point.h), and
/// SLUICE_METRICS_FILE: counters are written there at the end, a line each.
[[nodiscard]] int run(Job job);

}  // namespace sluice
