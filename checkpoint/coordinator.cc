#include <sluice/checkpoint/coordinator.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>

#include <sluice/checkpoint/local_decider.h>
#include <sluice/checkpoint/restart.h>
#include <sluice/engine/internal/alarm.h>
#include <sluice/engine/internal/caught.h>
#include <sluice/io/base/kill_point.h>
#include <sluice/io/base/log.h>
#include <sluice/io/scope.h>

namespace sluice::checkpoint {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// The partition of a position that only says that its source has started.
constexpr std::int32_t kNoSplits = -1;

std::int64_t ms(nanoseconds duration) { return duration_cast<milliseconds>(duration).count(); }

}  // namespace

struct Coordinator::Impl {
  Impl(Job& the_job, io::Shards& the_shards, io::Clock& the_clock, Metrics& the_metrics)
      : job(the_job),
        shards(the_shards),
        clock(the_clock),
        metrics(the_metrics),
        executor(the_shards.control().executor()),
        random(Random::seed_from_system()),
        restarts(the_job.options.restart, the_clock, random),
        wake(executor),
        restarts_total(the_metrics.counter("sluice_restarts_total")),
        completed_total(the_metrics.counter("sluice_checkpoints_completed_total")),
        failed_total(the_metrics.counter("sluice_checkpoints_failed_total")),
        merged_total(the_metrics.counter("sluice_merged_epochs_total")),
        skipped_total(the_metrics.counter("sluice_checkpoints_skipped_total")) {}

  Job& job;
  io::Shards& shards;
  io::Clock& clock;
  Metrics& metrics;
  io::Executor executor;
  Random random;
  Restarts restarts;
  io::Event wake;  // A stop was asked for.
  std::shared_ptr<Counter> restarts_total, completed_total, failed_total, merged_total, skipped_total;
  std::unique_ptr<Store> store;
  std::atomic<JobState> state{JobState::kStarting};
  std::atomic<bool> stop_requested{false};
  bool reset_done = false;
  bool ran = false;  // An attempt got as far as to let records flow.
  Status last_failure;  // Of the last attempt that ended with one.
  std::uint32_t fenced_in_a_row = 0;  // Attempts, without a decision of one's own in between.
  Runtime* running = nullptr;       // To be told that a stop was asked for.
  mutable std::mutex board_mutex;
  std::shared_ptr<const WatermarkBoard> board;  // Of the last attempt that was open; whoever asks may be on any thread.
  io::Scope* recovering = nullptr;  // To be cancelled by it: nothing has been promised yet.

  /// One attempt and what it opened, in the order in which it must be closed.
  struct Run {
    explicit Run(Impl& me)
        : attempt(me.job.name(), me.job.name(), me.shards, me.clock, me.metrics), runtime(me.job, attempt) {
      // Between two decisions, and so the least that a transaction has to stay open.
      attempt.checkpoint_interval = std::max(me.job.options.checkpoint.interval, me.job.options.checkpoint.min_pause);
    }
    Attempt attempt;
    Runtime runtime;
    std::shared_ptr<Decider> decider;
    bool claimed = false;
    Decision decided;             // The job's past.
    bool decided_here = false;    // By this attempt.
    Epoch epoch{1};               // Open now.
    io::Monotonic opened;         // Since when its transaction is open.
    io::Monotonic last_decided;
    std::uint32_t failures = 0;   // Checkpoints in a row that failed.
    std::uint64_t activity = 0;   // What the runtime said at the last barrier.
    std::vector<PreparedOutput> carried;  // Of epochs that merged into this one: finished with its decision.
    bool released = true;         // Sinks may hand over; otherwise they hold since the last barrier.
    bool flowed = false;          // It got as far as to let records flow.
    bool fenced = false;          // Its producer epoch was refused: another instance, or a timeout.
  };

  /// A look for new splits: beside the checkpoints, as a broker may take its time to answer.
  struct Discovery {
    internal::SourceNodeBase* source = nullptr;
    io::Monotonic next;
    bool running = false;
    std::vector<SplitPosition> found;
    Status failure;
  };

