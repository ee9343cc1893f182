#pragma once

#include <sluice/engine/batch.h>
#include <sluice/engine/context.h>
#include <sluice/io/scope.h>
#include <sluice/kafka/client.h>
#include <sluice/kafka/internal/source_core.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice::kafka::internal {

/// What a reader of a Kafka source does on its shard, whatever the type of its values: fetches,
/// knows its positions, stops at the end of a bounded source, and deals with records that the
/// deserializer refused.
class PartitionReader {
 public:
  explicit PartitionReader(std::shared_ptr<SourceCore> core) : core_(std::move(core)) {}

  /// A partition that is read, in the order in which the consumer got them.
  struct Part {
    std::shared_ptr<const Split> split;
    Offset next{0};
    std::optional<Offset> end;
    bool done = false;
  };

  [[nodiscard]] asio::awaitable<Status> open(Context context, std::vector<SplitPosition> starts,
                                             io::Event* arrival);
  [[nodiscard]] asio::awaitable<Status> add(SplitPosition start);
  /// What is there, at once.
  [[nodiscard]] Result<kafka::Fetch> fetch();
  /// Everything was handed out that a bounded source has here.
  [[nodiscard]] bool ended() const noexcept { return core_->bounded() && open_parts_ == 0; }
  /// The records of `run` that count, between the part's position and its end; moves the position
  /// behind the run.
  [[nodiscard]] std::span<const Record> take(const kafka::FetchedRun& run,
                                             std::span<const Record> records);
  [[nodiscard]] const Part& part(std::uint32_t assignment) const noexcept {
    return parts_[assignment];
  }
  /// Adds those that a bounded source has read to their end since the last call.
  void take_ended(std::vector<Split>& into);
  [[nodiscard]] bool pause(const Split& split, bool on);
  [[nodiscard]] std::vector<SplitPosition> positions() const;
  void checkpoint_complete();
  [[nodiscard]] asio::awaitable<Status> close();

  /// By the source's policy: not ok ends the attempt, otherwise the record is left out, or in the
  /// last batch of `rejected`.
  [[nodiscard]] Status refuse(const Part& part, const Record& record, const Status& why,
                              const Memory& memory, std::vector<Batch<Record>>& rejected);
  /// The arena of the last batch of `rejected` belongs to one poll.
  void start_poll() noexcept { reject_arena_.reset(); }

 private:
  [[nodiscard]] asio::awaitable<Status> assign(std::vector<SplitPosition> starts);
  [[nodiscard]] asio::awaitable<Status> commit_now_and_then();

  const std::shared_ptr<SourceCore> core_;
  Context context_;
  std::unique_ptr<kafka::Consumer> consumer_;
  std::vector<Part> parts_;            // By assignment.
  std::vector<SplitPosition> absent_;  // Kept, not read.
  std::size_t open_parts_ = 0;         // Not done.
  std::vector<Split> ended_;           // Not yet told.
  std::unique_ptr<io::Scope> scope_;   // Of periodic commits.
  mutable std::vector<SplitPosition> at_barrier_;
  std::shared_ptr<Arena> reject_arena_;
  const Split* reject_split_ = nullptr;
  const void* reject_memory_ = nullptr;
  std::shared_ptr<Counter> bytes_total_, skipped_total_, rejected_total_, repeated_total_;
};

}  // namespace sluice::kafka::internal
