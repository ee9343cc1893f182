#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sluice/engine/context.h>
#include <sluice/engine/job.h>
#include <sluice/engine/snapshot.h>
#include <sluice/engine/watermark_status.h>
#include <sluice/io/base/result.h>

namespace sluice {

/// One attempt of a job's stages on all shards: opened, fed with barriers, closed. Knows nothing of what a checkpoint is for.
///
/// Shard      the control thread, all calls.
/// Errors     a stage that fails sets failure() and wakes whoever waits in barrier() or changed().
/// Ownership  of its coordinator; close() before the destructor (asserted).
class Runtime {
 public:
  Runtime(const Job& job, Attempt& attempt);
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  ~Runtime();

  /// Builds and opens every stage on every shard with the restored state; nothing flows yet.
  [[nodiscard]] asio::awaitable<Status> open(CheckpointData restored, std::vector<SplitPosition> starts);
  /// Lets it flow.
  void run();
  /// Injects barrier `epoch` at the sources; returns when it has passed every stage on every shard.
  [[nodiscard]] asio::awaitable<Result<CheckpointData>> barrier(Epoch epoch, io::Monotonic deadline);
  /// Step 9: sinks may hand over what they hold.
  void release();
  void notify(Epoch epoch, bool complete);
  /// Sources stop reading; what was read flows on.
  void stop_sources();
  void add_split(const SplitPosition& start);
  /// Every source came to its end.
  [[nodiscard]] bool input_ended() const noexcept;
  /// Grows when records flow or positions may have moved.
  [[nodiscard]] std::uint64_t activity() const noexcept;
  [[nodiscard]] const Status& failure() const noexcept;
  /// How far each split's event time has come, and which of them hold it. Any thread, and still there when the attempt has ended.
  [[nodiscard]] const std::shared_ptr<WatermarkBoard>& watermarks() const noexcept;
  /// Set when input_ended() or failure() changed.
  [[nodiscard]] io::Event& changed() noexcept;
  /// Stops, joins, closes and frees everything on every shard; batches pin memory of the clients, so this comes before those are
  /// closed. The first failure of a close() where there was none before.
  [[nodiscard]] asio::awaitable<Status> close();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;  // Shared with messages that are still on their way when an attempt ends.
};

}  // namespace sluice
