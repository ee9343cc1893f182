#include <sluice/io/shards.h>

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <sluice/io/base/assert.h>

namespace sluice::io {

struct Shard::Impl {
  explicit Impl(ShardId number) : id(number) {}
  const ShardId id;
  asio::io_context loop{1};
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> open{loop.get_executor()};
  std::unique_ptr<FileSystem> files;  // Before the thread, after the loop.
  std::thread thread;
};

Shard::Shard(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Shard::~Shard() = default;
ShardId Shard::id() const noexcept { return impl_->id; }
Executor Shard::executor() const noexcept { return impl_->loop.get_executor(); }
FileSystem& Shard::files() noexcept {
  if (impl_->files == nullptr) {  // Of on_this_thread(): few of those tests need any.
    Result<std::unique_ptr<FileSystem>> made = make_file_system(executor(), FileBackend::kThreads);
    SLUICE_ASSERT(made.ok());
    impl_->files = *std::move(made);
  }
  SLUICE_ASSERT(impl_->files != nullptr);
  return *impl_->files;
}

struct Shards::Impl {
  std::vector<std::unique_ptr<Shard>> shards;  // The control thread is the last.
  [[nodiscard]] Status start_thread(Shard::Impl& shard, const std::string& name, std::optional<int> cpu);
};

namespace {

constexpr std::size_t kThreadNameChars = 15;  // The kernel's limit.

Result<std::unique_ptr<FileSystem>> make_files(const Executor& executor, const Shards::Options& options) {
  Result<std::unique_ptr<FileSystem>> made = make_file_system(executor, options.files);
  if (!made.ok() || options.file_faults.empty()) return made;
  return make_fault_file_system(executor, *std::move(made), options.file_faults);
}

Status check(const Shards::Options& options) {
  if (options.count < 1 || options.count > 1'024) {
    return Status(Code::kInvalid, "could not start", options.count, "shards; ask for 1 to 1024");
  }
  if (!options.pin.empty() && options.pin.size() != options.count) {
    return Status(Code::kInvalid, "could not pin", options.count, "shards to", options.pin.size(),
                  "cpus; name one for each shard, or none");
  }
  return Status();
}

Status pin(pthread_t thread, int cpu) {
  int error = EINVAL;
  if (cpu >= 0 && cpu < CPU_SETSIZE) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    error = ::pthread_setaffinity_np(thread, sizeof set, &set);
  }
  if (error == 0) return Status();
  return Status(Code::kInvalid, "could not pin a shard to cpu", cpu, "-", std::strerror(error),
                "- name cpus that this process may use (taskset -p shows them)");
}

}  // namespace

Status Shards::Impl::start_thread(Shard::Impl& shard, const std::string& name, std::optional<int> cpu) {
  shard.thread = std::thread([loop = &shard.loop] { loop->run(); });
  ::pthread_setname_np(shard.thread.native_handle(), name.c_str());
  return cpu ? pin(shard.thread.native_handle(), *cpu) : Status();
}

Result<std::unique_ptr<Shards>> Shards::start(Options options) {
  SLUICE_TRY(check(options));
  auto impl = std::make_unique<Impl>();
  for (std::uint32_t at = 0; at <= options.count; ++at) {
    const bool control = at == options.count;
    auto shard = std::make_unique<Shard::Impl>(control ? kControlShard : ShardId(static_cast<std::uint16_t>(at)));
    Result<std::unique_ptr<FileSystem>> files = make_files(shard->loop.get_executor(), options);
    if (!files.ok()) return std::move(files).status();
    shard->files = *std::move(files);
    impl->shards.push_back(std::unique_ptr<Shard>(new Shard(std::move(shard))));
  }
  std::unique_ptr<Shards> shards(new Shards(std::move(impl)));  // From here on its destructor joins.
  for (std::uint32_t at = 0; at <= options.count; ++at) {
    const bool control = at == options.count;
    const std::string end = control ? std::string("-control") : "-" + std::to_string(at);
    const std::string name = options.thread_name.substr(0, kThreadNameChars - end.size()) + end;
    const bool pinned = !control && !options.pin.empty();
    SLUICE_TRY(shards->impl_->start_thread(*shards->impl_->shards[at]->impl_, name,
                                           pinned ? std::optional<int>(options.pin[at]) : std::nullopt));
  }
  return shards;
}

Result<std::unique_ptr<Shards>> Shards::on_this_thread(std::uint16_t count) {
  Options options;
  options.count = count;
  SLUICE_TRY(check(options));
  auto impl = std::make_unique<Impl>();
  for (std::uint32_t at = 0; at <= count; ++at) {
    auto shard = std::make_unique<Shard::Impl>(at == count ? kControlShard : ShardId(static_cast<std::uint16_t>(at)));
    impl->shards.push_back(std::unique_ptr<Shard>(new Shard(std::move(shard))));
  }
  return std::unique_ptr<Shards>(new Shards(std::move(impl)));
}

std::size_t Shards::run_ready(std::size_t steps_max) {
  std::size_t steps = 0;
  for (bool any = true; any && steps < steps_max;) {
    any = false;
    for (const auto& shard : impl_->shards) {
      SLUICE_ASSERT(!shard->impl_->thread.joinable());
      if (shard->impl_->loop.poll_one() == 0) continue;
      any = true;
      ++steps;
    }
  }
  return steps;
}

Shards::Shards(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Shards::~Shards() { stop(); }

std::uint16_t Shards::count() const noexcept { return static_cast<std::uint16_t>(impl_->shards.size() - 1); }
Shard& Shards::shard(ShardId id) noexcept {
  SLUICE_ASSERT(id.value() < count());
  return *impl_->shards[id.value()];
}
Shard& Shards::control() noexcept { return *impl_->shards.back(); }

void Shards::stop() noexcept {
  for (const auto& shard : impl_->shards) {
    shard->impl_->open.reset();
    shard->impl_->loop.stop();
  }
  for (const auto& shard : impl_->shards) {
    if (shard->impl_->thread.joinable()) shard->impl_->thread.join();
  }
}

}  // namespace sluice::io
