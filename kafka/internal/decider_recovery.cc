// The recovery's half of the decider: reading, claiming, and who the owner is.
#include <sluice/io/base/kill_point.h>
#include <sluice/io/base/log.h>
#include <sluice/kafka/decider.h>
#include <sluice/kafka/internal/cluster.h>
#include <sluice/kafka/internal/inputs.h>
#include <sluice/kafka/internal/patiently.h>

#include <algorithm>
#include <utility>

namespace sluice::kafka {
namespace {

using internal::patiently;
using Commits = std::vector<OffsetAndMetadata>;

}  // namespace

asio::awaitable<Result<Decision>> TransactionDecider::read() {
  if (inputs_->groups.contains(options_.place.group)) {
    co_return Status(
        Code::kInvalid,
        fmt::format(
            "group \"{}\" is the private group of the job's registers: give the source another "
            "one, or the sink a decision_group",
            options_.place.group));
  }
  if (!recovery_deadline_) recovery_deadline_ = cluster_->in(options_.recovery_max);
  const io::Monotonic deadline = *recovery_deadline_;
  Status there = co_await ensure_topic(deadline);
  if (!there.ok()) co_return there;

  const bool first = !std::exchange(read_before_, true);
  const io::Monotonic patience =
      first ? std::min(deadline, cluster_->in(options_.unstable_max)) : deadline;
  Result<Registers> registers = co_await read_registers(deadline, patience);
  if (registers.code() == Code::kRetry && first) {
    // The transaction that a predecessor left open has touched the registers: nobody can read them
    // before it is aborted, and nobody but init() does that soon. A living owner's window is a few
    // milliseconds, so this fences only a dead or paused one; whose job it is, is still looked at
    // before anything is written (decisions/0002-unstable-registers.md).
    Status initialised = co_await init(deadline);
    if (!initialised.ok())
      co_return gone(initialised, "initialising transactional id " + options_.transactional_id);
    registers = co_await read_registers(deadline, deadline);
  }
  if (!registers.ok()) co_return gone(registers.status(), "reading the registers");
  remember(*registers);
  read_ = true;
  kill_point("recovery.registers_read");
  co_return registers->decided;
}

asio::awaitable<Result<Decision>> TransactionDecider::claim() {
  if (!recovery_deadline_) recovery_deadline_ = cluster_->in(options_.recovery_max);
  // What the engine did since read() is not the brokers' fault.
  const io::Monotonic deadline =
      std::max(*recovery_deadline_, cluster_->in(options_.recovery_max / 2));
  recovery_deadline_ = deadline;
  for (;;) {
    if (!read_) {
      Result<Decision> known = co_await read();
      if (!known.ok()) co_return known;
    }
    read_ = false;
    if (!initialised_) {
      Status initialised = co_await init(deadline);
      if (!initialised.ok())
        co_return gone(initialised, "initialising transactional id " + options_.transactional_id);
    }
    kill_point("recovery.initialised");
    const Uuid uuid = Uuid::make();
    Status written = co_await write_claim(uuid, Why::kRecovery, deadline);
    if (!written.ok()) co_return written;
    kill_point("recovery.claimed");
    if (producer_->tainted()) {
      // A request of this claim may arrive late and hit the first transaction: again, with another
      // name.
      tainted_total_->add(1);
      if (clock_.now() >= deadline)
        co_return gone(Status(Code::kRetry, "every claim was tainted"), "claiming the job");
      continue;
    }
    Result<Registers> confirmed = co_await confirm(uuid, deadline);
    if (!confirmed.ok()) co_return gone(confirmed.status(), "reading the registers behind a claim");
    if (!confirmed->decision) {
      // A new job. Decision 0 is written down before its first checkpoint is, so that a decision
      // that is missing beside checkpoints is always a loss. It cannot overwrite one: whoever
      // decides first has to fence this claim.
      written = co_await write_claim(uuid, Why::kFirst, deadline);
      if (!written.ok()) co_return written;
      if (producer_->tainted()) continue;
      confirmed->decided.writer = uuid;
    }
    claim_ = uuid;
    recovery_deadline_.reset();
    kill_point("recovery.confirmed");
    log().info("claim {} owns job {}, decided: {}", uuid.to_string(), options_.job_id,
               confirmed->decided.epoch);
    co_return confirmed->decided;
  }
}

asio::awaitable<Status> TransactionDecider::ensure_topic(io::Monotonic deadline) {
  bool made = false;
  for (;;) {
    std::vector<std::string> names{options_.place.topic};
    Result<std::vector<TopicMetadata>> found =
        co_await cluster_->topics(std::move(names), deadline);
    if (!found.ok()) co_return found.status();
    const TopicMetadata topic = found->empty() ? TopicMetadata{} : found->front();
    if (topic.partitions == RegisterPlace::kPartitions) co_return Status();
    if (topic.partitions != 0) {
      co_return Status(Code::kInvalid, fmt::format("topic {} of the job's registers has {} "
                                                   "partitions, not {}: delete it and let the job "
                                                   "make it, or name the job differently",
                                                   options_.place.topic, topic.partitions,
                                                   RegisterPlace::kPartitions));
    }
    if (!topic.status.ok() && topic.status.exit_status() == ExitStatus::kNoPermission) {
      co_return topic.status.with("for the topic of the job's registers,", options_.place.topic);
    }
    if (made) {
      // Created, and not in this broker's metadata yet.
      if (clock_.now() >= deadline) {
        co_return gone(Status(Code::kRetry, "it does not show up"),
                       "creating topic " + options_.place.topic);
      }
      Status slept = co_await clock_.sleep(std::chrono::milliseconds(20));
      if (!slept.ok()) co_return slept;
      continue;
    }
    // Nothing is ever written to it: the registers are offset commits. They go when the topic goes,
    // so it must not.
    const Properties config{{"retention.ms", "-1"}};
    Status created;
    for (std::int32_t replication = options_.replication > 0 ? options_.replication : 3;
         replication > 0; --replication) {
      created = co_await cluster_->create_topic(options_.place.topic, RegisterPlace::kPartitions,
                                                replication, config, deadline);
      const bool fewer_may_do = options_.replication == 0 && created.code() == Code::kInvalid &&
                                created.exit_status() == ExitStatus::kConfiguration;
      if (created.ok() || !fewer_may_do) break;
    }
    if (!created.ok()) {
      co_return created.with(fmt::format(
          "(topic {} of the job's registers; it may also be made beforehand, with {} partitions)",
          options_.place.topic, RegisterPlace::kPartitions));
    }
    made = true;
  }
}

/// kRetry comes out: somebody's transaction has been open for longer than our patience.
asio::awaitable<Result<Registers>> TransactionDecider::read_registers(io::Monotonic deadline,
                                                                      io::Monotonic patience) {
  std::vector<TopicPartition> asked{options_.place.decision(), options_.place.owner()};
  asked.insert(asked.end(), inputs_->partitions.begin(), inputs_->partitions.end());
  std::string group = options_.place.group;
  Result<Commits> answer =
      co_await cluster_->committed(std::move(group), std::move(asked), deadline, patience);
  if (!answer.ok()) co_return answer.status();
  inputs_->marked.clear();
  for (std::size_t i = RegisterPlace::kPartitions; i < answer->size(); ++i) {
    if ((*answer)[i].offset >= 0) inputs_->marked.insert((*answer)[i].partition);
  }
  co_return decode(options_.place, options_.job_id, *answer);
}

void TransactionDecider::remember(const Registers& registers) {
  seen_owner_ = registers.owner ? registers.owner->claim : Uuid();
  known_ = std::max(known_, registers.decided.epoch);
}

asio::awaitable<Status> TransactionDecider::init(io::Monotonic deadline) {
  auto call = [this, deadline] { return producer_->init(deadline); };
  Status initialised = co_await patiently<Status>(clock_, deadline, std::move(call));
  initialised_ = initialised.ok();
  co_return initialised;
}

asio::awaitable<Status> TransactionDecider::write_claim(Uuid uuid, Why why,
                                                        io::Monotonic deadline) {
  const std::string what =
      fmt::format("claim {} of transactional id {}", uuid.to_string(), options_.transactional_id);
  initialised_ = false;
  mine_.push_back(uuid);
  Status step = co_await producer_->begin();
  if (!step.ok()) co_return lost(step, what);
  Commits registers;
  if (why == Why::kReset || why == Why::kFirst) {
    DecisionRegister nothing;
    nothing.job_id = options_.job_id;
    nothing.writer = uuid;
    nothing.reset = why == Why::kReset;
    registers.push_back(encode(options_.place, nothing));
  }
  const OwnerRegister owner{options_.job_id, uuid, why == Why::kReset ? Epoch(0) : known_};
  registers.push_back(encode(options_.place, owner));
  std::string group = options_.place.group;
  step = co_await send(std::move(group), std::move(registers), deadline);
  if (!step.ok()) co_return lost(step, what);
  if (why == Why::kRecovery) kill_point("recovery.claim_offsets");
  step = co_await commit(deadline);
  if (!step.ok()) co_return lost(step, what);
  claims_total_->add(1);
  co_return Status();
}

asio::awaitable<Result<Registers>> TransactionDecider::confirm(Uuid uuid, io::Monotonic deadline) {
  for (;;) {
    Result<Registers> registers = co_await read_registers(deadline, deadline);
    if (!registers.ok()) co_return registers.status();
    if (registers->owner && registers->owner->claim == uuid) {
      remember(*registers);
      co_return registers;
    }
    if (clock_.now() >= deadline) {
      co_return Status(Code::kRecover, fmt::format("claim {} does not show up in group {}",
                                                   uuid.to_string(), options_.place.group));
    }
    // An answer from before the claim, of a coordinator that is no longer one; or of somebody who
    // claimed since.
    Status slept = co_await clock_.sleep(std::chrono::milliseconds(20));
    if (!slept.ok()) co_return slept;
  }
}

/// At a deadline without an answer: for a person, or whoever restarts the process.
Status TransactionDecider::gone(const Status& last, std::string_view what) const {
  if (last.code() != Code::kRetry) return last;
  return Status(Code::kInvalid, fmt::format("{}: no answer from the brokers at {} in time ({})",
                                            what, cluster_->brokers(), last.message()))
      .exit(ExitStatus::kUnavailable);
}

/// The attempt is over; the registers will tell how it ended.
Status TransactionDecider::lost(const Status& last, std::string_view what) const {
  return last.code() == Code::kRetry
             ? last.as(Code::kRecover).with("-", what, "was not answered in time")
             : last.with("-", what);
}

asio::awaitable<Status> TransactionDecider::still_owner() {
  // Another instance's init came before its claim: give the claim time to be written.
  Status slept = co_await clock_.sleep(options_.owner_wait);
  if (!slept.ok()) co_return slept;
  std::vector<TopicPartition> asked{options_.place.decision(), options_.place.owner()};
  std::string group = options_.place.group;
  Result<Commits> answer = co_await cluster_->committed(std::move(group), std::move(asked),
                                                        cluster_->in(std::chrono::seconds(5)),
                                                        cluster_->in(std::chrono::seconds(2)));
  // Unreadable for so long: the transaction that holds the registers is our own, left open, as
  // another instance's init would have ended it. Nobody else is seen; the next recovery asks again.
  if (answer.code() == Code::kRetry) co_return Status();
  if (!answer.ok()) co_return answer.status();
  Result<std::optional<OwnerRegister>> read =
      decode_owner(options_.place, options_.job_id, (*answer)[1]);
  if (!read.ok()) co_return read.status();
  if (!read->has_value())
    co_return Status();  // Nobody at all; whether a register was lost, the next read() judges.
  const Uuid owner = (*read)->claim;
  if (owner == seen_owner_ || owner == claim_ ||
      std::find(mine_.begin(), mine_.end(), owner) != mine_.end())
    co_return Status();
  co_return Status(Code::kFenced, fmt::format("another instance owns job {}: claim {} is in the "
                                              "registers, ours was {} (transactional id {})",
                                              options_.job_id, owner.to_string(),
                                              claim_.nil() ? "none yet" : claim_.to_string(),
                                              options_.transactional_id));
}

asio::awaitable<Status> TransactionDecider::reset() {
  const io::Monotonic deadline = cluster_->in(options_.recovery_max);
  recovery_deadline_ = deadline;
  Status step = co_await ensure_topic(deadline);
  if (!step.ok()) co_return step;
  step = co_await init(deadline);
  if (!step.ok())
    co_return gone(step, "initialising transactional id " + options_.transactional_id);
  const Uuid uuid = Uuid::make();
  known_ = Epoch(0);
  step = co_await write_claim(uuid, Why::kReset, deadline);
  if (!step.ok()) co_return step;
  Result<Registers> confirmed = co_await confirm(uuid, deadline);
  if (!confirmed.ok()) co_return gone(confirmed.status(), "reading the registers behind the reset");
  read_ = true;
  initialised_ = !producer_->tainted();
  log().warn("the decision of job {} was reset, as asked for", options_.job_id);
  co_return Status();
}

}  // namespace sluice::kafka
