#include <sluice/kafka/internal/model_consumer.h>

#include <fmt/format.h>

namespace sluice::kafka::internal {

ModelConsumer::ModelConsumer(ModelConnectionPtr connection, io::Event& arrival, bool read_committed, Metrics& metrics)
    : connection_(std::move(connection)),
      state_(*connection_->state),
      arrival_(arrival),
      read_committed_(read_committed),
      repeated_(metrics.counter("sluice_kafka_repeated_records_total")) {
  const std::lock_guard lock(state_.mutex);
  state_.add(this);
}

ModelConsumer::~ModelConsumer() {
  const std::lock_guard lock(state_.mutex);
  state_.remove(this);
}

void ModelConsumer::on_log(const TopicPartition& at) {
  if (assignments_.contains(at)) arrival_.set();
}

asio::awaitable<Status> ModelConsumer::assign(std::vector<Assignment> added) {
  Status status = assign_now(std::move(added));
  co_await model_answered();
  co_return status;
}

Status ModelConsumer::assign_now(std::vector<Assignment> added) {
  const std::lock_guard lock(state_.mutex);
  if (closed_) return Status(Code::kCancelled, "the consumer is closed");
  for (Assignment& assignment : added) {
    SLUICE_ASSERT(assignment.start.value() >= 0);
    const auto index = static_cast<std::uint32_t>(partitions_.size());
    const bool fresh = assignments_.emplace(assignment.partition, index).second;
    SLUICE_ASSERT(fresh);  // Assigned already.
    partitions_.push_back({.name = std::move(assignment.partition), .next = assignment.start.value()});
  }
  arrival_.set();
  return {};
}

Result<Fetch> ModelConsumer::poll(std::size_t records_max) {
  const std::lock_guard lock(state_.mutex);
  if (closed_) return Status(Code::kCancelled, "the consumer is closed");
  if (!failure_.ok()) return failure_;
  state_.tick();
  Result<Fetch> fetched = fetch(records_max);
  state_.settle();
  return fetched;
}

Result<Fetch> ModelConsumer::fetch(std::size_t records_max) {
  Fetch fetch;
  auto kept = std::make_shared<std::vector<ModelSegmentPtr>>();
  const ModelFaults::Reply asked = connection_->send(ModelRequest::kFetch, [] { return ModelAnswer::kOk; });
  if (asked.answer != ModelAnswer::kOk) {
    if (asked.answer != ModelAnswer::kUnreachable) arrival_.set();  // A real client asks again and says nothing.
    return fetch;
  }
  bool more = false;
  for (std::size_t i = 0; i < partitions_.size(); ++i) {
    const auto assignment = static_cast<std::uint32_t>((turn_ + i) % partitions_.size());
    const Partition& partition = partitions_[assignment];
    if (partition.paused) continue;
    failure_ = readable(partition);
    if (!failure_.ok()) return failure_;
    if (!take(assignment, records_max - fetch.records.size(), fetch, *kept)) more = true;
  }
  ++turn_;
  if (more) arrival_.set();
  for (const ModelSegmentPtr& segment : *kept) fetch.bytes += segment->bytes();
  fetch.memory = std::move(kept);
  return fetch;
}

Status ModelConsumer::readable(const Partition& partition) const {
  const std::string attempted = fmt::format("read {}-{}", partition.name.topic, partition.name.partition);
  const ModelAnswer checked = state_.check(partition.name);
  if (checked != ModelAnswer::kOk) return connection_->status(checked, attempted);
  const ModelLog& log = *state_.log(partition.name);
  if (partition.next >= log.start() && partition.next <= log.end()) return {};
  return Status(Code::kCorrupt,
                fmt::format("could not {} at {}: offset {} is wanted, there are {} to {}; retention passed it, or the "
                            "topic was truncated or made anew: choose out_of_range, or restore the records",
                            attempted, connection_->name(), partition.next, log.start(), log.end()));
}

bool ModelConsumer::take(std::uint32_t assignment, std::size_t room, Fetch& fetch, std::vector<ModelSegmentPtr>& kept) {
  Partition& partition = partitions_[assignment];
  const ModelLog& log = *state_.log(partition.name);
  std::vector<const ModelLog::Entry*> entries;
  const std::int64_t next = log.read(partition.next, read_committed_, room, entries);
  const bool at_end = next >= log.readable_end(read_committed_);
  if (next == partition.next && at_end == partition.at_end) return at_end;
  fetch.runs.push_back({.assignment = assignment,
                        .first = static_cast<std::uint32_t>(fetch.records.size()),
                        .count = static_cast<std::uint32_t>(entries.size()),
                        .next = Offset(next),
                        .at_end = at_end});
  for (const ModelLog::Entry* entry : entries) {
    Record& seen = fetch.records.emplace_back(entry->record);
    if (seen.time < EventTime()) seen.time = kNoEventTime;  // As the client library's: -1 is what old producers write.
    if (kept.empty() || kept.back() != entry->segment) kept.push_back(entry->segment);
  }
  partition.next = next;
  partition.at_end = at_end;
  return at_end;
}

void ModelConsumer::pause(std::uint32_t assignment) {
  const std::lock_guard lock(state_.mutex);
  SLUICE_ASSERT(assignment < partitions_.size());
  partitions_[assignment].paused = true;
}

void ModelConsumer::resume(std::uint32_t assignment) {
  const std::lock_guard lock(state_.mutex);
  SLUICE_ASSERT(assignment < partitions_.size());
  partitions_[assignment].paused = false;
  arrival_.set();
}

asio::awaitable<Status> ModelConsumer::close() {
  {
    const std::lock_guard lock(state_.mutex);
    closed_ = true;
    state_.remove(this);
  }
  co_await model_answered();
  co_return Status();
}

}  // namespace sluice::kafka::internal
