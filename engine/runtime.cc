#include <sluice/engine/runtime.h>

#include <atomic>
#include <map>
#include <string>
#include <utility>

#include <boost/asio/post.hpp>

#include <sluice/engine/internal/alarm.h>
#include <sluice/engine/internal/caught.h>
#include <sluice/engine/internal/graph.h>
#include <sluice/io/base/log.h>
#include <sluice/io/scope.h>

namespace sluice {
namespace {

using internal::Holder;
using internal::ShardBuild;
using internal::Stage;

/// What lives on one shard; made, used and destroyed there.
struct ShardPart {
  explicit ShardPart(ShardBuild what) : build(std::move(what)), scope(build.context.executor) {}
  [[nodiscard]] std::vector<std::unique_ptr<Stage>>& stages() noexcept { return build.stages; }
  ShardBuild build;
  io::Scope scope;
};

}  // namespace

// A stage that has not been opened is closed too: readers and writers are made before they are opened.
struct Runtime::Impl : std::enable_shared_from_this<Runtime::Impl> {
  Impl(const Job& the_job, Attempt& the_attempt)
      : job(the_job), attempt(the_attempt), control(the_attempt.shards().control().executor()), changed(control),
        barrier_moved(control) {}

  const Job& job;
  Attempt& attempt;
  io::Executor control;
  std::vector<std::unique_ptr<ShardPart>> parts;  // Each is touched on its own shard only.
  CheckpointData restored;
  std::vector<SplitPosition> starts;
  internal::Inboxes inboxes;  // While it opens; one shard at a time.
  std::shared_ptr<std::atomic<std::uint64_t>> activity = std::make_shared<std::atomic<std::uint64_t>>(0);
  std::shared_ptr<WatermarkBoard> watermarks = std::make_shared<WatermarkBoard>();

  // The control thread's:
  io::Event changed, barrier_moved;
  Status failure;
  std::size_t stages_total = 0;
  std::size_t sources_total = 0;
  std::size_t sources_ended = 0;
  std::optional<Epoch> barrier_epoch;
  std::size_t barrier_acknowledged = 0;
  CheckpointData barrier_data;
  bool closed = true;

