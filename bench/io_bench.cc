// Question  What does a coroutine pay for a hand-over, and a small durable file for not blocking its shard?
// Sketch    A call is a frame, some 15 ns; a turn of the loop 50 ns; a shield and a run_on some turns of one loop or two.
//           A file is five system calls, of which the two syncs are all that counts: the ring should be lost in them.
// Baseline  BM_PostAndResume, asio alone; BM_FilePlain, the same system calls in a row that blocks, in the same run.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <benchmark/benchmark.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include <sluice/io/event.h>
#include <sluice/io/file.h>
#include <sluice/io/offload.h>
#include <sluice/io/scope.h>
#include <sluice/io/shards.h>

#include "allocations.h"

namespace {

using namespace sluice;

constexpr std::int64_t kRound = 1'024;

void must(bool held) {
  if (!held) std::abort();
}
/// CPU of all threads, kernel included: what is left of a figure when the disk and the neighbours are taken away.
double cpu_us() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return 1e6 * static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}
void report_cpu(benchmark::State& state, double before) {
  state.counters["cpu_us"] = (cpu_us() - before) / static_cast<double>(state.iterations());
}
std::unique_ptr<io::Shards> shards_of(std::uint16_t count, io::FileBackend files) {
  return *io::Shards::start({.count = count, .pin = {}, .files = files, .file_faults = {}, .thread_name = "bench"});
}

/// Runs `rounds(kRound)` on the first shard until the benchmark has enough.
template <class Rounds>
void measure(benchmark::State& state, io::Shards& shards, Rounds rounds) {
  const io::Executor first = shards.shard(ShardId(0)).executor();
  asio::co_spawn(first, rounds(kRound), asio::use_future).get();  // Warm.
  const std::uint64_t before = bench::allocations();
  while (state.KeepRunningBatch(kRound)) asio::co_spawn(first, rounds(kRound), asio::use_future).get();
  state.counters["allocations"] =
      static_cast<double>(bench::allocations() - before) / static_cast<double>(state.iterations());
}

asio::awaitable<int> one() { co_return 1; }

asio::awaitable<void> calls(std::int64_t count) {
  int sum = 0;
  for (std::int64_t at = 0; at < count; ++at) sum += co_await one();
  benchmark::DoNotOptimize(sum);
}
void BM_Call(benchmark::State& state) {
  auto shards = shards_of(1, io::FileBackend::kThreads);
  measure(state, *shards, calls);
}
BENCHMARK(BM_Call)->UseRealTime();

asio::awaitable<void> posts(std::int64_t count) {
  const io::Executor here = co_await asio::this_coro::executor;
  for (std::int64_t at = 0; at < count; ++at) co_await asio::post(here, asio::deferred);
}
void BM_PostAndResume(benchmark::State& state) {
  auto shards = shards_of(1, io::FileBackend::kThreads);
  measure(state, *shards, posts);
}
BENCHMARK(BM_PostAndResume)->UseRealTime();

// Two coroutines that wake each other: a hand-over is an event set, a turn of the loop, a resumption.
asio::awaitable<Status> partner(std::shared_ptr<io::Event> mine, std::shared_ptr<io::Event> other, std::int64_t count) {
  for (std::int64_t at = 0; at < count; ++at) {
    const Status woken = co_await mine->wait();
    must(woken.ok());
    other->set();
  }
  co_return Status();
}
asio::awaitable<void> hand_overs(std::int64_t count) {
  const io::Executor here = co_await asio::this_coro::executor;
  auto ping = std::make_shared<io::Event>(here), pong = std::make_shared<io::Event>(here);
  io::Scope scope(here);
  scope.spawn(partner(ping, pong, count / 2));
  scope.spawn(partner(pong, ping, count / 2));
  ping->set();
  const Status ended = co_await scope.join();
  must(ended.ok());
}
void BM_HandOver(benchmark::State& state) {
  auto shards = shards_of(1, io::FileBackend::kThreads);
  measure(state, *shards, hand_overs);
}
BENCHMARK(BM_HandOver)->UseRealTime();

asio::awaitable<void> shields(std::int64_t count) {
  for (std::int64_t at = 0; at < count; ++at) co_await io::shield(one());
}
void BM_Shield(benchmark::State& state) {
  auto shards = shards_of(1, io::FileBackend::kThreads);
  measure(state, *shards, shields);
}
BENCHMARK(BM_Shield)->UseRealTime();

void BM_RunOn(benchmark::State& state) {
  auto shards = shards_of(2, io::FileBackend::kThreads);
  const io::Executor there = shards->shard(ShardId(1)).executor();
  auto rounds = [there](std::int64_t count) {
    auto run = [](io::Executor on, std::int64_t left) -> asio::awaitable<void> {
      for (; left > 0; --left) co_await io::run_on(on, one);
    };
    return run(there, count);
  };
  measure(state, *shards, rounds);
}
BENCHMARK(BM_RunOn)->UseRealTime();

