#include <sluice/checkpoint/engine.h>

#include <signal.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <optional>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>

#include <sluice/io/base/log.h>

namespace sluice {

struct Running::Impl {
  Impl(Job the_job, std::unique_ptr<io::Shards> the_shards)
      : job(std::move(the_job)), shards(std::move(the_shards)), coordinator(job, *shards, io::system_clock(), metrics) {}

  void start() {
    auto body = [](Impl* me) -> asio::awaitable<void> {
      Status ended = co_await me->coordinator.run();
      me->finish(std::move(ended));
    };
    // Its end is waited for in wait(), which the destructor calls.
    asio::co_spawn(shards->control().executor(), body(this), asio::detached);
  }
  void finish(Status ended) {
    std::function<void()> call;
    {
      const std::lock_guard lock(mutex);
      result = std::move(ended);
      call = std::exchange(when_done, nullptr);
    }
    changed.notify_all();
    if (call) call();
  }

  Job job;
  Metrics metrics;
  std::unique_ptr<io::Shards> shards;
  checkpoint::Coordinator coordinator;
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Status> result;
  std::function<void()> when_done;
};

Running::Running(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Running::Running(Running&&) noexcept = default;
Running& Running::operator=(Running&& other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}
Running::~Running() {
  if (!impl_) return;
  stop();
  const Status ended = wait();
  if (!ended.ok()) log().warn("job {}: ended: {}", impl_->job.name(), ended.to_string());
  impl_->shards->stop();
}

void Running::stop() { impl_->coordinator.request_stop(); }

Status Running::wait() {
  std::unique_lock lock(impl_->mutex);
  impl_->changed.wait(lock, [this] { return impl_->result.has_value(); });
  return *impl_->result;
}

bool Running::done() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->result.has_value();
}

Metrics& Running::metrics() noexcept { return impl_->metrics; }
checkpoint::JobState Running::state() const noexcept { return impl_->coordinator.state(); }
std::vector<WatermarkStatus> Running::watermarks() const { return impl_->coordinator.watermarks(); }
std::vector<DroppedRecords> Running::dropped() const { return dropped_records(impl_->metrics); }

void Running::on_done(std::function<void()> call) {
  {
    const std::lock_guard lock(impl_->mutex);
    if (!impl_->result) {
      impl_->when_done = std::move(call);
      return;
    }
  }
  call();
}

Result<Running> Engine::start(Job job) {
  SLUICE_TRY(job.check());
  io::Shards::Options options;
  options.count = job.options.shards;
  options.pin = job.options.pin;
  options.files = job.options.files;
  options.file_faults = job.options.file_faults;
  if (const char* faults = std::getenv("SLUICE_FILE_FAULTS"); faults != nullptr && options.file_faults.empty()) {
    options.file_faults = faults;
  }
  Result<std::unique_ptr<io::Shards>> shards = io::Shards::start(std::move(options));
  if (!shards.ok()) return shards.status();
  auto impl = std::make_unique<Running::Impl>(std::move(job), *std::move(shards));
  impl->start();
  return Running(std::move(impl));
}

namespace {

void write_metrics(const Metrics& metrics) {
  const char* path = std::getenv("SLUICE_METRICS_FILE");
  if (path == nullptr) return;
  std::ofstream file(path);
  for (const auto& [name, value] : metrics.all()) file << name << ' ' << value << '\n';
}

int failed(const std::string& job, const Status& status) {
  std::fprintf(stderr, "sluice: job %s: %s\n", job.c_str(), status.to_string().c_str());
  return static_cast<int>(status.exit_status());
}

}  // namespace

int run(Job job) {
  const std::string name = job.name();
  asio::io_context signals(1);
  // Before the job starts: its threads inherit nothing, the handler only writes to a pipe.
  asio::signal_set caught(signals, SIGINT, SIGTERM);
  Result<Running> running = Engine().start(std::move(job));
  if (!running.ok()) return failed(name, running.status());
  int count = 0;
  std::function<void(const boost::system::error_code&, int)> on_signal = [&](const boost::system::error_code& error, int) {
    if (error) return;
    if (++count > 1) ::_exit(static_cast<int>(ExitStatus::kFailed));  // Safe at any moment, like kill -9.
    log().info("job {}: stopping: last checkpoint, then the end", name);
    running->stop();
    caught.async_wait(on_signal);
  };
  caught.async_wait(on_signal);
  auto keep = asio::make_work_guard(signals);
  running->on_done([&signals, &keep, &caught] {
    asio::post(signals, [&] {
      caught.cancel();
      keep.reset();
    });
  });
  signals.run();
  const Status ended = running->wait();
  write_metrics(running->metrics());
  if (ended.ok()) return 0;
  return failed(name, ended);
}

}  // namespace sluice