  void fail(Status status) {
    if (failure.ok()) failure = std::move(status);
    changed.set();
    barrier_moved.set();
  }
  /// Runs `work(part)` on every shard, without waiting.
  template <class Work>
  void post_all(Work work) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      auto self = shared_from_this();
      asio::post(attempt.shards().shard(ShardId(static_cast<std::uint16_t>(i))).executor(),
                 [self, i, work] { if (self->parts[i]) work(*self->parts[i]); });
    }
  }

  ShardBuild make_build(ShardId shard) {
    ShardBuild build;
    build.attempt = &attempt;
    build.context = Context{{}, shard, attempt.shards().count(), &attempt.metrics(), &attempt.clock(),
                            attempt.shards().shard(shard).executor(), KeyGroups(job.options.key_groups)};
    build.inboxes = &inboxes;
    build.restored = &restored;
    build.starts = &starts;
    const std::size_t sinks = std::max<std::size_t>(1, job.graph().sinks().size());
    build.hold_bytes_max = std::max<std::size_t>(1, job.options.hold_bytes_max / sinks / attempt.shards().count());
    build.activity = activity;
    build.watermarks = watermarks;
    auto self = shared_from_this();
    build.acknowledge = [self](Epoch epoch, CheckpointData data) {
      auto shared = std::make_shared<CheckpointData>(std::move(data));
      asio::post(self->control, [self, epoch, shared] {
        if (self->barrier_epoch != epoch) return;  // Of an attempt to take a checkpoint that was given up.
        ++self->barrier_acknowledged;
        self->barrier_data.merge(std::move(*shared));
        self->barrier_moved.set();
      });
    };
    build.input_ended = [self] {
      asio::post(self->control, [self] {
        ++self->sources_ended;
        self->changed.set();
      });
    };
    return build;
  }

  asio::awaitable<Status> make_part(ShardId shard) {
    auto part = std::make_unique<ShardPart>(make_build(shard));
    ShardPart& here = *part;
    parts[shard.value()] = std::move(part);
    job.graph().build_inboxes(here.build);
    co_return Status();
  }
  /// User code runs while a shard opens (factories, codecs): what it throws must not pass close().
  asio::awaitable<Status> open_shard(ShardId shard) {
    std::string where = fmt::format("opening the operators of shard {}", shard);
    Status opened = co_await internal::caught(build_and_open(shard), std::move(where));
    co_return opened;
  }
  asio::awaitable<Status> build_and_open(ShardId shard) {
    ShardPart& here = *parts[shard.value()];
    job.graph().build(here.build);
    for (std::size_t i = 0; i < here.stages().size(); ++i) {
      Status opened = co_await here.stages()[i]->open();
      if (!opened.ok()) co_return opened;
    }
    co_return Status();
  }

  static asio::awaitable<Status> run_stage(std::shared_ptr<Impl> self, Stage* stage) {
    std::string where = "stage " + stage->id();
    Status ended = co_await internal::caught(stage->run(), std::move(where));
    if (!ended.ok() && ended.code() != Code::kCancelled) {
      auto shared = std::make_shared<Status>(ended);
      asio::post(self->control, [self, shared] { self->fail(std::move(*shared)); });
    }
    co_return ended;
  }

  /// Its own step for all shards: a stage that still runs rings the doorbells of those that it feeds on other shards.
  asio::awaitable<Status> join_shard(ShardId shard) {
    auto& part = parts[shard.value()];
    if (!part) co_return Status();
    part->scope.stop();
    Status joined = co_await part->scope.join();
    co_return joined;
  }
  asio::awaitable<Status> close_shard(ShardId shard) {
    auto& part = parts[shard.value()];
    if (!part) co_return Status();
    Status first;
    for (std::size_t i = 0; i < part->stages().size(); ++i) {
      // Posted before the stop: what a decision completed is told to all.
      try {
        part->stages()[i]->deliver_notices();
      } catch (const std::exception& error) {
        log().warn("stage {}: threw at the notice of a checkpoint: {}", part->stages()[i]->id(), error.what());
      }
      Status closed_stage = co_await part->stages()[i]->close();
      if (first.ok()) first = std::move(closed_stage);
    }
    part.reset();
    co_return first;
  }
};

Runtime::Runtime(const Job& job, Attempt& attempt) : impl_(std::make_shared<Impl>(job, attempt)) {}

Runtime::~Runtime() { SLUICE_ASSERT(impl_->closed); }

asio::awaitable<Status> Runtime::open(CheckpointData restored, std::vector<SplitPosition> starts) {
  Impl& me = *impl_;
  me.closed = false;
  me.restored = std::move(restored);
  me.starts = std::move(starts);
  me.parts.resize(me.attempt.shards().count());
  for (std::uint16_t i = 0; i < me.attempt.shards().count(); ++i) {
    auto self = impl_;
    auto work = [self, i]() { return self->make_part(ShardId(i)); };
    Status made = co_await io::run_on(me.attempt.shards().shard(ShardId(i)).executor(), std::move(work));
    if (!made.ok()) co_return made;
  }
  for (std::uint16_t i = 0; i < me.attempt.shards().count(); ++i) {
    auto self = impl_;
    auto work = [self, i]() { return self->open_shard(ShardId(i)); };
    Status opened = co_await io::run_on(me.attempt.shards().shard(ShardId(i)).executor(), std::move(work));
    if (!opened.ok()) co_return opened;
    me.stages_total += me.parts[i]->stages().size();
  }
  me.inboxes.clear();
  me.restored = {};  // Every operator has taken what is its own.
  me.starts = {};
  me.sources_total = me.job.graph().sources().size() * me.attempt.shards().count();
  co_return Status();
}

void Runtime::run() {
  auto self = impl_;
  impl_->post_all([self](ShardPart& part) {
    for (auto& stage : part.stages()) part.scope.spawn(Impl::run_stage(self, stage.get()));
  });
}

