// Where to start and to stop, as numbers.
#include <sluice/io/base/log.h>
#include <sluice/kafka/internal/source_core.h>
#include <sluice/kafka/registers.h>

namespace sluice::kafka::internal {

using Kind = Place::Kind;

/// Turns a place into a number for each of `splits`.
asio::awaitable<Status> SourceCore::place(Place where, Positions* splits, io::Monotonic deadline) {
  if (splits->empty()) co_return Status();
  if (where.kind == Kind::kGroupOffsets) {
    Status placed = co_await place_at_group(splits, deadline);
    co_return placed;
  }
  if (where.kind == Kind::kOffsets) {
    Positions given, others;
    for (SplitPosition& position : *splits) {
      const auto topic = where.offsets.find(position.split.name);
      if (topic != where.offsets.end() && topic->second.contains(position.split.partition)) {
        position.next = Offset(topic->second.at(position.split.partition));
        given.push_back(std::move(position));
      } else {
        others.push_back(std::move(position));
      }
    }
    Status placed = co_await check_range(&given, deadline);
    if (!placed.ok()) co_return placed;
    Place otherwise = options_.group.empty() ? options_.group_fallback : kafka::group_offsets();
    placed = co_await place(std::move(otherwise), &others, deadline);
    given.insert(given.end(), others.begin(), others.end());
    *splits = std::move(given);
    co_return placed;
  }
  const OffsetKind kind = where.kind == Kind::kEarliest ? OffsetKind::kEarliest
                          : where.kind == Kind::kLatest ? OffsetKind::kLatest
                                                        : OffsetKind::kAtTime;
  std::vector<TopicPartition> partitions;
  for (const SplitPosition& position : *splits)
    partitions.push_back(topic_partition(position.split));
  const bool read_committed = options_.isolation == kafka::Isolation::kReadCommitted;
  Result<std::vector<Offset>> offsets =
      co_await cluster_->offsets(std::move(partitions), kind, where.time, read_committed, deadline);
  if (!offsets.ok()) co_return offsets.status().with("for source", id_);
  for (std::size_t i = 0; i < splits->size(); ++i) (*splits)[i].next = (*offsets)[i];
  co_return Status();
}

asio::awaitable<Status> SourceCore::place_at_group(Positions* splits, io::Monotonic deadline) {
  if (splits->empty()) co_return Status();
  std::vector<TopicPartition> partitions;
  for (const SplitPosition& position : *splits)
    partitions.push_back(topic_partition(position.split));
  std::string group = options_.group;
  Result<std::vector<OffsetAndMetadata>> committed =
      co_await cluster_->committed(std::move(group), std::move(partitions), deadline, deadline);
  if (committed.code() == Code::kRetry) {
    co_return Status(
        Code::kInvalid,
        fmt::format(
            "source {}: the offsets of group {} cannot be read: {} (an open transaction commits to "
            "them, or no broker at {} answers)",
            id_, options_.group, committed.status().message(), cluster_->brokers()))
        .exit(ExitStatus::kUnavailable);
  }
  if (!committed.ok()) co_return committed.status().with("for source", id_);
  Positions without;
  Positions with;
  for (std::size_t i = 0; i < splits->size(); ++i) {
    SplitPosition& position = (*splits)[i];
    position.next = Offset((*committed)[i].offset);
    (position.next < Offset(0) ? without : with).push_back(std::move(position));
  }
  Status placed = co_await check_range(&with, deadline);
  if (!placed.ok()) co_return placed;
  Place fallback = options_.group_fallback;
  placed = co_await place(std::move(fallback), &without, deadline);
  with.insert(with.end(), without.begin(), without.end());
  *splits = std::move(with);
  co_return placed;
}

/// A decision leaves a mark on each partition that the job reads, and offsets are deleted with their
/// topic: a position above zero without one belongs to a topic that is no more.
Status SourceCore::check_mark(const SplitPosition& position) const {
  if (!inputs_->decider || position.next == Offset(0) || !kafka::can_carry(position) ||
      inputs_->marked.contains(topic_partition(position.split)))
    return {};
  return Status(
      Code::kCorrupt,
      fmt::format("source {}: topic {} partition {} was read up to offset {}, but what the job left "
                  "in its group is gone: the topic was deleted and made anew, or the group's offsets "
                  "were deleted. To start over with the topic as it is now, --reset-decision; to go on with the "
                  "rest of the state, out_of_range = earliest or latest",
                  id_, position.split.name, position.split.partition, position.next));
}

asio::awaitable<Status> SourceCore::check_range(Positions* positions, io::Monotonic deadline) {
  if (positions->empty()) co_return Status();
  std::vector<TopicPartition> partitions;
  for (const SplitPosition& position : *positions)
    partitions.push_back(topic_partition(position.split));
  std::vector<TopicPartition> asked = partitions;
  const bool read_committed = options_.isolation == kafka::Isolation::kReadCommitted;
  Result<std::vector<Offset>> first = co_await cluster_->offsets(
      std::move(asked), OffsetKind::kEarliest, kNoEventTime, read_committed, deadline);
  if (!first.ok()) co_return first.status().with("for source", id_);
  asked = partitions;
  Result<std::vector<Offset>> end = co_await cluster_->offsets(
      std::move(asked), OffsetKind::kLatest, kNoEventTime, read_committed, deadline);
  if (!end.ok()) co_return end.status().with("for source", id_);
  bool beyond = false;
  for (std::size_t i = 0; i < positions->size(); ++i)
    beyond = beyond || (*positions)[i].next > (*end)[i];
  if (beyond && read_committed) {
    // Behind an open transaction is no error: an offset that a person set to the log's end.
    end = co_await cluster_->offsets(std::move(partitions), OffsetKind::kLatest, kNoEventTime,
                                     false, deadline);
    if (!end.ok()) co_return end.status().with("for source", id_);
  }
  for (std::size_t i = 0; i < positions->size(); ++i) {
    Status fits = out_of_range((*positions)[i], (*first)[i], (*end)[i]);
    if (!fits.ok()) co_return fits;
  }
  co_return Status();
}

Status SourceCore::out_of_range(SplitPosition& position, Offset first, Offset end) {
  const Offset wanted = position.next;
  if (wanted >= first && wanted <= end) return {};
  const bool below = wanted < first;
  if (options_.out_of_range == OutOfRange::kFail) {
    const std::string what =
        below ? fmt::format(
                    "wanted offset {}, available {} to {}: {} records were deleted by retention "
                    "before they were read. "
                    "out_of_range = earliest goes on at {}, latest at {}",
                    wanted, first, end, first.value() - wanted.value(), first, end)
              : fmt::format(
                    "stored offset {} is beyond the end {}: the topic was probably deleted and "
                    "made anew. out_of_range = "
                    "earliest starts over at {}, latest at {}",
                    wanted, end, first, end);
    return Status(Code::kCorrupt, fmt::format("source {}: topic {} partition {}: {}", id_,
                                              position.split.name, position.split.partition, what));
  }
  position.next = options_.out_of_range == OutOfRange::kEarliest ? first : end;
  const std::int64_t lost = below ? position.next.value() - wanted.value() : 0;
  lost_total_->add(static_cast<std::uint64_t>(lost));
  log().warn(
      "source {}: topic {} partition {}: wanted offset {}, available {} to {}: goes on at {}, {} "
      "records are lost",
      id_, position.split.name, position.split.partition, wanted, first, end, position.next, lost);
  return {};
}

asio::awaitable<Status> SourceCore::find_ends(const Positions* positions, io::Monotonic deadline) {
  Positions ends;
  for (const SplitPosition& position : *positions) {
    if (ends_.contains(position.split)) continue;
    const auto topic = options_.stop.offsets.find(position.split.name);
    if (topic != options_.stop.offsets.end() && topic->second.contains(position.split.partition)) {
      ends_.emplace(position.split, Offset(topic->second.at(position.split.partition)));
    } else {
      ends.push_back(position);
    }
  }
  Place where = options_.stop.kind == Kind::kOffsets ? kafka::latest() : options_.stop;
  Status placed = co_await place(std::move(where), &ends, deadline);
  if (!placed.ok()) co_return placed;
  for (const SplitPosition& end : ends) ends_.emplace(end.split, end.next);
  co_return Status();
}

}  // namespace sluice::kafka::internal
