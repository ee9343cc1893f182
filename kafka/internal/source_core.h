#pragma once

#include <sluice/engine/context.h>
#include <sluice/engine/snapshot.h>
#include <sluice/io/scope.h>
#include <sluice/kafka/internal/cluster.h>
#include <sluice/kafka/internal/inputs.h>
#include <sluice/kafka/options.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sluice::kafka::internal {

/// What a Kafka source does on the control thread, whatever the type of its values: which
/// partitions there are, where reading starts and stops, what is wrong with that, and commits of
/// group offsets that no transaction carries.
///
/// Shard      the control thread; what is marked "any" from any, once start() has returned.
/// Ownership  one a job; the attempt's parts are let go in close().
class SourceCore : public std::enable_shared_from_this<SourceCore> {
 public:
  explicit SourceCore(kafka::SourceOptions options);
  ~SourceCore();
  [[nodiscard]] const kafka::SourceOptions& options() const noexcept { return options_; }
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] bool bounded() const noexcept {
    return options_.stop.kind != kafka::Place::Kind::kNever;
  }

  [[nodiscard]] asio::awaitable<Status> check(Attempt& attempt);
  [[nodiscard]] asio::awaitable<Result<std::vector<SplitPosition>>> start(
      Attempt& attempt, std::string id, std::optional<std::vector<SplitPosition>> restored);
  [[nodiscard]] asio::awaitable<Result<std::vector<SplitPosition>>> discover();
  [[nodiscard]] asio::awaitable<Status> close();

  // Any shard.
  [[nodiscard]] kafka::Client& client() const noexcept { return cluster_->client(); }
  [[nodiscard]] const kafka::Properties& handle_properties() const noexcept {
    return cluster_->properties();
  }
  /// Where reading of a bounded source stops; none: never.
  [[nodiscard]] std::optional<Offset> end_of(const Split& split) const;
  /// In the checkpoint, but not in the metadata: its position is kept, and read from when it shows
  /// up.
  [[nodiscard]] bool absent(const Split& split) const { return absent_.contains(split); }
  /// Group offsets are the readers' to hand in at a finished checkpoint: no transaction carries
  /// them.
  [[nodiscard]] bool commits_itself() const noexcept {
    return options_.commit_offsets == kafka::CommitOffsets::kOnCheckpoint &&
           !options_.group.empty() && !inputs_->decider;
  }
  /// Commits to the user's group, soon; for lag tools, so a failure is only logged. The latest of a
  /// partition counts.
  void commit(std::vector<SplitPosition> positions);

 private:
  using Positions = std::vector<SplitPosition>;
  using Place = kafka::Place;
  [[nodiscard]] Status check_options() const;
  [[nodiscard]] asio::awaitable<Status> look_up(bool first, io::Monotonic deadline);
  [[nodiscard]] bool configured(const std::string& topic) const;
  [[nodiscard]] asio::awaitable<Status> place(Place where, Positions* splits,
                                              io::Monotonic deadline);
  [[nodiscard]] asio::awaitable<Status> place_at_group(Positions* splits, io::Monotonic deadline);
  [[nodiscard]] Status check_mark(const SplitPosition& position) const;
  [[nodiscard]] asio::awaitable<Status> check_range(Positions* positions, io::Monotonic deadline);
  [[nodiscard]] Status out_of_range(SplitPosition& position, Offset first, Offset end);
  [[nodiscard]] asio::awaitable<Status> find_ends(const Positions* positions,
                                                  io::Monotonic deadline);
  [[nodiscard]] asio::awaitable<Status> commit_pending();

  const kafka::SourceOptions options_;
  struct Pattern;
  std::unique_ptr<Pattern> pattern_;
  // For the job's life: what was once resolved stays, or a restart before the first checkpoint
  // would skip what "latest" has seen since.
  std::string back_;  // A topic that was missing from the metadata for a while.
  std::map<Split, Offset> first_;
  std::map<Split, Offset> ends_;
  // For an attempt.
  std::shared_ptr<Cluster> cluster_;
  std::shared_ptr<KafkaInputs> inputs_;
  std::string id_;
  std::map<std::string, std::int32_t> topics_;  // With partitions, 0 where it does not exist now.
  std::set<Split> known_;
  std::map<Split, Offset> absent_;  // Not changed once the readers run.
  io::Executor control_;
  std::unique_ptr<io::Scope> scope_;
  std::map<kafka::TopicPartition, Offset> pending_;
  bool committing_ = false;
  std::uint64_t commit_failures_ = 0;
  std::shared_ptr<Counter> lost_total_;
};

[[nodiscard]] inline kafka::TopicPartition topic_partition(const Split& split) {
  return {split.name, split.partition};
}

}  // namespace sluice::kafka::internal