asio::awaitable<Result<CheckpointData>> Runtime::barrier(Epoch epoch, io::Monotonic deadline) {
  Impl& me = *impl_;
  me.barrier_epoch = epoch;
  me.barrier_acknowledged = 0;
  me.barrier_data = {};
  me.post_all([epoch](ShardPart& part) {
    for (auto& stage : part.stages()) stage->request_barrier(epoch);
  });
  while (me.barrier_acknowledged < me.stages_total && me.failure.ok()) {
    if (me.attempt.clock().now() >= deadline) {
      // Half of the stages are behind the barrier, the others are not: the epoch cannot merge into the next.
      co_return Status(Code::kRecover, "checkpoint", epoch,
                       "timed out before its barrier had reached every operator: raise checkpoint.timeout (and the "
                       "transaction_timeout of the sinks, where that is shorter), or find what "
                       "holds the barrier back (a slow operator or sink)");
    }
    Status waited = co_await internal::wait_until(me.control, me.barrier_moved, me.attempt.clock(), deadline);
    if (!waited.ok()) co_return waited;
  }
  me.barrier_epoch.reset();
  if (!me.failure.ok()) co_return me.failure;
  co_return std::move(me.barrier_data);
}

void Runtime::release() {
  impl_->post_all([](ShardPart& part) {
    for (Holder* holder : part.build.holders) holder->request_release();
    for (auto& stage : part.stages()) stage->ring();
  });
}

void Runtime::notify(Epoch epoch, bool complete) {
  impl_->post_all([epoch, complete](ShardPart& part) {
    for (auto& stage : part.stages()) stage->request_notify(epoch, complete);
  });
}

void Runtime::stop_sources() {
  impl_->post_all([](ShardPart& part) {
    for (auto& stage : part.stages()) stage->request_stop();
  });
}

void Runtime::add_split(const SplitPosition& start) {
  const ShardId owner = split_owner(start.split, impl_->attempt.shards().count());
  auto self = impl_;
  asio::post(impl_->attempt.shards().shard(owner).executor(), [self, owner, start] {
    auto& part = self->parts[owner.value()];
    if (!part) return;
    for (auto& stage : part->stages()) {
      if (stage->id() == start.source) stage->add_split(start);
    }
  });
}

bool Runtime::input_ended() const noexcept {
  return impl_->sources_total > 0 && impl_->sources_ended == impl_->sources_total;
}
std::uint64_t Runtime::activity() const noexcept { return impl_->activity->load(std::memory_order_relaxed); }
const Status& Runtime::failure() const noexcept { return impl_->failure; }
io::Event& Runtime::changed() noexcept { return impl_->changed; }
const std::shared_ptr<WatermarkBoard>& Runtime::watermarks() const noexcept { return impl_->watermarks; }

asio::awaitable<Status> Runtime::close() {
  Impl& me = *impl_;
  Status first;
  // All are stopped before the first is waited for: a stage may wait for a lane of another shard.
  me.post_all([](ShardPart& part) { part.scope.stop(); });
  for (std::uint16_t i = 0; i < me.parts.size(); ++i) {
    auto self = impl_;
    auto work = [self, i]() { return self->join_shard(ShardId(i)); };
    Status joined = co_await io::run_on(me.attempt.shards().shard(ShardId(i)).executor(), std::move(work));
    // What a stage failed with, it has told by itself: failure().
    if (!joined.ok()) log().debug("shard {} ended: {}", i, joined.to_string());
  }
  for (std::uint16_t i = 0; i < me.parts.size(); ++i) {
    auto self = impl_;
    auto work = [self, i]() { return self->close_shard(ShardId(i)); };
    Status closed_shard = co_await io::run_on(me.attempt.shards().shard(ShardId(i)).executor(), std::move(work));
    if (first.ok()) first = std::move(closed_shard);
  }
  me.closed = true;
  if (me.failure.ok()) co_return first;
  co_return Status();
}

}  // namespace sluice