  asio::awaitable<Status> run();
  asio::awaitable<Status> attempts();
  asio::awaitable<Status> attempt(Run& run);
  asio::awaitable<Status> recover(Run& run, CheckpointData& data, std::vector<SplitPosition>& starts);
  asio::awaitable<Status> restore(Run& run, CheckpointData& data);
  asio::awaitable<Status> not_here(Run& run, Decision before);
  asio::awaitable<Status> work(Run& run);
  asio::awaitable<Status> checkpoints(Run& run, io::Scope& beside, std::vector<Discovery>& discoveries);
  asio::awaitable<Status> discover(Run& run, Discovery& discovery);
  Status take_found(Run& run, Discovery& discovery);
  asio::awaitable<Status> checkpoint(Run& run, bool last);
  asio::awaitable<Status> make_durable(Run& run, Decision& next, CheckpointData& data, Status& written);
  asio::awaitable<Status> failed_checkpoint(Run& run, Status why);
  asio::awaitable<Status> complete(Run& run, CheckpointData data, bool last);
  asio::awaitable<Status> commit_sinks(Run& run, const CheckpointData& data);
  asio::awaitable<Status> close(Run& run, Status ended);
  asio::awaitable<Status> delivered(Run& run);
  asio::awaitable<Status> sinks_delivered(Run& run);
  Status check_state_ids(const CheckpointData& data) const;
};

// ---- the job's life ----

/// The attempts run as a child, so that a stop can cancel a recovery that waits for a broker.
asio::awaitable<Status> Coordinator::Impl::run() {
  io::Scope scope(executor);
  recovering = &scope;
  if (stop_requested) scope.stop();
  scope.spawn(attempts());
  Status ended = co_await scope.join();
  recovering = nullptr;
  store.reset();  // And with it the directory's lock: whoever waited for the end may start the next one.
  // A cancelled child is no failure of the scope; nor is it one of the job: nothing was read that is not decided.
  co_return ended;
}

