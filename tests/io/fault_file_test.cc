// Goal: the layer injects what its specification says, and nothing else; short writes stay invisible.
// Method: a table of specifications that do not parse; then each fault over the real file system.
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sluice/io/file.h>

#include "directory.h"
#include "loop.h"

namespace sluice::io {
namespace {

using testing::HasSubstr;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

class FaultFileTest : public testing::Test {
 protected:
  Result<std::unique_ptr<FileSystem>> make(std::string_view specification) {
    return make_fault_file_system(loop.executor(), *make_file_system(loop.executor(), FileBackend::kAutomatic),
                                  specification);
  }
  std::unique_ptr<File> create(FileSystem& files, const std::string& name) {
    return *loop.run(files.create(directory / name));
  }
  std::string content(const std::string& name) {
    std::ifstream in(directory / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::vector<Code> append_each(FileSystem& files, int count) {
    std::vector<Code> codes;
    for (int at = 0; at < count; ++at) {
      auto file = create(files, "each");
      codes.push_back(loop.run(file->append(bytes_of("0123456789"))).code());
    }
    return codes;
  }
  Loop loop;
  Directory directory;
};

TEST_F(FaultFileTest, WithoutRulesNothingHappens) {
  auto files = *make("");
  auto file = create(*files, "a");
  EXPECT_TRUE(loop.run(file->append(bytes_of("text"))).ok());
  EXPECT_TRUE(loop.run(file->sync()).ok());
  EXPECT_TRUE(loop.run(file->close()).ok());
  EXPECT_EQ(*loop.run(files->read(directory / "a", 4)), "text");
  EXPECT_THAT(std::string(files->kind()), HasSubstr("faults"));
}

TEST_F(FaultFileTest, EveryThirdWriteFindsTheDiskFull) {
  auto files = *make("write:enospc:every=3");
  const Code ok = Code::kOk, full = Code::kExhausted;
  EXPECT_EQ(append_each(*files, 7), (std::vector<Code>{ok, ok, full, ok, ok, full, ok}));
}

TEST_F(FaultFileTest, TheNthFailsOnce) {
  auto files = *make("write:eio:nth=2");
  const Code ok = Code::kOk;
  EXPECT_EQ(append_each(*files, 5), (std::vector<Code>{ok, Code::kRecover, ok, ok, ok}));
}

TEST_F(FaultFileTest, WithoutACountAllFail) {
  auto files = *make("write:eio");
  EXPECT_EQ(append_each(*files, 2), (std::vector<Code>{Code::kRecover, Code::kRecover}));
}

TEST_F(FaultFileTest, OnlyPathsThatMatchAreCountedAndFail) {
  auto files = *make("write:enospc:every=2,path=snapshot");
  for (int at = 0; at < 2; ++at) {
    auto other = create(*files, "manifest");
    EXPECT_TRUE(loop.run(other->append(bytes_of("x"))).ok());
    auto file = create(*files, "snapshot");
    EXPECT_EQ(loop.run(file->append(bytes_of("x"))).ok(), at == 0);
  }
}

TEST_F(FaultFileTest, AShortWriteIsInvisible) {
  auto files = *make("write:short:every=2");
  auto file = create(*files, "a");
  for (int at = 0; at < 5; ++at) EXPECT_TRUE(loop.run(file->append(bytes_of("01234"))).ok());
  EXPECT_EQ(file->size(), 25u);
  EXPECT_EQ(content("a"), "0123401234012340123401234");
}

TEST_F(FaultFileTest, ATornWriteLeavesHalfAndKillsTheFile) {
  auto files = *make("write:torn:nth=2");
  auto file = create(*files, "a");
  EXPECT_TRUE(loop.run(file->append(bytes_of("whole."))).ok());
  EXPECT_EQ(loop.run(file->append(bytes_of("0123456789"))).code(), Code::kRecover);
  EXPECT_EQ(loop.run(file->append(bytes_of("more"))).code(), Code::kRecover);
  EXPECT_EQ(loop.run(file->sync()).code(), Code::kRecover);
  EXPECT_EQ(content("a"), "whole.01234");
}

TEST_F(FaultFileTest, AFailedSyncKillsTheFile) {
  auto files = *make("sync:eio:nth=1");
  auto file = create(*files, "a");
  EXPECT_EQ(loop.run(file->sync()).code(), Code::kRecover);
  EXPECT_EQ(loop.run(file->sync()).code(), Code::kRecover) << "a second sync that succeeds would lie";
  EXPECT_EQ(loop.run(file->close()).code(), Code::kRecover);
  auto other = create(*files, "b");
  EXPECT_TRUE(loop.run(other->sync()).ok());
}

TEST_F(FaultFileTest, CreateRenameReadAndSyncOfADirectoryFailOnce) {
  auto files = *make("create:enospc:nth=1;rename:eio:nth=1;read:eio:nth=1;syncdir:eio:nth=1");
  const Status created = loop.run(files->create(directory / "a")).status();
  EXPECT_EQ(created.code(), Code::kExhausted);
  EXPECT_THAT(std::string(created.message()), HasSubstr((directory / "a").string()));
  create(*files, "a");
  EXPECT_EQ(loop.run(files->rename(directory / "a", directory / "b")).code(), Code::kRecover);
  EXPECT_TRUE(loop.run(files->rename(directory / "a", directory / "b")).ok());
  EXPECT_EQ(loop.run(files->read(directory / "b", 1)).code(), Code::kRecover);
  EXPECT_TRUE(loop.run(files->read(directory / "b", 1)).ok());
  EXPECT_EQ(loop.run(files->sync_directory(directory.path())).code(), Code::kRecover);
  EXPECT_TRUE(loop.run(files->sync_directory(directory.path())).ok());
}

TEST_F(FaultFileTest, ARenameMatchesByEitherPath) {
  auto files = *make("rename:eio:path=MANIFEST");
  create(*files, "a.tmp");
  EXPECT_FALSE(loop.run(files->rename(directory / "a.tmp", directory / "MANIFEST")).ok());
  EXPECT_TRUE(loop.run(files->rename(directory / "a.tmp", directory / "b")).ok());
}

TEST_F(FaultFileTest, ASlowCallStillDoesItsWork) {
  auto files = *make("sync:slow=1us;write:slow=1us:every=1;write:eio:nth=2");
  auto file = create(*files, "a");
  EXPECT_TRUE(loop.run(file->append(bytes_of("text"))).ok());
  EXPECT_TRUE(loop.run(file->sync()).ok());
  EXPECT_FALSE(loop.run(file->append(bytes_of("text"))).ok()) << "slow, and then the fault of another rule";
}

class BadSpecification : public FaultFileTest, public testing::WithParamInterface<const char*> {};
TEST_P(BadSpecification, IsInvalidAndSaysWhy) {
  const Status made = make(GetParam()).status();
  EXPECT_EQ(made.code(), Code::kInvalid);
  EXPECT_THAT(std::string(made.message()), HasSubstr("file faults"));
}
INSTANTIATE_TEST_SUITE_P(Table, BadSpecification,
                         testing::Values("write", "write:", ":eio", "erase:eio", "write:fire", "write:eio=3",
                                         "write:eio:every", "write:eio:every=", "write:eio:every=0",
                                         "write:eio:every=x", "write:eio:every=3x", "write:eio:nth=-1",
                                         "write:eio:every=2,nth=2", "write:eio:path=", "write:eio:size=3",
                                         "sync:short", "read:torn", "write:slow", "write:slow=", "write:slow=5",
                                         "write:slow=5min", "write:slow=99999999999s", "write:eio;sync"));

}  // namespace
}  // namespace sluice::io
