#include <sluice/engine/internal/reject.h>
#include <sluice/io/base/log.h>
#include <sluice/kafka/internal/partition_reader.h>

#include <algorithm>
#include <bit>

namespace sluice::kafka::internal {
namespace {

/// Of one poll. Large enough to pay for the call, small enough that a barrier does not wait behind
/// it: some milliseconds.
constexpr std::size_t kFetchRecordsMax = 4 * Batch<Record>::kRecordsMax;

}  // namespace

asio::awaitable<Status> PartitionReader::open(Context context, std::vector<SplitPosition> starts,
                                              io::Event* arrival) {
  context_ = std::move(context);
  bytes_total_ = context_.metrics->counter("sluice_source_bytes_total");
  skipped_total_ = context_.metrics->counter("sluice_source_skipped_records_total");
  rejected_total_ = context_.metrics->counter("sluice_source_rejected_records_total");
  repeated_total_ = context_.metrics->counter("sluice_kafka_repeated_records_total");
  kafka::ConsumerOptions options;
  options.read_committed = core_->options().isolation == kafka::Isolation::kReadCommitted;
  options.buffer_bytes_max =
      core_->options().buffer_bytes_max / std::max<std::size_t>(context_.parallelism, 1);
  options.properties = core_->handle_properties();
  Result<std::unique_ptr<kafka::Consumer>> consumer =
      core_->client().consumer(context_.executor, *arrival, std::move(options), *context_.metrics);
  if (!consumer.ok()) co_return consumer.status();
  consumer_ = *std::move(consumer);
  std::vector<SplitPosition> read;
  for (SplitPosition& start : starts)
    (core_->absent(start.split) ? absent_ : read).push_back(std::move(start));
  Status assigned = co_await assign(std::move(read));
  if (!assigned.ok()) co_return assigned;
  if (core_->options().commit_offsets == kafka::CommitOffsets::kPeriodic) {
    scope_ = std::make_unique<io::Scope>(context_.executor);
    scope_->spawn(commit_now_and_then());
  }
  co_return Status();
}

asio::awaitable<Status> PartitionReader::add(SplitPosition start) {
  std::erase_if(absent_, [&](const SplitPosition& kept) { return kept.split == start.split; });
  const bool known = std::any_of(parts_.begin(), parts_.end(),
                                 [&](const Part& part) { return *part.split == start.split; });
  if (known) co_return Status();
  std::vector<SplitPosition> one{std::move(start)};
  Status assigned = co_await assign(std::move(one));
  co_return assigned;
}

asio::awaitable<Status> PartitionReader::assign(std::vector<SplitPosition> starts) {
  std::vector<kafka::Consumer::Assignment> added;
  std::vector<std::uint32_t> done;
  for (SplitPosition& start : starts) {
    Part part{std::make_shared<const Split>(std::move(start.split)), start.next, {}, false};
    part.end = core_->end_of(*part.split);
    part.done = part.end && part.next >= *part.end;
    if (part.done) {
      ended_.push_back(*part.split);
      done.push_back(static_cast<std::uint32_t>(parts_.size()));
    } else {
      ++open_parts_;
    }
    added.push_back({topic_partition(*part.split), part.next});
    parts_.push_back(std::move(part));
  }
  if (added.empty()) co_return Status();
  Status assigned = co_await consumer_->assign(std::move(added));
  if (!assigned.ok()) co_return assigned;
  for (const std::uint32_t assignment : done) consumer_->pause(assignment);
  co_return Status();
}

Result<kafka::Fetch> PartitionReader::fetch() {
  Result<kafka::Fetch> fetched = consumer_->poll(kFetchRecordsMax);
  if (fetched.ok()) {
    bytes_total_->add(fetched->bytes);
  } else if (fetched.code() == Code::kCorrupt && consumer_->out_of_range() &&
             core_->options().out_of_range != kafka::OutOfRange::kFail) {
    // Retention has passed a running reader: the recovery's start() applies the policy and counts.
    return fetched.status().as(Code::kRecover);
  }
  return fetched;
}

std::span<const Record> PartitionReader::take(const kafka::FetchedRun& run,
                                              std::span<const Record> records) {
  Part& part = parts_[run.assignment];
  std::span<const Record> taken = records.subspan(run.first, run.count);
  if (part.done) return {};
  if (!taken.empty() && taken.front().offset < part.next) [[unlikely]] {
    const auto behind = std::find_if(taken.begin(), taken.end(), [&](const Record& record) {
      return record.offset >= part.next;
    });
    const auto repeated = static_cast<std::size_t>(behind - taken.begin());
    repeated_total_->add(repeated);
    taken = taken.subspan(repeated);
  }
  part.next = std::max(part.next, run.next);
  if (part.end && part.next >= *part.end) [[unlikely]] {
    const auto beyond = std::find_if(taken.begin(), taken.end(), [&](const Record& record) {
      return record.offset >= *part.end;
    });
    taken = taken.first(static_cast<std::size_t>(beyond - taken.begin()));
    part.next = *part.end;  // Not further: a later run without a bound goes on here.
    part.done = true;
    ended_.push_back(*part.split);
    --open_parts_;
    consumer_->pause(run.assignment);
  }
  return taken;
}

void PartitionReader::take_ended(std::vector<Split>& into) {
  for (Split& split : ended_) into.push_back(std::move(split));
  ended_.clear();
}

bool PartitionReader::pause(const Split& split, bool on) {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (*parts_[i].split != split) continue;
    if (parts_[i].done) return true;  // Nothing of it will come.
    const auto assignment = static_cast<std::uint32_t>(i);
    on ? consumer_->pause(assignment) : consumer_->resume(assignment);
    return true;
  }
  return true;  // One that is absent hands nothing out.
}

