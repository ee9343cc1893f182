#include <sluice/io/base/kill_point.h>
#include <sluice/io/base/log.h>
#include <sluice/kafka/decider.h>
#include <sluice/kafka/internal/cluster.h>
#include <sluice/kafka/internal/inputs.h>
#include <sluice/kafka/internal/patiently.h>

#include <algorithm>

namespace sluice::kafka {
namespace {

using internal::patiently;
using Commits = std::vector<OffsetAndMetadata>;

}  // namespace

TransactionDecider::TransactionDecider(Options options, std::shared_ptr<internal::Cluster> cluster,
                                       std::shared_ptr<internal::KafkaInputs> inputs,
                                       io::Executor executor, Metrics& metrics)
    : options_(std::move(options)),
      cluster_(std::move(cluster)),
      inputs_(std::move(inputs)),
      executor_(std::move(executor)),
      metrics_(metrics),
      clock_(cluster_->clock()),
      committed_total_(metrics.counter("sluice_kafka_transactions_committed_total")),
      failed_total_(metrics.counter("sluice_kafka_transactions_failed_total")),
      tainted_total_(metrics.counter("sluice_tainted_transactions_total")),
      claims_total_(metrics.counter("sluice_claims_total")) {}

TransactionDecider::~TransactionDecider() = default;

Status TransactionDecider::open() {
  if (producer_) return {};
  ProducerOptions options;
  options.transactional_id = options_.transactional_id;
  options.transaction_timeout = options_.transaction_timeout;
  options.linger = options_.linger;
  options.properties = options_.properties;
  Result<std::unique_ptr<TransactionalProducer>> made =
      cluster_->client().transactional_producer(executor_, std::move(options), metrics_);
  if (!made.ok()) return std::move(made).status();
  producer_ = *std::move(made);
  return {};
}

bool TransactionDecider::carries(const std::vector<SplitPosition>& positions) const {
  std::set<TopicPartition> seen;
  return std::all_of(positions.begin(), positions.end(), [&](const SplitPosition& position) {
    TopicPartition at{position.split.name, position.split.partition};
    const auto source = inputs_->sources.find(position.source);
    return can_carry(position) && source != inputs_->sources.end() && source->second.carried &&
           inputs_->partitions.contains(at) && seen.insert(std::move(at)).second;
  });
}

asio::awaitable<Status> TransactionDecider::begin(Epoch epoch) {
  SLUICE_ASSERT(!claim_.nil() && !open_);
  initialised_ = false;
  Status begun = co_await producer_->begin();
  if (!begun.ok()) co_return lost(begun, fmt::format("begin of epoch {}", epoch));
  open_ = true;
  epoch_ = epoch;
  begun_ = clock_.now();
  kill_point("begin.done");
  co_return Status();
}

asio::awaitable<Status> TransactionDecider::delivered() {
  const io::Monotonic deadline = cluster_->in(options_.transaction_timeout);
  auto call = [this, deadline] { return producer_->delivered(deadline); };
  Status reports = co_await patiently<Status>(clock_, deadline, std::move(call));
  if (!reports.ok()) co_return lost(reports, fmt::format("delivery reports of epoch {}", epoch_));
  kill_point("reports.in");
  co_return Status();
}

asio::awaitable<Status> TransactionDecider::send(std::string group, Commits offsets,
                                                 io::Monotonic deadline) {
  // In pieces: a broker writes one request as one batch, which must not outgrow what it takes.
  constexpr std::size_t kOffsetsMax = 1000;
  Status sent;
  for (std::size_t from = 0; from < offsets.size() && sent.ok(); from += kOffsetsMax) {
    const std::size_t count = std::min(kOffsetsMax, offsets.size() - from);
    const auto first = offsets.begin() + static_cast<std::ptrdiff_t>(from);
    const Commits piece(first, first + static_cast<std::ptrdiff_t>(count));
    auto call = [&, this] { return producer_->send_offsets(group, piece, deadline); };
    sent = co_await patiently<Status>(clock_, deadline, std::move(call));
  }
  if (sent.code() == Code::kInvalid && sent.exit_status() == ExitStatus::kConfiguration) {
    // A topic that has gone since it was looked up: the recovery looks again, and says the right thing.
    co_return Status(Code::kRecover, sent.message());
  }
  co_return sent;
}

asio::awaitable<Status> TransactionDecider::commit(io::Monotonic deadline) {
  auto call = [this, deadline] { return producer_->commit(deadline); };
  auto again = patiently<Status>(clock_, deadline, std::move(call));
  Status committed = co_await std::move(again);
  co_return committed;
}

Commits TransactionDecider::for_group(const std::string& source,
                                      const std::vector<SplitPosition>& positions) const {
  Commits commits;
  for (const SplitPosition& position : positions) {
    TopicPartition at{position.split.name, position.split.partition};
    // A partition that is gone cannot take a commit, and its refusal would end the transaction.
    if (position.source != source || !inputs_->partitions.contains(at)) continue;
    commits.push_back({std::move(at), position.next.value(), {}});
  }
  return commits;
}

/// A mark on each input partition that has none of ours yet, for a job whose checkpoints carry the
/// positions: offsets go with their topic, so a topic that was made anew has no mark
/// (decisions/0006-marks.md).
Commits TransactionDecider::marks_for(const Decision& decision,
                                      const std::vector<SplitPosition>& positions) {
  constexpr auto kRenew = std::chrono::hours(1);  // Long before a broker lets offsets expire.
  if (clock_.now() - marked_at_ > kRenew) {
    marked_.clear();
    marked_at_ = clock_.now();
  }
  Commits marks;
  for (const SplitPosition& position : positions) {
    TopicPartition at{position.split.name, position.split.partition};
    if (!inputs_->sources.contains(position.source) || !inputs_->partitions.contains(at) ||
        !can_carry(position) || !marked_.insert(std::move(at)).second)
      continue;
    marks.push_back(
        encode(position, PositionRegister{decision.epoch, decision.writer, position.source}));
  }
  return marks;
}

asio::awaitable<Status> TransactionDecider::decide(Decision decision,
                                                   std::vector<SplitPosition> positions) {
  if (decision.writer.nil()) decision.writer = claim_;
  // Later than what was begun where checkpoints failed: their epochs merged into this one.
  SLUICE_ASSERT(open_ && decision.epoch >= epoch_ && decision.epoch > known_);
  const std::string what = fmt::format("transaction of epoch {} on transactional id {}",
                                       decision.epoch, options_.transactional_id);
  const io::Monotonic deadline = cluster_->in(options_.transaction_timeout);
  open_ = false;  // Whatever happens now, nobody adds to this transaction.
  producer_->hurry();  // Side by side with the offsets.
  Commits registers;
  DecisionRegister reg{
      options_.job_id, decision.epoch, decision.writer, decision.digest, {}, false};
  if (decision.positions_only) {
    if (decision.positions.empty()) decision.positions = positions;
    reg.positions = static_cast<std::uint32_t>(decision.positions.size());
    reg.digest = digest_of(decision.positions);
  }
  registers.push_back(encode(options_.place, reg));
  registers.push_back(
      encode(options_.place, OwnerRegister{options_.job_id, claim_, decision.epoch}));
  if (decision.positions_only) {
    // That carries() said so is some time ago: a partition that has gone since is the broker's to refuse.
    SLUICE_ASSERT(std::all_of(decision.positions.begin(), decision.positions.end(), can_carry));
    for (const SplitPosition& position : decision.positions) {
      registers.push_back(
          encode(position, PositionRegister{decision.epoch, decision.writer, position.source}));
    }
  } else {
    const Commits marks = marks_for(decision, positions);
    registers.insert(registers.end(), marks.begin(), marks.end());
  }
  std::string own_group = options_.place.group;
  Status step = co_await send(std::move(own_group), std::move(registers), deadline);
  if (!step.ok()) {
    failed_total_->add(1);
    co_return lost(step, what);
  }
  kill_point("offsets.decision");
  std::vector<std::pair<std::string, Commits>> groups;
  for (const auto& [id, source] : inputs_->sources) {
    if (source.group.empty()) continue;
    Commits commits = for_group(id, positions);
    if (!commits.empty()) groups.emplace_back(source.group, std::move(commits));
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::string group = std::move(groups[i].first);
    Commits commits = std::move(groups[i].second);
    step = co_await send(std::move(group), std::move(commits), deadline);
    if (!step.ok()) {
      failed_total_->add(1);
      co_return lost(step, what);
    }
  }
  kill_point("offsets.positions");
  step = co_await delivered();
  if (!step.ok()) {
    failed_total_->add(1);
    co_return step;
  }
  kill_point("commit.before");
  // From here on only commit() may follow: a retry resumes the same commit, an abort could undo
  // what was decided.
  step = co_await commit(deadline);
  if (!step.ok()) {
    failed_total_->add(1);
    co_return lost(step, what);
  }
  known_ = decision.epoch;
  decided_by_ = decision.writer;
  committed_total_->add(1);
  kill_point("commit.acknowledged");
  co_return Status();
}

asio::awaitable<Status> TransactionDecider::settle(const Decision& decided) {
  const Decision expected = decided;
  const bool fault =
      options_.taint_every != 0 && expected.epoch.value() % options_.taint_every == 0;
  if (!producer_->tainted() && !fault) co_return Status();
  const io::Monotonic deadline = cluster_->in(options_.recovery_max);
  Registers registers;
  do {
    tainted_total_->add(1);
    Status step = co_await init(deadline);
    if (!step.ok()) co_return lost(step, "a new claim behind a tainted transaction");
    kill_point("taint.initialised");
    const Uuid uuid = Uuid::make();
    step = co_await write_claim(uuid, Why::kTaint, deadline);
    if (!step.ok()) co_return step;
    kill_point("taint.claimed");
    Result<Registers> confirmed = co_await confirm(uuid, deadline);
    if (!confirmed.ok()) co_return lost(confirmed.status(), "the registers behind a new claim");
    registers = *std::move(confirmed);
    claim_ = uuid;
    // A connection that closed in the meantime taints this claim too.
  } while (producer_->tainted() && clock_.now() < deadline);
  if (producer_->tainted())
    co_return Status(Code::kRecover, "every claim behind epoch", expected.epoch, "was tainted");
  kill_point("taint.confirmed");
  if (registers.decided.epoch != expected.epoch || registers.decided.writer != decided_by_) {
    co_return Status(
        Code::kRecover,
        fmt::format(
            "epoch {} was decided here, the registers say {}: a late request, or another instance",
            expected.epoch, registers.decided.epoch));
  }
  co_return Status();
}

asio::awaitable<Status> TransactionDecider::close() {
  if (closed_) co_return Status();
  closed_ = true;
  Status closed;
  if (producer_) closed = co_await producer_->close();
  Status released = co_await cluster_->release();
  co_return closed.ok() ? released : closed;
}

}  // namespace sluice::kafka
