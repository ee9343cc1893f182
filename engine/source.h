#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sluice/engine/batch.h>
#include <sluice/engine/context.h>
#include <sluice/engine/snapshot.h>
#include <sluice/io/base/result.h>
#include <sluice/io/event.h>

namespace sluice {

enum class Polled : std::uint8_t {
  kData,     ///< something was added; ask again at once
  kNothing,  ///< wait for `arrival`
  kEnd,      ///< bounded, and all of it was handed out
};

/// What a poll fills. All records of one batch come from one split, in its order.
template <class T>
struct SourceOutput {
  std::vector<Batch<T>> batches;
  /// Records that could not be read, as they were, with headers that say why and where; governed by the source's policy.
  std::vector<Batch<Record>> rejected;
  /// Splits that came to their end with this poll: they do not hold the watermark, whatever the others still have.
  std::vector<Split> ended;
};

/// Reads its shard's share of the splits. One instance a shard.
///
/// Shard      its own, all calls.
/// Suspends   poll() must not wait for data: it returns kNothing and sets `arrival` when asking again is worth it.
/// Errors     kCancelled, kRecover (restart from the last decided checkpoint), kInvalid and kCorrupt (stop).
template <class T>
class SourceReader {
 public:
  virtual ~SourceReader() = default;
  /// `starts`: where each split of this shard goes on. `arrival` outlives the reader.
  [[nodiscard]] virtual asio::awaitable<Status> open(const Context& context, std::vector<SplitPosition> starts,
                                                     io::Event& arrival) = 0;
  /// At most about one batch a split; called again before anybody waits.
  [[nodiscard]] virtual asio::awaitable<Result<Polled>> poll(SourceOutput<T>& out) = 0;
  /// Behind all that poll() has handed out, for every split of this shard. Called at a barrier.
  [[nodiscard]] virtual std::vector<SplitPosition> positions() const = 0;
  /// A split that was found while running (discovery); read from `start`.
  [[nodiscard]] virtual asio::awaitable<Status> add(SplitPosition start) {
    co_return Status(Code::kInvalid, "source", start.source, "does not take new splits");
  }
  /// Hands nothing out of `split` (true), or goes on (false); what it holds stays bounded. False: it cannot do that.
  [[nodiscard]] virtual bool pause(const Split& /*split*/, bool /*on*/) { return false; }
  virtual void checkpoint_complete(Epoch) {}
  [[nodiscard]] virtual asio::awaitable<Status> close() { co_return Status(); }
};

/// Knows the splits, and makes the readers. One object a job, on the control thread.
template <class T>
class Source {
 public:
  virtual ~Source() = default;
  [[nodiscard]] virtual std::string describe() const = 0;  ///< one line for `plan`: "kafka events-a, events-b"
  /// Everything that can be known before anything is fenced or read: topics, rights, settings that do not fit.
  [[nodiscard]] virtual asio::awaitable<Status> check(Attempt&) { co_return Status(); }
  /// All splits and where to start. Without `restored` by the settings, as numbers: the job starts for the first time, or the
  /// source is new in it. With it (it may be empty, when the source had no splits yet) never by the settings: splits named
  /// there go on from there, all others are younger than the checkpoint and start at their beginning. Positions that are no
  /// longer there are found here.
  [[nodiscard]] virtual asio::awaitable<Result<std::vector<SplitPosition>>> start(
      Attempt&, const std::string& id, std::optional<std::vector<SplitPosition>> restored) = 0;
  /// Splits that appeared since (discovery); asked again and again at discovery_interval(). Empty: none.
  [[nodiscard]] virtual asio::awaitable<Result<std::vector<SplitPosition>>> discover(Attempt&, const std::string& /*id*/) {
    co_return std::vector<SplitPosition>{};
  }
  [[nodiscard]] virtual std::chrono::nanoseconds discovery_interval() const { return {}; }  ///< zero: never
  [[nodiscard]] virtual std::unique_ptr<SourceReader<T>> reader(Attempt&, ShardId) = 0;
  /// End of an attempt, after all readers are closed and gone.
  [[nodiscard]] virtual asio::awaitable<Status> close(Attempt&) { co_return Status(); }
};

}  // namespace sluice
