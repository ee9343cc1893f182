#pragma once

#include <sluice/checkpoint/local_decider.h>
#include <sluice/checkpoint/store.h>

#include "../support/memory_files.h"
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

namespace sluice::checkpoint {

using support::MemoryDisk;
using support::MemoryFiles;
using Path = std::filesystem::path;

/// Runs coroutines to their end, one after the other, on the calling thread.
class Loop {
 public:
  template <class T>
  T run(asio::awaitable<T> work) {
    std::optional<T> result;
    std::exception_ptr thrown;
    auto done = [&thrown](std::exception_ptr error) { thrown = std::move(error); };
    asio::co_spawn(context_, keep(std::move(work), &result), std::move(done));
    context_.restart();
    context_.run();
    if (thrown) std::rethrow_exception(thrown);
    return *std::move(result);
  }
  [[nodiscard]] io::Executor executor() { return context_.get_executor(); }

 private:
  template <class T>
  static asio::awaitable<void> keep(asio::awaitable<T> work, std::optional<T>* into) {
    into->emplace(co_await std::move(work));
  }
  asio::io_context context_;
};

template <class T>
T run(asio::awaitable<T> work) {
  Loop loop;
  return loop.run(std::move(work));
}

/// One process with its store and its decider, on one state directory.
struct Process {
  Process(io::FileSystem& files_, Path directory_, std::string job_ = "orders")
      : files(files_),
        directory(std::move(directory_)),
        job(std::move(job_)),
        decider(files, directory, job) {}

  Status start() {
    Result<std::unique_ptr<Store>> opened = loop.run(Store::open(files, directory, job));
    if (!opened.ok()) return opened.status();
    store = *std::move(opened);
    Result<Decision> claimed = loop.run(decider.claim());
    if (!claimed.ok()) return claimed.status();
    decided = *std::move(claimed);
    return {};
  }
  Result<Decision> write(std::uint64_t epoch, const CheckpointData& data) {
    const Epoch number(epoch);
    Result<std::string> digest =
        loop.run(store->write(number, decider.claim_id(), data, {2, decided}));
    if (!digest.ok()) return digest.status();
    Decision written;
    written.epoch = number;
    written.writer = decider.claim_id();
    written.digest = *digest;
    return written;
  }
  Status decide(const Decision& decision) {
    Status made = loop.run(decider.decide(decision, {}));
    if (made.ok()) decided = decision;
    return made;
  }
  /// A whole epoch: written, decided, cleaned up.
  Status epoch(std::uint64_t number, const CheckpointData& data, std::uint32_t keep = 3) {
    const Result<Decision> written = write(number, data);
    if (!written.ok()) return written.status();
    SLUICE_TRY(decide(*written));
    return loop.run(store->collect(decided, keep));
  }

  Loop loop;
  io::FileSystem& files;
  const Path directory;
  const std::string job;
  std::unique_ptr<Store> store;
  LocalDecider decider;
  Decision decided;
};

inline CheckpointData sample(std::uint64_t seed) {
  CheckpointData data;
  const std::string text = std::to_string(seed);
  data.positions = {{"in", {"orders", 0}, Offset(static_cast<std::int64_t>(seed))},
                    {"in", {"orders", 1}, Offset(static_cast<std::int64_t>(seed) * 2)}};
  // Shards in no order, as they acknowledge; one state is empty, one has every byte.
  std::string every_byte;
  for (int byte = 0; byte < 256; ++byte) every_byte += static_cast<char>(byte);
  data.states = {{"count", "counts", "map<string,u64>", ShardId(1), "one " + text},
                 {"count", "watermark", "i64", ShardId(1), ""},
                 {"count", "counts", "map<string,u64>", ShardId(0), every_byte + text},
                 {"join", "left", "map<string,string>", ShardId(0), "zero " + text}};
  data.prepared = {{"out", ShardId(1), "part-" + text}};
  return data;
}

inline bool same(const CheckpointData& one, const CheckpointData& two) {
  const auto state = [](const StateSnapshot& a, const StateSnapshot& b) {
    return std::tie(a.operator_id, a.state, a.type, a.shard, a.bytes) ==
           std::tie(b.operator_id, b.state, b.type, b.shard, b.bytes);
  };
  const auto prepared = [](const PreparedOutput& a, const PreparedOutput& b) {
    return std::tie(a.sink, a.shard, a.bytes) == std::tie(b.sink, b.shard, b.bytes);
  };
  return one.positions == two.positions &&
         std::equal(one.states.begin(), one.states.end(), two.states.begin(), two.states.end(),
                    state) &&
         std::equal(one.prepared.begin(), one.prepared.end(), two.prepared.begin(),
                    two.prepared.end(), prepared);
}

/// Tests on a disk in memory.
class StoreTest : public testing::Test {
 protected:
  static constexpr const char* kDirectory = "/home/state";

  std::vector<Store::Entry> entries() {
    auto listed = run(Store::list(files_, kDirectory));
    EXPECT_TRUE(listed.ok()) << listed.status().to_string();
    return listed.ok() ? *listed : std::vector<Store::Entry>();
  }
  Path at(const Decision& decision) const {
    return Path(kDirectory) / CheckpointName{decision.epoch, decision.writer}.directory();
  }

  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  MemoryFiles files_{disk_};
};

}  // namespace sluice::checkpoint