asio::awaitable<Status> Coordinator::Impl::attempts() {
  Status checked = job.check();
  if (!checked.ok()) co_return checked;
  auto directory = job.options.checkpoint.directory;
  if (directory.empty()) directory = std::filesystem::path("state") / job.name();
  // Step 1 of the recovery: for people, not for safety (see the protocol).
  Result<std::unique_ptr<Store>> opened = co_await Store::open(shards.control().files(), directory, job.name());
  if (!opened.ok()) co_return opened.status();
  store = *std::move(opened);
  kill_point("recovery.locked");
  for (;;) {
    auto one = std::make_unique<Run>(*this);
    Status ended = co_await internal::caught(attempt(*one), "the job's control");
    running = nullptr;
    // Shielded: whatever ended the attempt, its threads and handles are taken down in order.
    ended = co_await io::shield(close(*one, std::move(ended)));
    const bool progress = one->decided_here;
    const bool flowed = one->flowed;
    if (progress) fenced_in_a_row = 0;
    if (one->fenced) ++fenced_in_a_row;
    one.reset();
    if (ran && ended.exit_status() == ExitStatus::kUnavailable) {
      // At the start a broker that nobody reaches is somebody's mistake; later it is an outage, and those end.
      ended = ended.as(Code::kRecover);
    }
    if (stop_requested && ended.code() == Code::kCancelled && !last_failure.ok()) {
      state = JobState::kFailed;
      co_return last_failure.with("(stopped while recovering from it)");
    }
    switch (ended.code()) {
      case Code::kOk:
        state = JobState::kDone;
        co_return ended;
      case Code::kRetry:
      case Code::kUnknownOutcome:
      case Code::kRecover:
        break;
      default:
        state = JobState::kFailed;
        co_return ended;
    }
    if (stop_requested && flowed) {
      state = JobState::kFailed;
      co_return ended.with("(while draining: nothing is lost, what follows the last decided checkpoint is done again by the "
                           "next start)");
    }
    last_failure = ended;
    if (fenced_in_a_row > 1) {
      // Two instances that always try again could fence each other for ever. Whoever restarts the process tries again later,
      // and not in step with the other.
      Status slept = co_await internal::wait_until(
          executor, wake, clock, clock.now() + milliseconds(static_cast<std::int64_t>(random.below(3'000))));
      if (!slept.ok()) log().debug("job {}: stopped in the pause behind a second fencing", job.name());
      state = JobState::kFailed;
      co_return ended.with("(fenced twice and nothing decided in between: another instance of the job may be starting, or a "
                           "transaction timeout is too short)");
    }
    state = JobState::kRestarting;
    const auto wait = restarts.next(progress);
    if (!wait) {
      state = JobState::kFailed;
      co_return ended.with("(the restart strategy gives up after", restarts.failures(), "failures)");
    }
    restarts_total->add(1);
    log().warn("job {}: attempt failed, next one in {} ms: {}", job.name(), ms(*wait), ended.to_string());
    Status slept = co_await internal::wait_until(executor, wake, clock, clock.now() + *wait);
    if (stop_requested) {
      state = JobState::kFailed;
      co_return ended.with("(stopped before another attempt)");
    }
    if (!slept.ok()) co_return slept;
  }
}

asio::awaitable<Status> Coordinator::Impl::attempt(Run& run) {
  state = JobState::kRestoring;
  const io::Monotonic started = clock.now();
  CheckpointData data;
  std::vector<SplitPosition> starts;
  Status recovered = co_await recover(run, data, starts);
  if (!recovered.ok()) co_return recovered;
  Status opened = co_await run.runtime.open(std::move(data), std::move(starts));
  if (!opened.ok()) co_return opened;
  {
    const std::lock_guard lock(board_mutex);
    board = run.runtime.watermarks();
  }
  run.epoch = run.decided.epoch.next();
  Status begun = co_await run.decider->begin(run.epoch);
  if (!begun.ok()) co_return begun;
  // Whoever asked meanwhile is told that the job ended before it began: nothing has flowed, nothing is owed.
  if (stop_requested) co_return Status(Code::kCancelled, "stopped before the job ran");
  run.opened = run.last_decided = clock.now();
  log().info("job {}: running from checkpoint {} (claim {}), restored in {} ms", job.name(), run.decided.epoch,
             run.decider->claim_id().to_string().substr(0, 8), ms(clock.now() - started));
  state = JobState::kRunning;
  ran = run.flowed = true;
  running = &run.runtime;
  run.runtime.run();
  Status worked = co_await work(run);
  co_return worked;
}

// ---- recovery ----

asio::awaitable<Status> Coordinator::Impl::recover(Run& run, CheckpointData& data, std::vector<SplitPosition>& starts) {
  // Whatever can be wrong is found before anybody is fenced.
  for (internal::SourceNodeBase* source : job.graph().sources()) {
    Status checked = co_await source->check(run.attempt);
    if (!checked.ok()) co_return checked;
  }
  for (internal::SinkNodeBase* sink : job.graph().sinks()) {
    Status checked = co_await sink->check(run.attempt);
    if (!checked.ok()) co_return checked;
  }
  if (run.attempt.several_deciders()) {
    co_return Status(Code::kInvalid, "exactly-once sinks on several Kafka clusters in one job are not supported: write to one "
                                     "cluster, or give the others delivery at_least_once");
  }
  run.decider = run.attempt.decider();
  if (!run.decider) run.decider = std::make_shared<LocalDecider>(shards.control().files(), store->directory(), job.name());

  if (job.options.reset_decision && !reset_done) {
    Status reset = co_await run.decider->reset();
    if (!reset.ok()) co_return reset;
    reset_done = true;
    log().warn("job {}: the decision was reset, starting from nothing", job.name());
  }
  Result<Decision> before = co_await run.decider->read();
  if (!before.ok()) co_return before.status();
  if (before->epoch.value() == 0 && before->writer.nil() && store->any()) {
    // A claim writes decision 0 before the first checkpoint is written, so this one was lost, not never made.
    co_return Status(Code::kCorrupt, fmt::format("\"{}\" holds checkpoints, but job \"{}\" has no decision: it was deleted or has expired, "
                                                 "or this is another cluster. Start from nothing with --reset-decision, or "
                                                 "with an empty state directory",
                                                 store->directory().string(), job.name()));
  }
  if (before->epoch.value() > 0 && !before->positions_only && !store->has(*before)) {
    Status missing = co_await not_here(run, *before);
    co_return missing;
  }
  Result<Decision> claimed = co_await run.decider->claim();
  if (!claimed.ok()) co_return claimed.status();
  run.claimed = true;
  run.decided = *std::move(claimed);
  Status restored = co_await restore(run, data);
  if (!restored.ok()) {
    // Step 5: perhaps the answer was overtaken. Claim and read once more; unchanged means it is as bad as it looks.
    Result<Decision> again = co_await run.decider->claim();
    if (!again.ok()) co_return again.status();
    if (again->epoch == run.decided.epoch && again->writer == run.decided.writer) co_return restored;
    run.decided = *std::move(again);
    restored = co_await restore(run, data);
    if (!restored.ok()) co_return restored;
  }
  for (internal::SourceNodeBase* source : job.graph().sources()) {
    internal::SourceNodeBase::Positions mine;
    for (const SplitPosition& position : data.positions) {
      if (position.source != source->id()) continue;
      if (!mine) mine.emplace();
      if (position.split.partition != kNoSplits) mine->push_back(position);
    }
    Result<std::vector<SplitPosition>> from = co_await source->start(run.attempt, std::move(mine));
    if (!from.ok()) co_return from.status();
    starts.insert(starts.end(), from->begin(), from->end());
  }
  for (internal::SinkNodeBase* sink : job.graph().sinks()) {
    Status started = co_await sink->start(run.attempt);
    if (!started.ok()) co_return started;
    std::vector<PreparedOutput> mine;
    for (const PreparedOutput& prepared : data.prepared) {
      if (prepared.sink == sink->id()) mine.push_back(prepared);
    }
    Status recovered = co_await sink->recover(run.decided.epoch, std::move(mine));
    if (!recovered.ok()) co_return recovered;
  }
  kill_point("recovery.restored");
  co_return Status();
}

asio::awaitable<Status> Coordinator::Impl::restore(Run& run, CheckpointData& data) {
  data = {};
#ifdef SLUICE_SABOTAGE_NEWEST_SNAPSHOT
  // A build that does it wrong, for tests/kill to catch: takes what is newest on disk.
  Result<std::vector<Store::Entry>> entries = co_await Store::list(shards.control().files(), store->directory());
  if (entries.ok()) {
    for (const Store::Entry& entry : *entries) {
      if (!entry.complete || entry.name.epoch < run.decided.epoch) continue;
      run.decided.epoch = entry.name.epoch;
      run.decided.writer = entry.name.writer;
      run.decided.digest = entry.digest;
    }
  }
#endif
  const Decision& decided = run.decided;
  if (decided.epoch.value() == 0) co_return Status();
  if (decided.positions_only) {
    data.positions = decided.positions;
  } else {
    Result<CheckpointData> read = co_await store->read(decided);
    if (!read.ok()) co_return read.status();
    data = *std::move(read);
  }
  co_return check_state_ids(data);
}

/// The decided checkpoint is not in this directory, and nobody has been fenced yet. Somebody who decides while we look
/// is another instance that works with another directory: it keeps the job.
asio::awaitable<Status> Coordinator::Impl::not_here(Run& run, Decision before) {
  const nanoseconds look = std::max<nanoseconds>(std::chrono::seconds(3), 3 * job.options.checkpoint.interval);
  const io::Monotonic until = clock.now() + std::min<nanoseconds>(look, std::chrono::seconds(20));
  while (clock.now() < until) {
    Status slept = co_await clock.sleep(milliseconds(200));
    if (!slept.ok()) co_return slept;
    Result<Decision> now = co_await run.decider->read();
    if (!now.ok()) co_return now.status();
    if (now->epoch != before.epoch || now->writer != before.writer) {
      co_return Status(Code::kFenced, fmt::format("another instance of job \"{}\" is running and decided checkpoint {} while this "
                                                  "one started; its checkpoints are not in \"{}\". This one stops and has "
                                                  "fenced nobody; start it with the state directory of the other to take over",
                                                  job.name(), now->epoch, store->directory().string()));
    }
  }
  co_return Status(Code::kCorrupt, fmt::format("checkpoint {} of job \"{}\" is decided, but \"{}\" does not hold it (written by "
                                               "claim {}): start with the state directory that holds it, or give the state up "
                                               "with --reset-decision",
                                               before.epoch, job.name(), store->directory().string(), before.writer.to_string()));
}

Status Coordinator::Impl::check_state_ids(const CheckpointData& data) const {
  std::set<std::string> known;
  for (const auto& node : job.graph().nodes()) known.insert(node->id());
  for (const SplitPosition& position : data.positions) {
    if (known.contains(position.source)) continue;
    return Status(Code::kCorrupt, fmt::format("the checkpoint holds positions of source \"{}\", which the pipeline does not have: "
                                              "give the source its old name back (sources that have none are numbered in the "
                                              "order in which they are made), or start from nothing with --reset-decision",
                                              position.source));
  }
  for (const StateSnapshot& snapshot : data.states) {
    if (known.contains(snapshot.operator_id)) continue;
    return Status(Code::kCorrupt, fmt::format("the checkpoint holds state \"{}\" of operator \"{}\", which the pipeline does not "
                                              "have: give the operator its old name back, or start from nothing with "
                                              "--reset-decision",
                                              snapshot.state, snapshot.operator_id));
  }
  return {};
}

// ---- normal run ----

asio::awaitable<Status> Coordinator::Impl::work(Run& run) {
  std::vector<Discovery> discoveries;
  for (internal::SourceNodeBase* source : job.graph().sources()) {
    if (source->discovery_interval().count() == 0) continue;
    Discovery& discovery = discoveries.emplace_back();
    discovery.source = source;
    discovery.next = clock.now() + source->discovery_interval();
  }
  io::Scope beside(executor);
  Status ended = co_await internal::caught(checkpoints(run, beside, discoveries), "the job's control");
  beside.stop();
  Status joined = co_await beside.join();
  co_return ended.ok() ? joined : ended;
}

asio::awaitable<Status> Coordinator::Impl::discover(Run& run, Discovery& discovery) {
  std::string where = "source " + discovery.source->id();
  Result<std::vector<SplitPosition>> found =
      co_await internal::caught(discovery.source->discover(run.attempt), std::move(where));
  if (found.ok()) {
    discovery.found = *std::move(found);
  } else {
    discovery.failure = found.status();
  }
  discovery.next = clock.now() + discovery.source->discovery_interval();
  discovery.running = false;
  run.runtime.changed().set();
  co_return Status();
}

/// Hands the readers what was found; between checkpoints, so that nobody has to think of a split that appears within one.
Status Coordinator::Impl::take_found(Run& run, Discovery& discovery) {
  const std::string& id = discovery.source->id();
  for (const SplitPosition& split : std::exchange(discovery.found, {})) {
    log().info("job {}: source {}: new split {} {}", job.name(), id, split.split.name, split.split.partition);
    run.runtime.add_split(split);
  }
  const Status failure = std::exchange(discovery.failure, {});
  if (failure.code() == Code::kCorrupt || failure.code() == Code::kRecover) return failure;
  if (!failure.ok() && failure.code() != Code::kCancelled) {
    log().warn("job {}: source {}: could not look for new partitions: {}", job.name(), id, failure.to_string());
  }
  return {};
}

asio::awaitable<Status> Coordinator::Impl::checkpoints(Run& run, io::Scope& beside, std::vector<Discovery>& discoveries) {
  const CheckpointOptions& options = job.options.checkpoint;
  io::Monotonic next = clock.now() + options.interval;
  // The first positions of a new job are decided at once: "latest" must be a number before anything can crash.
  if (run.decided.epoch.value() == 0) next = clock.now();
  bool stopped = false;
  // An open transaction must not be left alone for longer than it lives.
  const nanoseconds idle_max = std::min(job.options.idle_skip_max, run.decider->open_max().value_or(nanoseconds::max()));
  for (;;) {
    if (!run.runtime.failure().ok()) co_return run.runtime.failure();
    const bool stopping = stop_requested;
    const bool last = stopping || run.runtime.input_ended();
    if (stopping && !stopped) {
      state = JobState::kDraining;
      run.runtime.stop_sources();
      stopped = true;
    }
    const io::Monotonic now = clock.now();
    // Before a checkpoint that is due: where they follow each other without a pause, nothing else would look.
    io::Monotonic look_at = io::Monotonic::max();
    for (Discovery& discovery : discoveries) {
      if (discovery.running) continue;  // It rings when it is done.
      Status taken = take_found(run, discovery);
      if (!taken.ok()) co_return taken;
      if (now >= discovery.next) {
        discovery.running = true;
        beside.spawn(discover(run, discovery));
      } else {
        look_at = std::min(look_at, discovery.next);
      }
    }
    if (last || now >= next) {
      const std::uint64_t activity = run.runtime.activity();
      const bool idle = activity == run.activity && run.released && now - run.last_decided < idle_max &&
                        run.decided.epoch.value() > 0;
      if (!last && idle) {
        skipped_total->add(1);
        next = now + options.interval;
        continue;
      }
      run.activity = activity;
      Status taken = co_await checkpoint(run, last);
      if (!taken.ok()) co_return taken;
      // A failed last checkpoint was merged into the next epoch: try again, the restart strategy is not concerned.
      if (last && run.decided_here && run.decided.epoch.next() == run.epoch && run.failures == 0) co_return Status();
      next = std::max(now + options.interval, clock.now() + options.min_pause);
      continue;
    }
    Status waited = co_await internal::wait_until(executor, run.runtime.changed(), clock, std::min(next, look_at));
    if (!waited.ok()) co_return waited;
  }
}

/// Steps 2 to 9 for the open epoch. ok also when the checkpoint failed and its epoch merged into the next one.
asio::awaitable<Status> Coordinator::Impl::checkpoint(Run& run, bool last) {
  const io::Monotonic started = clock.now();
  // Step 2: the barrier passes, sinks hold what follows it.
  run.released = false;
  io::Monotonic deadline = started + job.options.checkpoint.timeout;
  // A barrier that arrives after the transaction has timed out is of no use to anybody.
  if (const auto open_max = run.decider->open_max()) deadline = std::min(deadline, run.opened + 2 * *open_max);
  Result<CheckpointData> passed = co_await run.runtime.barrier(run.epoch, deadline);
  if (!passed.ok()) co_return passed.status();
  kill_point("barrier.acknowledged");
  CheckpointData data = *std::move(passed);
  data.prepared.insert(data.prepared.begin(), run.carried.begin(), run.carried.end());
  for (const internal::SourceNodeBase* source : job.graph().sources()) {
    const auto of_source = [&](const SplitPosition& position) { return position.source == source->id(); };
    // That it has started is remembered even if it had nothing to read: whatever appears later is younger than the checkpoint.
    if (std::none_of(data.positions.begin(), data.positions.end(), of_source)) data.positions.push_back({source->id(), {"", kNoSplits}, Offset(0)});
  }
  Decision next;
  next.epoch = run.epoch;
  next.writer = run.decider->claim_id();
  next.positions_only = data.positions_only() && run.decider->carries(data.positions);
  if (next.positions_only) next.positions = data.positions;
#ifdef SLUICE_SABOTAGE_COMMIT_FIRST
  // A build that does it wrong, for tests/kill to catch: decides before the checkpoint is durable.
  Status too_early = co_await run.decider->decide(next, data.positions);
  if (!too_early.ok()) co_return too_early;
#endif
  // Steps 3 and 4, side by side.
  Status written;
  Status reported = co_await make_durable(run, next, data, written);
  if (!reported.ok()) co_return reported;
  if (!written.ok()) {
    if (written.code() == Code::kCancelled) co_return written;
    run.carried = std::move(data.prepared);
    Status merged = co_await failed_checkpoint(run, std::move(written));
    co_return merged;
  }
  // Steps 5 and 6.
#ifndef SLUICE_SABOTAGE_COMMIT_FIRST
  std::vector<SplitPosition> positions = data.positions;
  Status decided = co_await run.decider->decide(next, std::move(positions));
  if (decided.code() == Code::kExhausted) {
    // No space for the decision itself, so for certain not decided.
    run.carried = std::move(data.prepared);
    Status merged = co_await failed_checkpoint(run, std::move(decided));
    co_return merged;
  }
  if (!decided.ok()) co_return decided;
#endif
  run.decided = std::move(next);
  run.carried.clear();
  run.decided_here = true;
  run.failures = 0;
  run.last_decided = clock.now();
  completed_total->add(1);
  const nanoseconds took = run.last_decided - started;
  if (const auto open_max = run.decider->open_max(); open_max && took > *open_max) {
    log().warn("job {}: checkpoint {} took {} ms, more than half of the transaction timeout: raise transaction_timeout, or "
               "the next slower one will be aborted and done again",
               job.name(), run.decided.epoch, ms(took));
  }
  log().debug("job {}: checkpoint {} decided in {} us", job.name(), run.decided.epoch, took.count() / 1000);
  Status completed = co_await complete(run, std::move(data), last);
  co_return completed;
}

asio::awaitable<Status> Coordinator::Impl::delivered(Run& run) {
  Status reported = co_await run.decider->delivered();
  if (!reported.ok()) co_return reported;
  Status flushed = co_await sinks_delivered(run);
  co_return flushed;
}

asio::awaitable<Status> Coordinator::Impl::sinks_delivered(Run& run) {
  for (internal::SinkNodeBase* sink : job.graph().sinks()) {
    Status flushed = co_await sink->delivered(run.attempt);
    if (!flushed.ok()) co_return flushed;
  }
  co_return Status();
}

asio::awaitable<Status> Coordinator::Impl::make_durable(Run& run, Decision& next, CheckpointData& data, Status& written) {
  if (next.positions_only) {
    // Nothing to write. decide() waits for the decider's own deliveries behind its requests, which hides these.
    Status reported = co_await sinks_delivered(run);
    co_return reported;
  }
  io::Scope beside(executor);
  beside.spawn(delivered(run));
  Store::Lineage lineage{shards.count(), run.decided};
  Result<std::string> digest = co_await internal::caught(
      store->write(next.epoch, next.writer, data, std::move(lineage)), "writing the checkpoint");
  if (digest.ok()) {
    next.digest = *std::move(digest);
  } else {
    written = digest.status();
  }
  Status reported = co_await beside.join();
  co_return reported;
}

/// Nothing was decided: epoch N merges into N+1, held output enters the open transaction.
asio::awaitable<Status> Coordinator::Impl::failed_checkpoint(Run& run, Status why) {
  ++run.failures;
  failed_total->add(1);
  log().warn("job {}: checkpoint {} failed ({} in a row), its epoch merges into the next one: {}", job.name(), run.epoch,
             run.failures, why.to_string());
  run.runtime.notify(run.epoch, false);
  if (run.failures > job.options.checkpoint.tolerable_failures) {
    co_return why.as(Code::kRecover).with("(checkpoint failed", run.failures, "times in a row)");
  }
  if (const auto open_max = run.decider->open_max(); open_max && clock.now() - run.opened > *open_max) {
    co_return why.as(Code::kRecover).with("(the transaction has been open for more than half of its timeout)");
  }
  merged_total->add(1);
  ++run.epoch;
  run.runtime.release();
  run.released = false;  // Not idle: what merged waits for its decision.
  co_return Status();
}

/// Steps 7 to 9.
asio::awaitable<Status> Coordinator::Impl::complete(Run& run, CheckpointData data, bool last) {
  Status committed = co_await commit_sinks(run, data);
  if (!committed.ok()) co_return committed;
  run.runtime.notify(run.decided.epoch, true);
  kill_point("notify.sent");
  ++run.epoch;
  if (!last) {
    Status settled = co_await run.decider->settle(run.decided);
    if (!settled.ok()) co_return settled;
    Status begun = co_await run.decider->begin(run.epoch);
    if (!begun.ok()) co_return begun;
    run.opened = clock.now();
    run.runtime.release();
    run.released = true;
  }
  if (!run.decided.positions_only) {
    // Behind the release: nothing waits for deletions, and one that fails is tried again after the next decision.
    Status collected = co_await store->collect(run.decided, job.options.checkpoint.keep);
    if (collected.code() == Code::kCancelled) co_return collected;
    if (!collected.ok()) log().warn("job {}: could not delete old checkpoints: {}", job.name(), collected.to_string());
  }
  co_return Status();
}

asio::awaitable<Status> Coordinator::Impl::commit_sinks(Run& run, const CheckpointData& data) {
  for (internal::SinkNodeBase* sink : job.graph().sinks()) {
    std::vector<PreparedOutput> mine;
    for (const PreparedOutput& prepared : data.prepared) {
      if (prepared.sink == sink->id()) mine.push_back(prepared);
    }
    io::Backoff backoff({.first = milliseconds(10), .limit = std::chrono::seconds(5)}, clock, random);
    for (;;) {
      // Decided is decided: what was prepared is committed sooner or later, in order.
      Status committed = co_await sink->commit(run.decided.epoch, mine);
      if (committed.ok()) break;
      const bool hopeless = committed.code() == Code::kInvalid || committed.code() == Code::kCorrupt || committed.code() == Code::kFenced;
      if (hopeless || committed.code() == Code::kCancelled) co_return committed;
      if (stop_requested) {
        co_return committed.as(Code::kRecover).with("(checkpoint", run.decided.epoch, "is decided; the next start finishes this)");
      }
      log().warn("job {}: sink {}: commit of checkpoint {} failed, trying again: {}", job.name(), sink->id(), run.decided.epoch,
                 committed.to_string());
      Status waited = co_await backoff.wait();
      if (!waited.ok()) co_return waited;
    }
  }
  co_return Status();
}

// ---- end of an attempt ----

asio::awaitable<Status> Coordinator::Impl::close(Run& run, Status ended) {
  // Batches pin memory of the clients: the stages go first, then what they read from and wrote to.
  Status closed = co_await run.runtime.close();
  if (ended.ok()) ended = std::move(closed);
  const bool again = ended.code() == Code::kRecover || ended.code() == Code::kRetry || ended.code() == Code::kUnknownOutcome;
  if (again && run.claimed) {
    // A fatal error of the client proves nothing: a timeout and a second instance look alike. The owner register knows.
    Status owner = co_await run.decider->still_owner();
    if (owner.code() == Code::kFenced) ended = std::move(owner);
    run.fenced = run.decider->fenced();
  }
  for (internal::SourceNodeBase* source : job.graph().sources()) {
    Status source_closed = co_await source->close(run.attempt);
    if (!source_closed.ok()) log().debug("closing source {}: {}", source->id(), source_closed.to_string());
  }
  for (internal::SinkNodeBase* sink : job.graph().sinks()) {
    Status sink_closed = co_await sink->close(run.attempt);
    if (!sink_closed.ok()) log().debug("closing sink {}: {}", sink->id(), sink_closed.to_string());
  }
  if (run.decider) {
    Status decider_closed = co_await run.decider->close();
    if (!decider_closed.ok()) log().debug("closing the decider: {}", decider_closed.to_string());
  }
  run.decider.reset();
  run.attempt.forget();
  co_return ended;
}

Coordinator::Coordinator(Job& job, io::Shards& shards, io::Clock& clock, Metrics& metrics)
    : impl_(std::make_shared<Impl>(job, shards, clock, metrics)) {}
Coordinator::~Coordinator() = default;

asio::awaitable<Status> Coordinator::run() { return impl_->run(); }

void Coordinator::request_stop() {
  asio::post(impl_->executor, [impl = impl_] {
    impl->stop_requested = true;
    impl->wake.set();
    if (impl->running != nullptr) {
      impl->running->changed().set();
    } else if (impl->recovering != nullptr) {
      impl->recovering->stop();
    }
  });
}

JobState Coordinator::state() const noexcept { return impl_->state; }

std::vector<WatermarkStatus> Coordinator::watermarks() const {
  std::shared_ptr<const WatermarkBoard> board;
  {
    const std::lock_guard lock(impl_->board_mutex);
    board = impl_->board;
  }
  return board ? board->status() : std::vector<WatermarkStatus>{};
}

}  // namespace sluice::checkpoint