void BM_Offload(benchmark::State& state) {
  auto shards = shards_of(1, io::FileBackend::kThreads);
  io::OffloadThread thread("bench-offload");
  auto rounds = [&thread](std::int64_t count) {
    auto run = [](io::OffloadThread* on, std::int64_t left) -> asio::awaitable<void> {
      auto work = [] { return 1; };
      for (; left > 0; --left) benchmark::DoNotOptimize(co_await io::offload(*on, work));
    };
    return run(&thread, count);
  };
  measure(state, *shards, rounds);
}
BENCHMARK(BM_Offload)->UseRealTime();

// Durable files: create, write, fdatasync, rename, sync the directory.
class Directory {
 public:
  Directory() {
    std::string name = (std::filesystem::current_path() / "io_bench-XXXXXX").string();  // Not /tmp: that may be memory.
    must(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

void BM_FilePlain(benchmark::State& state) {
  const Directory directory;
  const std::string bytes(static_cast<std::size_t>(state.range(0)), 'x');
  const std::string from = directory.path() / "new", to = directory.path() / "file";
  const double before = cpu_us();
  for (auto _ : state) {
    const int fd = ::open(from.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    must(fd >= 0 && ::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    must(::fdatasync(fd) == 0 && ::close(fd) == 0 && ::rename(from.c_str(), to.c_str()) == 0);
    const int parent = ::open(directory.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    must(parent >= 0 && ::fsync(parent) == 0 && ::close(parent) == 0);
  }
  report_cpu(state, before);
}
BENCHMARK(BM_FilePlain)->ArgName("bytes")->Arg(4'096)->Arg(1 << 20)->UseRealTime();

asio::awaitable<void> write_durably(io::FileSystem* files, std::filesystem::path directory, std::string bytes) {
  Result<std::unique_ptr<io::File>> made = co_await files->create(directory / "new");
  must(made.ok());
  const std::unique_ptr<io::File> file = *std::move(made);
  const Status appended = co_await file->append(std::as_bytes(std::span(bytes)));
  const Status synced = co_await file->sync();
  const Status closed = co_await file->close();
  const Status renamed = co_await files->rename(directory / "new", directory / "file");
  const Status durable = co_await files->sync_directory(directory);
  must(appended.ok() && synced.ok() && closed.ok() && renamed.ok() && durable.ok());
}
void file(benchmark::State& state, io::FileBackend backend) {
  const Directory directory;
  auto shards = shards_of(1, backend);
  io::Shard& shard = shards->shard(ShardId(0));
  const std::string bytes(static_cast<std::size_t>(state.range(0)), 'x');
  const double before = cpu_us();
  for (auto _ : state) {
    asio::co_spawn(shard.executor(), write_durably(&shard.files(), directory.path(), bytes), asio::use_future).get();
  }
  report_cpu(state, before);
}
void BM_FileUring(benchmark::State& state) { file(state, io::FileBackend::kUring); }
BENCHMARK(BM_FileUring)->ArgName("bytes")->Arg(4'096)->Arg(1 << 20)->UseRealTime();
void BM_FileThreads(benchmark::State& state) { file(state, io::FileBackend::kThreads); }
BENCHMARK(BM_FileThreads)->ArgName("bytes")->Arg(4'096)->Arg(1 << 20)->UseRealTime();

// One long file: what a snapshot of many slices does between two syncs.
asio::awaitable<void> append_slices(io::FileSystem* files, std::filesystem::path path, std::int64_t slices) {
  const std::string slice(64 * 1'024, 'x');
  Result<std::unique_ptr<io::File>> made = co_await files->create(std::move(path));
  must(made.ok());
  const std::unique_ptr<io::File> written = *std::move(made);
  for (std::int64_t at = 0; at < slices; ++at) {
    const Status appended = co_await written->append(std::as_bytes(std::span(slice)));
    must(appended.ok());
  }
}
void slices(benchmark::State& state, io::FileBackend backend) {
  const Directory directory;
  auto shards = shards_of(1, backend);
  io::Shard& shard = shards->shard(ShardId(0));
  const double before = cpu_us();
  while (state.KeepRunningBatch(256)) {
    asio::co_spawn(shard.executor(), append_slices(&shard.files(), directory.path() / "long", 256), asio::use_future).get();
  }
  report_cpu(state, before);
  state.SetBytesProcessed(state.iterations() * 64 * 1'024);
}
void BM_SliceUring(benchmark::State& state) { slices(state, io::FileBackend::kUring); }
BENCHMARK(BM_SliceUring)->UseRealTime();
void BM_SliceThreads(benchmark::State& state) { slices(state, io::FileBackend::kThreads); }
BENCHMARK(BM_SliceThreads)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
