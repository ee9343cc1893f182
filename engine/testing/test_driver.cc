#include <sluice/engine/testing/test_driver.h>

#include <utility>

#include <boost/asio/co_spawn.hpp>

#include <sluice/engine/internal/caught.h>
#include <sluice/engine/internal/graph.h>
#include <sluice/engine/runtime.h>
#include <sluice/io/base/log.h>

namespace sluice {
namespace {

/// In virtual time, when nothing else can happen.
constexpr std::chrono::minutes kBarrierTimeout{10};

}  // namespace

struct TestDriver::Impl {
  Impl(const Job& the_job, Options the_options, std::unique_ptr<io::Shards> the_shards)
      : job(the_job), options(the_options), clock(the_options.wall), shards(std::move(the_shards)),
        attempt(job.name(), job.name(), *shards, clock, metrics), runtime(job, attempt) {}

  Job job;
  const Options options;
  io::FakeClock clock;
  Metrics metrics;
  std::unique_ptr<io::Shards> shards;
  Attempt attempt;
  Runtime runtime;
  Epoch epoch{0};
  bool opened = false, closed = false;

  /// Runs the loops until `work` is through. Where nothing is ready time goes on: whoever waits for it is next.
  Status drive(asio::awaitable<Status> work) {
    auto ended = std::make_shared<std::optional<Status>>();
    asio::co_spawn(shards->control().executor(), internal::caught(std::move(work), "the test driver"),
                   [ended](const std::exception_ptr&, Status status) { *ended = std::move(status); });
    while (!*ended) {
      if (shards->run_ready(options.steps_max) != 0) continue;
      const auto next = clock.next();
      SLUICE_ASSERT(next);  // All that waits, waits for an event with a deadline.
      clock.advance(*next - clock.now());
    }
    return **ended;
  }
  Status settle() {
    if (shards->run_ready(options.steps_max) >= options.steps_max) {
      return Status(Code::kExhausted, "the pipeline did not come to rest within", options.steps_max,
                    "steps: it does something for ever, or Options::steps_max is too small");
    }
    return runtime.failure();
  }

