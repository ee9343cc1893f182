// The store on the machine's own files: with io_uring and with threads, healthy and with injected
// faults.
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store_fixture.h"
#include <fstream>

namespace sluice::checkpoint {
namespace {

class StoreOnDisk : public testing::TestWithParam<io::FileBackend> {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "sluice-store-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    auto made = io::make_file_system(loop_.executor(), GetParam());
    if (!made.ok()) GTEST_SKIP() << made.status().to_string();
    files_ = *std::move(made);
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  template <class T>
  T run(asio::awaitable<T> work) {
    return loop_.run(std::move(work));
  }
  Result<std::string> write(Store& store, std::uint64_t epoch, Uuid writer, Decision previous) {
    const CheckpointData data = sample(epoch);
    return run(store.write(Epoch(epoch), writer, data, {2, std::move(previous)}));
  }

  Loop loop_;
  Path root_;
  std::unique_ptr<io::FileSystem> files_;
};

TEST_P(StoreOnDisk, RunsThroughEpochsAndIsReadAgain) {
  const Path directory = root_ / "deep/below/state";
  Decision decided;
  {
    auto store = *run(Store::open(*files_, directory, "orders"));
    LocalDecider decider(*files_, directory, "orders");
    decided = *run(decider.claim());
    for (std::uint64_t epoch = 1; epoch <= 5; ++epoch) {
      Decision next{Epoch(epoch), decider.claim_id(), {}, false, {}};
      next.digest = *write(*store, epoch, next.writer, decided);
      ASSERT_TRUE(run(decider.decide(next, {})).ok());
      decided = next;
      const Status collected = run(store->collect(decided, 2));
      ASSERT_TRUE(collected.ok()) << collected.to_string();
    }
  }
  std::size_t directories = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    directories += entry.is_directory() ? 1 : 0;
  EXPECT_EQ(directories, 2u);
  auto store = *run(Store::open(*files_, directory, "orders"));
  LocalDecider decider(*files_, directory, "orders");
  EXPECT_EQ(run(decider.claim())->digest, decided.digest);
  const auto read = run(store->read(decided));
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_TRUE(same(*read, sample(5)));
}

TEST_P(StoreOnDisk, LargeStatesComeBack) {
  auto store = *run(Store::open(*files_, root_, "orders"));
  CheckpointData data;
  Random random(7);
  for (std::uint16_t shard = 0; shard < 3; ++shard) {
    std::string bytes(5'000'000 + shard, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.next());
    data.states.push_back({"count", "counts", "map", ShardId(shard), std::move(bytes)});
  }
  const Uuid writer = Uuid::make();
  const auto digest = run(store->write(Epoch(1), writer, data, {3, {}}));
  ASSERT_TRUE(digest.ok()) << digest.status().to_string();
  const auto read = run(store->read({Epoch(1), writer, *digest, false, {}}));
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_TRUE(same(*read, data));
}

TEST_P(StoreOnDisk, ADirectoryThatCannotBeMadeIsAPersonsBusiness) {
  std::ofstream(root_ / "file") << "not a directory";
  for (const Path& directory : {root_ / "file", root_ / "file/state", Path("/proc/sluice-state")}) {
    const auto refused = run(Store::open(*files_, directory, "orders"));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.code(), Code::kInvalid) << refused.status().to_string();
    EXPECT_EQ(refused.status().exit_status(), ExitStatus::kCannotCreate);
    EXPECT_NE(refused.status().message().find(directory.string()), std::string::npos)
        << refused.status().to_string();
  }
}

TEST_P(StoreOnDisk, ThatMayNotBeWrittenIsFoundAtStart) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  { ASSERT_TRUE(run(Store::open(*files_, root_, "orders")).ok()); }
  std::filesystem::permissions(
      root_, std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  const auto refused = run(Store::open(*files_, root_, "orders"));
  EXPECT_EQ(refused.status().exit_status(), ExitStatus::kCannotCreate);
  std::filesystem::permissions(root_, std::filesystem::perms::owner_all);
}

// Case S41. The other process is a real one, killed with SIGKILL.
TEST_P(StoreOnDisk, TheLockOfAnotherProcessDiesWithIt) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t other = ::fork();
  ASSERT_GE(other, 0);
  if (other == 0) {
    Loop loop;
    auto files = *io::make_file_system(loop.executor(), io::FileBackend::kThreads);
    const auto store = loop.run(Store::open(*files, root_, "orders"));
    const char ok = store.ok() ? 'y' : 'n';
    if (::write(ready[1], &ok, 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char opened = 0;
  ASSERT_EQ(::read(ready[0], &opened, 1), 1);
  ASSERT_EQ(opened, 'y');
  const auto refused = run(Store::open(*files_, root_, "orders"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().exit_status(), ExitStatus::kCannotCreate);
  EXPECT_NE(refused.status().message().find(std::to_string(other)), std::string::npos)
      << refused.status().to_string();
  EXPECT_NE(refused.status().message().find(root_.string()), std::string::npos);
  EXPECT_EQ(::kill(other, 0), 0);
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  EXPECT_TRUE(run(Store::open(*files_, root_, "orders")).ok());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_P(StoreOnDisk, InjectedFaultsAtEveryCallLeaveTheOlderOnesGood) {
  struct Kind {
    std::string specification;
    bool harmless;
  };
  for (const Kind& kind :
       {Kind{"write:enospc", false}, Kind{"write:eio", false}, Kind{"write:torn", false},
        Kind{"write:short", true}, Kind{"create:enospc", false}, Kind{"sync:eio", false},
        Kind{"rename:eio", false}, Kind{"syncdir:eio", false}}) {
    bool struck = false;
    for (int nth = 1; nth < 40; ++nth) {
      const Path directory = root_ / fmt::format("{}-{}", kind.specification, nth);
      const Uuid writer = Uuid::make();
      Decision one{Epoch(1), writer, {}, false, {}};
      {
        auto store = *run(Store::open(*files_, directory, "orders"));
        one.digest = *write(*store, 1, writer, {});
      }
      auto inner = *io::make_file_system(loop_.executor(), GetParam());
      auto faulty =
          io::make_fault_file_system(loop_.executor(), std::move(inner),
                                     fmt::format("{}:nth={},path=0002-", kind.specification, nth));
      ASSERT_TRUE(faulty.ok()) << faulty.status().to_string();
      auto store = *run(Store::open(**faulty, directory, "orders"));
      const auto two = write(*store, 2, writer, one);
      const auto first = run(store->read(one));
      ASSERT_TRUE(first.ok()) << first.status().to_string();
      EXPECT_TRUE(same(*first, sample(1)));
      struck = struck || !two.ok();
      if (kind.harmless || two.ok()) {
        ASSERT_TRUE(two.ok()) << two.status().to_string();
        const auto read = run(store->read({Epoch(2), writer, *two, false, {}}));
        ASSERT_TRUE(read.ok()) << read.status().to_string();
        EXPECT_TRUE(same(*read, sample(2)));
        if (!kind.harmless) break;  // The write has no more such calls.
        if (nth > 8) break;
        continue;
      }
      EXPECT_TRUE(two.code() == Code::kExhausted || two.code() == Code::kRecover)
          << two.status().to_string();
      const auto listed = run(Store::list(*files_, directory));
      ASSERT_TRUE(listed.ok());
      for (const Store::Entry& entry : *listed)
        EXPECT_TRUE(entry.name.epoch == Epoch(1) || !entry.complete);
      const auto three = write(*store, 3, writer, one);
      ASSERT_TRUE(three.ok()) << three.status().to_string();
      const Decision decided{Epoch(3), writer, *three, false, {}};
      EXPECT_TRUE(same(*run(store->read(decided)), sample(3)));
    }
    EXPECT_NE(struck, kind.harmless) << kind.specification;
  }
}

INSTANTIATE_TEST_SUITE_P(Backend, StoreOnDisk,
                         testing::Values(io::FileBackend::kUring, io::FileBackend::kThreads),
                         [](const auto& value) {
                           return value.param == io::FileBackend::kUring ? "uring" : "threads";
                         });

}  // namespace
}  // namespace sluice::checkpoint
