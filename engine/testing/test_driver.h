#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sluice/engine/event_time.h>
#include <sluice/engine/job.h>
#include <sluice/engine/snapshot.h>
#include <sluice/engine/testing/test_input.h>   // IWYU pragma: export
#include <sluice/engine/testing/test_output.h>  // IWYU pragma: export
#include <sluice/engine/watermark_status.h>
#include <sluice/io/base/result.h>
#include <sluice/io/clock.h>

namespace sluice {

/// Runs a whole pipeline, all of its shards, on the calling thread and in virtual time: a test gives records (TestInput), turns the
/// clock, reads what came out (TestOutput), takes a checkpoint, and goes on from it on another number of shards. The operators,
/// exchanges, barriers, watermarks and snapshots are the real ones; the clock and the threads are not, so a run is the same each time
/// and nobody sleeps. See test-driver.md and tests/examples/virtual_time.cc.
///
/// Shard      none but the caller's thread.
/// Units      virtual time starts at 0 of the steady clock; the wall clock where Options say.
/// Errors     what a job would end with: start() and every call that lets it run.
/// Ownership  the destructor stops and closes the pipeline. Inputs and outputs may outlive it.
///
///     Result<std::unique_ptr<TestDriver>> driver = TestDriver::start(job, {.shards = 2});
///     in.give(0, {…});
///     (*driver)->advance(30s);
///     EXPECT_THAT(out.take(), …);
///     Result<CheckpointData> checkpoint = (*driver)->checkpoint();
class TestDriver {
 public:
  struct Options {
    std::uint16_t shards = 1;
    io::WallTime wall = {};
    /// Of one call; a pipeline that never comes to rest is an error, not a test that hangs.
    std::size_t steps_max = 50'000'000;
  };
  /// Opens the pipeline and lets it come to rest. The same job may be started again, from a checkpoint or from nothing.
  [[nodiscard]] static Result<std::unique_ptr<TestDriver>> start(const Job& job, Options options,
                                                                 std::optional<CheckpointData> from = {});
  TestDriver(const TestDriver&) = delete;
  TestDriver& operator=(const TestDriver&) = delete;
  ~TestDriver();

  /// Until nothing is left to do without more input or more time.
  [[nodiscard]] Status run();
  /// Turns the clock, from one waiting timer to the next, with run() at each.
  [[nodiscard]] Status advance(std::chrono::nanoseconds by);
  /// As somebody who sets the system's clock would; the steady one stays.
  void set_wall(io::WallTime to);
  /// Asks the sources for splits that were added.
  [[nodiscard]] Status discover();
  /// A barrier through everything, what each operator has at it, and the end of the checkpoint as operators and sinks see it.
  [[nodiscard]] Result<CheckpointData> checkpoint();
  /// Every source has come to its end, and all of it has flowed through.
  [[nodiscard]] bool ended() const;
  /// Stops and closes everything; the destructor does it otherwise. What closing failed with.
  [[nodiscard]] Status close();

  [[nodiscard]] std::uint64_t metric(const std::string& name) const;
  [[nodiscard]] io::Monotonic now() const;
  [[nodiscard]] std::vector<SplitWatermark> watermarks() const;
  /// As Running::watermarks.
  [[nodiscard]] std::vector<WatermarkStatus> watermark_status() const;
  /// The split that holds the watermark of a Stream::watermarks.
  [[nodiscard]] std::optional<SplitWatermark> holder(const std::string& operator_id) const;

 private:
  struct Impl;
  explicit TestDriver(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