std::vector<SplitPosition> PartitionReader::positions() const {
  std::vector<SplitPosition> positions;
  positions.reserve(parts_.size() + absent_.size());
  for (const Part& part : parts_)
    positions.push_back({context_.operator_id, *part.split, part.next});
  positions.insert(positions.end(), absent_.begin(), absent_.end());
  // Asked at a barrier; the next finished checkpoint is this one, as there is one at a time.
  if (core_->commits_itself())
    at_barrier_.assign(positions.begin(),
                       positions.begin() + static_cast<std::ptrdiff_t>(parts_.size()));
  return positions;
}

void PartitionReader::checkpoint_complete() {
  if (core_->commits_itself() && !at_barrier_.empty())
    core_->commit(std::exchange(at_barrier_, {}));
}

asio::awaitable<Status> PartitionReader::commit_now_and_then() {
  std::vector<SplitPosition> last;
  for (;;) {
    Status slept = co_await context_.clock->sleep(core_->options().commit_interval);
    if (!slept.ok()) co_return slept;
    std::vector<SplitPosition> now = positions();
    now.resize(parts_.size());
    if (now == last) continue;
    last = now;
    core_->commit(std::move(now));
  }
}

asio::awaitable<Status> PartitionReader::close() {
  Status first;
  if (scope_) {
    scope_->stop();
    first = co_await scope_->join();
    if (first.code() == Code::kCancelled) first = Status();
    scope_.reset();
    std::vector<SplitPosition> last = positions();
    last.resize(parts_.size());
    core_->commit(std::move(last));
  }
  Status closed;
  if (consumer_) closed = co_await consumer_->close();
  co_return first.ok() ? closed : first;
}

Status PartitionReader::refuse(const Part& part, const Record& record, const Status& why,
                               const Memory& memory, std::vector<Batch<Record>>& rejected) {
  const std::string what = fmt::format(
      "source {}: topic {} partition {} offset {} cannot be read: {}", context_.operator_id,
      part.split->name, part.split->partition, record.offset, why.message());
  const kafka::OnError policy = core_->options().on_error;
  if (policy == kafka::OnError::kFail) {
    return Status(
        Code::kCorrupt, what,
        "(on_error = skip leaves such records out, reject sends them on with the reason)");
  }
  const auto& total = policy == kafka::OnError::kSkip ? skipped_total_ : rejected_total_;
  total->add(1);
  // The first ones are of interest, a million of them are not.
  if (std::has_single_bit(total->value())) {
    log().warn("{} ({} on this shard so far, {})", what, total->value(),
               policy == kafka::OnError::kSkip ? "left out" : "rejected");
  }
  if (policy == kafka::OnError::kSkip) return {};
  const bool same = reject_arena_ && reject_split_ == part.split.get() &&
                    reject_memory_ == memory.get() &&
                    rejected.back().size() < Batch<Record>::kRecordsMax;
  if (!same) {
    reject_arena_ = std::make_shared<Arena>();
    reject_split_ = part.split.get();
    reject_memory_ = memory.get();
    Batch<Record> batch;
    batch.set_split(part.split);
    batch.own(memory,
              0);  // Weighs with the good ones, if there are any; a rejected record is rare.
    batch.own(reject_arena_, 0);
    rejected.push_back(std::move(batch));
  }
  const sluice::internal::Origin origin{part.split->name, part.split->partition, record.offset,
                                        record.time};
  const std::size_t before = reject_arena_->bytes();
  Batch<Record>& batch = rejected.back();
  batch.records().push_back(
      sluice::internal::rejected_record(record, why.message(), origin, *reject_arena_));
  batch.times().push_back(record.time);
  batch.own(nullptr, reject_arena_->bytes() - before + record.key.size() + record.value.size());
  return {};
}

}  // namespace sluice::kafka::internal
