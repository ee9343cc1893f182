// Goal: bytes that were appended and synced are there, a file that failed once is dead, and one process holds a directory.
// Method: both backends on a real directory; a scripted disk where the kernel would have to misbehave.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <deque>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <sluice/io/base/log.h>
#include <sluice/io/file.h>
#include <sluice/io/internal/disk.h>
#include <sluice/io/scope.h>

#include "directory.h"
#include "loop.h"

namespace sluice::io {
namespace {

using internal::DiskCall;
using Op = DiskCall::Op;
using testing::HasSubstr;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
std::string content(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Creates, appends, syncs and closes: what a checkpoint does.
asio::awaitable<Status> write_file(FileSystem* files, std::filesystem::path path, std::string text) {
  Result<std::unique_ptr<File>> made = co_await files->create(std::move(path));
  if (!made.ok()) co_return std::move(made).status();
  const std::unique_ptr<File> file = *std::move(made);
  const Status appended = co_await file->append(bytes_of(text));
  if (!appended.ok()) co_return appended;
  const Status synced = co_await file->sync();
  if (!synced.ok()) co_return synced;
  const Status closed = co_await file->close();
  co_return closed;
}

class FileSystemTest : public testing::TestWithParam<FileBackend> {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<FileSystem>> made = make_file_system(loop.executor(), GetParam());
    if (!made.ok()) GTEST_SKIP() << made.status().to_string();
    files = *std::move(made);
  }
  Loop loop;
  Directory directory;
  std::unique_ptr<FileSystem> files;
};

TEST_P(FileSystemTest, WhatWasAppendedIsInTheFile) {
  std::unique_ptr<File> file = *loop.run(files->create(directory / "a"));
  EXPECT_TRUE(loop.run(file->append(bytes_of("one "))).ok());
  EXPECT_TRUE(loop.run(file->append({})).ok());
  EXPECT_TRUE(loop.run(file->append(bytes_of("two"))).ok());
  EXPECT_EQ(file->size(), 7u);
  EXPECT_TRUE(loop.run(file->sync()).ok());
  EXPECT_TRUE(loop.run(file->close()).ok());
  EXPECT_TRUE(loop.run(file->close()).ok()) << "closing twice is closing once";
  EXPECT_EQ(content(directory / "a"), "one two");
  EXPECT_EQ(*loop.run(files->read(directory / "a", 7)), "one two");
}

TEST_P(FileSystemTest, CreateTruncates) {
  EXPECT_TRUE(loop.run(write_file(files.get(), directory / "a", "long before")).ok());
  EXPECT_TRUE(loop.run(write_file(files.get(), directory / "a", "now")).ok());
  EXPECT_EQ(content(directory / "a"), "now");
}

TEST_P(FileSystemTest, MovesMegabytes) {
  std::string text(5'000'000, 'x');
  for (std::size_t at = 0; at < text.size(); at += 4'099) text[at] = static_cast<char>('a' + at % 26);
  EXPECT_TRUE(loop.run(write_file(files.get(), directory / "a", text)).ok());
  EXPECT_EQ(*loop.run(files->read(directory / "a", text.size())), text);
}

TEST_P(FileSystemTest, ReadRefusesAFileThatIsLargerThanItMayBe) {
  EXPECT_TRUE(loop.run(write_file(files.get(), directory / "a", "12345678")).ok());
  EXPECT_EQ(loop.run(files->read(directory / "a", 7)).code(), Code::kCorrupt);
}

TEST_P(FileSystemTest, ReadOfNothingIsInvalidAndNamesThePath) {
  const Result<std::string> text = loop.run(files->read(directory / "none", 7));
  EXPECT_EQ(text.code(), Code::kInvalid);
  EXPECT_THAT(std::string(text.status().message()), HasSubstr((directory / "none").string()));
}

TEST_P(FileSystemTest, RenameReplacesAndRemoveRemoves) {
  EXPECT_TRUE(loop.run(write_file(files.get(), directory / "new", "new")).ok());
  EXPECT_TRUE(loop.run(write_file(files.get(), directory / "old", "old")).ok());
  EXPECT_TRUE(loop.run(files->rename(directory / "new", directory / "old")).ok());
  EXPECT_TRUE(loop.run(files->sync_directory(directory.path())).ok());
  EXPECT_EQ(*files->list(directory.path()), (std::vector<std::string>{"old"}));
  EXPECT_EQ(content(directory / "old"), "new");
  EXPECT_TRUE(loop.run(files->remove(directory / "old")).ok());
  EXPECT_TRUE(loop.run(files->remove(directory / "old")).ok()) << "what is not there need not be removed";
  EXPECT_TRUE(files->list(directory.path())->empty());
}

TEST_P(FileSystemTest, RemoveRemovesAnEmptyDirectoryAndNoOther) {
  ASSERT_TRUE(files->create_directories(directory / "a" / "b").ok());
  ASSERT_TRUE(files->create_directories(directory / "a" / "b").ok());
  EXPECT_EQ(loop.run(files->remove(directory / "a")).code(), Code::kInvalid);
  EXPECT_TRUE(loop.run(files->remove(directory / "a" / "b")).ok());
  EXPECT_TRUE(loop.run(files->remove(directory / "a")).ok());
}

TEST_P(FileSystemTest, ListIsSorted) {
  for (const char* name : {"b", "c", "a"}) EXPECT_TRUE(loop.run(write_file(files.get(), directory / name, "")).ok());
  EXPECT_EQ(*files->list(directory.path()), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(files->list(directory / "none").code(), Code::kInvalid);
}

TEST_P(FileSystemTest, AMissingDirectoryIsAnErrorOfThePersonWithExitStatus73) {
  const std::filesystem::path inside = directory / "none" / "a";
  const Status created = loop.run(files->create(inside)).status();
  EXPECT_EQ(created.code(), Code::kInvalid);
  EXPECT_EQ(created.exit_status(), ExitStatus::kCannotCreate);
  EXPECT_THAT(std::string(created.message()), HasSubstr(inside.string()));
  const Status renamed = loop.run(files->rename(inside, directory / "b"));
  EXPECT_EQ(renamed.code(), Code::kInvalid);
  EXPECT_THAT(std::string(renamed.message()), HasSubstr((directory / "b").string()));
  EXPECT_EQ(loop.run(files->sync_directory(directory / "none")).code(), Code::kInvalid);
}

TEST_P(FileSystemTest, AFullDiskIsExhausted) {
  std::unique_ptr<File> file = *loop.run(files->create("/dev/full"));
  const Status appended = loop.run(file->append(bytes_of("x")));
  EXPECT_EQ(appended.code(), Code::kExhausted);
  EXPECT_EQ(loop.run(file->sync()).code(), Code::kExhausted) << "the first failure is what every later call returns";
}

TEST_P(FileSystemTest, MoreCallsThanTheRingHasEntriesAllEnd) {
  Scope scope(loop.executor());
  for (int at = 0; at < 300; ++at) {
    scope.spawn(write_file(files.get(), directory / std::to_string(at), "file " + std::to_string(at)));
  }
  EXPECT_EQ(loop.run(scope.join()).to_string(), "ok");
  for (int at = 0; at < 300; ++at) EXPECT_EQ(content(directory / std::to_string(at)), "file " + std::to_string(at));
}

TEST_P(FileSystemTest, AStopDoesNotReachIntoACall) {
  Scope scope(loop.executor());
  scope.spawn(write_file(files.get(), directory / "a", "all of it"));
  loop.drain();  // Some call is in flight now, or all are done.
  scope.stop();
  EXPECT_EQ(loop.run(scope.join()).to_string(), "ok");
  EXPECT_EQ(content(directory / "a"), "all of it");
}

TEST_P(FileSystemTest, TheLoopRunsOutOfWorkWhenTheLastCallHasEnded) {
  Scope scope(loop.executor());
  for (int at = 0; at < 8; ++at) scope.spawn(write_file(files.get(), directory / std::to_string(at), "text"));
  EXPECT_TRUE(loop.run(scope.join()).ok());
  loop.context().restart();
  loop.context().run();  // Would wait for ever if the file system listened to its ring without a reason.
}

TEST_P(FileSystemTest, MayGoWhileACallIsInFlight) {
  auto token = std::make_shared<int>();
  auto syncer = [](FileSystem* on, std::filesystem::path path, std::shared_ptr<int>) -> asio::awaitable<void> {
    const Status synced = co_await on->sync_directory(std::move(path));
    EXPECT_TRUE(synced.ok());
  };
  {  // As when shards are stopped in the middle of it: the thread of the loop is gone, then the files, then the loop.
    Loop own;
    auto own_files = *make_file_system(own.executor(), GetParam());
    asio::co_spawn(own.context(), syncer(own_files.get(), directory.path(), token), [](std::exception_ptr) {});
    own.context().poll_one();
  }
  EXPECT_EQ(token.use_count(), 1);
}

INSTANTIATE_TEST_SUITE_P(Backends, FileSystemTest, testing::Values(FileBackend::kUring, FileBackend::kThreads),
                         [](const auto& param) {
                           return param.param == FileBackend::kUring ? std::string("io_uring") : std::string("threads");
                         });

// A disk that does as the script says, and records what it was asked.
class ScriptedDisk final : public internal::Disk {
 public:
  struct Log {
    std::deque<std::int32_t> answers;  // For the calls to come; then all go well.
    std::vector<Op> calls;
    std::string written;
  };
  explicit ScriptedDisk(Log* log) : log_(log) {}
  asio::awaitable<std::int32_t> run(DiskCall call) override {
    log_->calls.push_back(call.op);
    std::int32_t answer = call.op == Op::kWrite ? static_cast<std::int32_t>(call.bytes) : 0;
    if (call.op == Op::kOpen) answer = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (call.op == Op::kClose) ::close(call.fd);
    if (call.op != Op::kOpen && !log_->answers.empty()) {
      answer = log_->answers.front();
      log_->answers.pop_front();
    }
    if (call.op == Op::kWrite && answer > 0) {
      EXPECT_EQ(call.offset, log_->written.size());
      log_->written.append(static_cast<const char*>(call.from), static_cast<std::size_t>(answer));
    }
    co_return answer;
  }
  [[nodiscard]] std::string_view kind() const noexcept override { return "scripted"; }

 private:
  Log* log_;
};

class ScriptedFileTest : public testing::Test {
 protected:
  Loop loop;
  ScriptedDisk::Log log;
  std::unique_ptr<FileSystem> files = internal::make_disk_file_system(std::make_unique<ScriptedDisk>(&log));
  std::unique_ptr<File> file = *loop.run(files->create("/somewhere/a"));
  void SetUp() override { log.calls.clear(); }
};

TEST_F(ScriptedFileTest, ShortWritesAreContinued) {
  log.answers = {3, 1};
  EXPECT_TRUE(loop.run(file->append(bytes_of("0123456789"))).ok());
  EXPECT_EQ(log.written, "0123456789");
  EXPECT_EQ(file->size(), 10u);
  EXPECT_EQ(log.calls.size(), 3u);
}

TEST_F(ScriptedFileTest, AnInterruptedWriteIsTriedAgain) {
  log.answers = {-EINTR, 4, -EAGAIN, -EINTR};
  EXPECT_TRUE(loop.run(file->append(bytes_of("0123456789"))).ok());
  EXPECT_EQ(log.written, "0123456789");
}

TEST_F(ScriptedFileTest, AnEndlessInterruptionIsAFailure) {
  log.answers.assign(1'000, -EAGAIN);
  EXPECT_EQ(loop.run(file->append(bytes_of("x"))).code(), Code::kRecover);
}

TEST_F(ScriptedFileTest, AWriteOfNothingIsAFailureAndNoLoop) {
  log.answers = {0};
  EXPECT_EQ(loop.run(file->append(bytes_of("x"))).code(), Code::kRecover);
}

TEST_F(ScriptedFileTest, AFailedWriteKillsTheFile) {
  log.answers = {4, -EIO};
  const Status appended = loop.run(file->append(bytes_of("0123456789")));
  EXPECT_EQ(appended.code(), Code::kRecover);
  EXPECT_THAT(std::string(appended.message()), HasSubstr("/somewhere/a"));
  log.calls.clear();
  EXPECT_EQ(loop.run(file->append(bytes_of("more"))).code(), Code::kRecover);
  EXPECT_EQ(loop.run(file->sync()).code(), Code::kRecover);
  EXPECT_TRUE(log.calls.empty()) << "a dead file asks the disk for nothing";
  EXPECT_EQ(loop.run(file->close()).code(), Code::kRecover);
}

TEST_F(ScriptedFileTest, AFailedSyncIsNeverRepeated) {
  for (const std::int32_t error : {-EIO, -EINTR, -EAGAIN, -ENOSPC}) {
    std::unique_ptr<File> other = *loop.run(files->create("/somewhere/b"));
    log.calls.clear();
    log.answers = {error};
    EXPECT_FALSE(loop.run(other->sync()).ok());
    EXPECT_FALSE(loop.run(other->sync()).ok());
    EXPECT_EQ(log.calls, (std::vector<Op>{Op::kSyncData}));
  }
}

TEST_F(ScriptedFileTest, TheMeaningOfAnErrorIsItsNextStep) {
  const std::vector<std::pair<int, Code>> meanings{{ENOSPC, Code::kExhausted}, {EDQUOT, Code::kExhausted},
                                                   {EROFS, Code::kInvalid},    {EACCES, Code::kInvalid},
                                                   {EIO, Code::kRecover},      {EBADF, Code::kRecover}};
  for (const auto& [error, code] : meanings) {
    log.answers = {-error};
    EXPECT_EQ(loop.run(files->rename("/a", "/b")).code(), code) << error;
  }
}

// The lock of a directory (S41).
TEST(DirectoryLock, ASecondOneIsRefusedWithTheDirectoryAndTheHolder) {
  Loop loop;
  Directory directory;
  auto files = *make_file_system(loop.executor(), FileBackend::kThreads);
  auto held = *files->lock(directory.path());
  const Result<std::unique_ptr<io::DirectoryLock>> second = files->lock(directory.path());
  EXPECT_EQ(second.code(), Code::kInvalid);
  EXPECT_EQ(second.status().exit_status(), ExitStatus::kCannotCreate);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(directory.path().string()));
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(std::to_string(::getpid())));
  held.reset();
  EXPECT_TRUE(files->lock(directory.path()).ok());
}

TEST(DirectoryLock, ADirectoryThatIsNotThereCanNotBeLocked) {
  Loop loop;
  Directory directory;
  auto files = *make_file_system(loop.executor(), FileBackend::kThreads);
  const Status locked = files->lock(directory / "none").status();
  EXPECT_EQ(locked.code(), Code::kInvalid);
  EXPECT_EQ(locked.exit_status(), ExitStatus::kCannotCreate);
}

TEST(DirectoryLock, KillingTheHolderReleasesIt) {
  Directory directory;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Loop loop;
    auto files = internal::make_disk_file_system(nullptr);  // Locking needs no disk, and a fork no threads.
    const auto held = files->lock(directory.path());
    const char told = held.ok() ? 'y' : 'n';
    if (::write(ready[1], &told, 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char told = 0;
  ASSERT_EQ(::read(ready[0], &told, 1), 1);
  ASSERT_EQ(told, 'y');
  auto files = internal::make_disk_file_system(nullptr);
  const Status refused = files->lock(directory.path()).status();
  EXPECT_EQ(refused.code(), Code::kInvalid);
  EXPECT_THAT(std::string(refused.message()), HasSubstr(std::to_string(child)));
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  int how = 0;
  ASSERT_EQ(::waitpid(child, &how, 0), child);
  EXPECT_TRUE(files->lock(directory.path()).ok());
  ::close(ready[0]);
  ::close(ready[1]);
}

// Where io_uring is forbidden. The process forbids it to itself, so each case is a process of its own.
void forbid_io_uring(int error) {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{static_cast<unsigned short>(std::size(program)), program};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    ::_exit(2);
  }
}

/// 0 when everything is as it should be.
int use_files_without_io_uring(int error) {
  forbid_io_uring(error);
  std::ostringstream lines;
  set_logger(std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(lines)));
  Loop loop;
  Directory directory;
  for (int shard = 0; shard < 3; ++shard) {
    auto files = *make_file_system(loop.executor(), FileBackend::kAutomatic);
    if (files->kind() != "threads") return 3;
    if (!loop.run(write_file(files.get(), directory / "a", "text")).ok()) return 4;
  }
  const std::string text = lines.str();
  if (text.find("io_uring") == std::string::npos || text.find("io_uring", text.find('\n')) != std::string::npos) return 5;
  const Status asked = make_file_system(loop.executor(), FileBackend::kUring).status();
  return asked.code() == Code::kInvalid ? 0 : 6;
}

class ForbiddenUring : public testing::TestWithParam<int> {};
TEST_P(ForbiddenUring, ThreadsTakeItsPlaceWithOneWarning) {
  EXPECT_EXIT(::_exit(use_files_without_io_uring(GetParam())), testing::ExitedWithCode(0), "");
}
INSTANTIATE_TEST_SUITE_P(Errors, ForbiddenUring, testing::Values(ENOSYS, EPERM, EACCES));

}  // namespace
}  // namespace sluice::io
