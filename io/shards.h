#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <sluice/io/base/id.h>
#include <sluice/io/base/result.h>
#include <sluice/io/executor.h>
#include <sluice/io/file.h>

namespace sluice::io {

/// What Shard::id() says on the control thread.
inline constexpr ShardId kControlShard{0xffff};

/// One thread with one event loop (an io_context with concurrency hint 1 on epoll) and its own file system.
///
/// Shard      executor() from any thread, to post to; files() on this thread only.
/// Ownership  of its Shards.
class Shard {
 public:
  [[nodiscard]] ShardId id() const noexcept;
  [[nodiscard]] Executor executor() const noexcept;
  [[nodiscard]] FileSystem& files() noexcept;

 private:
  friend class Shards;
  struct Impl;
  explicit Shard(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;

 public:
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;
  ~Shard();
};

/// Starts, joins and stops the threads; one of them more is the control thread, which has the same loop.
///
/// Shard      called from the thread that embeds the engine.
/// Errors     start: kInvalid where io_uring was asked for and is forbidden, a cpu to pin to does not exist, or a
///            fault specification does not parse.
/// Ownership  what runs on a shard must be gone before stop(): join the scopes first. stop() drops what is still
///            posted, and joins.
class Shards {
 public:
  struct Options {
    std::uint16_t count = 1;            ///< 1 to 1,024, the control thread not counted
    std::vector<int> pin;               ///< cpu for each shard; empty: the scheduler places them
    FileBackend files = FileBackend::kAutomatic;
    std::string file_faults;            ///< see make_fault_file_system; empty: none
    std::string thread_name = "sluice"; ///< threads are named <thread_name>-0, …, <thread_name>-control
  };
  static Result<std::unique_ptr<Shards>> start(Options options);
  /// Shards without threads: the caller's runs all of them, in run_ready(), so that a test is the same at each run. Where
  /// files are asked for, a thread does what waits for them: a test of files waits for their effect.
  static Result<std::unique_ptr<Shards>> on_this_thread(std::uint16_t count);
  /// Of on_this_thread(): runs what is ready on the control thread and every shard, by turns and a step each, until nothing is or
  /// `steps_max` have been run. How many were.
  std::size_t run_ready(std::size_t steps_max);
  Shards(const Shards&) = delete;
  Shards& operator=(const Shards&) = delete;
  ~Shards();

  [[nodiscard]] std::uint16_t count() const noexcept;
  [[nodiscard]] Shard& shard(ShardId id) noexcept;
  [[nodiscard]] Shard& control() noexcept;
  void stop() noexcept;

 private:
  struct Impl;
  explicit Shards(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Runs `work` (a callable that returns asio::awaitable<T>) on another shard; the caller resumes on its own.
/// Not cancelled by the caller's cancellation: what runs there has its own scope.
template <class Work>
[[nodiscard]] auto run_on(Executor there, Work work) -> std::invoke_result_t<Work&>;

}  // namespace sluice::io

#include <sluice/io/internal/run_on.h>  // IWYU pragma: export