  asio::awaitable<Status> open(std::optional<CheckpointData> from);
  asio::awaitable<Status> find_splits();
  asio::awaitable<Status> take(CheckpointData& data);
  asio::awaitable<Status> take_down();
};

asio::awaitable<Status> TestDriver::Impl::open(std::optional<CheckpointData> from) {
  Status checked = job.check();
  if (!checked.ok()) co_return checked;
  for (internal::SourceNodeBase* source : job.graph().sources()) {
    checked = co_await source->check(attempt);
    if (!checked.ok()) co_return checked;
  }
  for (internal::SinkNodeBase* sink : job.graph().sinks()) {
    checked = co_await sink->check(attempt);
    if (!checked.ok()) co_return checked;
  }
  std::vector<SplitPosition> starts;
  for (internal::SourceNodeBase* source : job.graph().sources()) {
    internal::SourceNodeBase::Positions mine;
    if (from) {
      mine.emplace();
      for (const SplitPosition& position : from->positions) {
        if (position.source == source->id()) mine->push_back(position);
      }
    }
    Result<std::vector<SplitPosition>> places = co_await source->start(attempt, std::move(mine));
    if (!places.ok()) co_return places.status();
    starts.insert(starts.end(), places->begin(), places->end());
  }
  for (internal::SinkNodeBase* sink : job.graph().sinks()) {
    Status started = co_await sink->start(attempt);
    if (!started.ok()) co_return started;
  }
  CheckpointData restored;
  if (from) restored = *std::move(from);
  opened = true;
  Status open = co_await runtime.open(std::move(restored), std::move(starts));
  if (!open.ok()) co_return open;
  runtime.run();
  co_return Status();
}

asio::awaitable<Status> TestDriver::Impl::find_splits() {
  for (internal::SourceNodeBase* source : job.graph().sources()) {
    Result<std::vector<SplitPosition>> found = co_await source->discover(attempt);
    if (!found.ok()) co_return found.status();
    for (const SplitPosition& start : *found) runtime.add_split(start);
  }
  co_return Status();
}

asio::awaitable<Status> TestDriver::Impl::take(CheckpointData& data) {
  epoch = epoch.next();
  Result<CheckpointData> taken = co_await runtime.barrier(epoch, clock.now() + kBarrierTimeout);
  if (!taken.ok()) co_return taken.status();
  data = *std::move(taken);
  for (internal::SinkNodeBase* sink : job.graph().sinks()) {
    Status delivered = co_await sink->delivered(attempt);
    if (!delivered.ok()) co_return delivered;
    std::vector<PreparedOutput> mine;
    for (const PreparedOutput& prepared : data.prepared) {
      if (prepared.sink == sink->id()) mine.push_back(prepared);
    }
    Status committed = co_await sink->commit(epoch, std::move(mine));
    if (!committed.ok()) co_return committed;
  }
  runtime.notify(epoch, true);
  runtime.release();
  co_return Status();
}

asio::awaitable<Status> TestDriver::Impl::take_down() {
  Status first;
  if (opened) first = co_await runtime.close();
  for (internal::SourceNodeBase* source : job.graph().sources()) {
    Status closed_source = co_await source->close(attempt);
    if (first.ok()) first = std::move(closed_source);
  }
  for (internal::SinkNodeBase* sink : job.graph().sinks()) {
    Status closed_sink = co_await sink->close(attempt);
    if (first.ok()) first = std::move(closed_sink);
  }
  co_return first;
}

TestDriver::TestDriver(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TestDriver::~TestDriver() {
  if (const Status closed = close(); !closed.ok()) log().warn("test driver: closing failed: {}", closed.to_string());
}

Result<std::unique_ptr<TestDriver>> TestDriver::start(const Job& job, Options options, std::optional<CheckpointData> from) {
  Result<std::unique_ptr<io::Shards>> shards = io::Shards::on_this_thread(options.shards);
  if (!shards.ok()) return std::move(shards).status();
  std::unique_ptr<TestDriver> driver(new TestDriver(std::make_unique<Impl>(job, options, *std::move(shards))));
  Impl& me = *driver->impl_;
  SLUICE_TRY(me.drive(me.open(std::move(from))));
  SLUICE_TRY(me.settle());
  return driver;
}

Status TestDriver::run() { return impl_->settle(); }

Status TestDriver::advance(std::chrono::nanoseconds by) {
  Impl& me = *impl_;
  SLUICE_TRY(me.settle());
  const io::Monotonic until = me.clock.now() + std::chrono::duration_cast<io::Monotonic::duration>(by);
  for (auto next = me.clock.next(); next && *next <= until; next = me.clock.next()) {
    me.clock.advance(*next - me.clock.now());
    SLUICE_TRY(me.settle());
  }
  me.clock.advance(until - me.clock.now());
  return me.settle();
}

void TestDriver::set_wall(io::WallTime to) { impl_->clock.set_wall(to); }

Status TestDriver::discover() {
  SLUICE_TRY(impl_->drive(impl_->find_splits()));
  return impl_->settle();
}

Result<CheckpointData> TestDriver::checkpoint() {
  CheckpointData data;
  SLUICE_TRY(impl_->settle());
  SLUICE_TRY(impl_->drive(impl_->take(data)));
  SLUICE_TRY(impl_->settle());
  return data;
}

bool TestDriver::ended() const { return impl_->runtime.input_ended(); }

Status TestDriver::close() {
  if (std::exchange(impl_->closed, true)) return {};
  Status closed = impl_->drive(impl_->take_down());
  impl_->attempt.forget();
  return closed;
}

std::uint64_t TestDriver::metric(const std::string& name) const { return impl_->metrics.value(name); }
io::Monotonic TestDriver::now() const { return impl_->clock.now(); }
std::vector<SplitWatermark> TestDriver::watermarks() const { return impl_->runtime.watermarks()->all(); }
std::vector<WatermarkStatus> TestDriver::watermark_status() const { return impl_->runtime.watermarks()->status(); }
std::optional<SplitWatermark> TestDriver::holder(const std::string& operator_id) const {
  return impl_->runtime.watermarks()->holder(operator_id);
}

}  // namespace sluice
