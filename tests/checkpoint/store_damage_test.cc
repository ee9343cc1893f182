// Goal: damage is found and named, whatever it is; never a wrong restore, never part of one, never
// a changed file. Method: a small checkpoint on a disk in memory, damaged in every way that fits
// into a loop. Case S43.
#include "store_fixture.h"
#include <functional>

namespace sluice::checkpoint {
namespace {

class StoreDamage : public StoreTest {
 protected:
  void SetUp() override {
    Process process(files_, kDirectory);
    ASSERT_TRUE(process.start().ok());
    for (std::uint64_t epoch = 1; epoch <= 3; ++epoch)
      ASSERT_TRUE(process.epoch(epoch, sample(epoch)).ok());
    decided_ = process.decided;
    whole_ = disk_->all();
  }
  /// Files of the decided checkpoint.
  std::vector<std::string> files_of_checkpoint() {
    std::vector<std::string> paths;
    for (const auto& [path, bytes] : whole_) {
      if (path.find(at(decided_).string()) == 0) paths.push_back(path);
    }
    EXPECT_EQ(paths.size(), 3u);
    return paths;
  }
  /// Reads with `bytes` in the place of a file, and expects to be told so.
  void expect_found(const std::string& path, const std::string& bytes, const std::string& how) {
    disk_->put(path, bytes);
    const auto before = disk_->all();
    const auto read = process_->loop.run(process_->store->read(decided_));
    ASSERT_EQ(read.code(), Code::kCorrupt) << how << ": " << read.status().to_string();
    ASSERT_EQ(read.status().exit_status(), ExitStatus::kData);
    const std::string name = Path(path).filename().string();
    ASSERT_NE(read.status().message().find(name), std::string::npos) << read.status().to_string();
    ASSERT_TRUE(disk_->all() == before) << how;
    disk_->put(path, whole_.at(path));
  }
  void open() {
    process_ = std::make_unique<Process>(files_, kDirectory);
    ASSERT_TRUE(process_->start().ok());
  }

  Decision decided_;
  std::map<std::string, std::string> whole_;
  std::unique_ptr<Process> process_;
};

TEST_F(StoreDamage, EveryFlippedBitIsFound) {
  open();
  for (const std::string& path : files_of_checkpoint()) {
    for (std::size_t at = 0; at < whole_.at(path).size(); ++at) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string flipped = whole_.at(path);
        flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
        expect_found(path, flipped, path + " byte " + std::to_string(at));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(StoreDamage, EveryOtherValueOfEveryByteOfTheManifestIsFound) {
  open();
  const std::string path = (at(decided_) / "MANIFEST").string();
  for (std::size_t at = 0; at < whole_.at(path).size(); at += 3) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = whole_.at(path);
      if (changed[at] == static_cast<char>(value)) continue;
      changed[at] = static_cast<char>(value);
      expect_found(path, changed, path + " byte " + std::to_string(at));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(StoreDamage, EveryTruncationAndEveryExtensionIsFound) {
  open();
  for (const std::string& path : files_of_checkpoint()) {
    for (std::size_t size = 0; size < whole_.at(path).size(); ++size) {
      expect_found(path, whole_.at(path).substr(0, size), path + " cut to " + std::to_string(size));
      if (HasFatalFailure()) return;
    }
    for (const std::size_t more : {1, 4096}) {
      expect_found(path, whole_.at(path) + std::string(more, '\0'), path + " with zeros behind it");
      if (HasFatalFailure()) return;
    }
    // Sectors that never reached the disk read as zeros.
    expect_found(path, std::string(whole_.at(path).size(), '\0'), path + " all zeros");
  }
}

TEST_F(StoreDamage, AMissingFileIsFound) {
  open();
  for (const std::string& path : files_of_checkpoint()) {
    disk_->erase(path);
    const auto read = process_->loop.run(process_->store->read(decided_));
    EXPECT_EQ(read.code(), Code::kCorrupt);
    EXPECT_NE(read.status().message().find(Path(path).filename().string()), std::string::npos);
    disk_->put(path, whole_.at(path));
  }
}

TEST_F(StoreDamage, AWholeFileOfAnotherCheckpointOrShardIsFound) {
  open();
  const auto listed = entries();
  ASSERT_EQ(listed.size(), 3u);
  const Path other = Path(kDirectory) / listed[1].name.directory();
  for (const char* name : {"MANIFEST", "state-00000.snap", "state-00001.snap"}) {
    expect_found((at(decided_) / name).string(), whole_.at((other / name).string()), name);
  }
  expect_found((at(decided_) / "state-00000.snap").string(),
               whole_.at((at(decided_) / "state-00001.snap").string()), "shard");
}

TEST_F(StoreDamage, TheStateThatDiffersIsNamed) {
  open();
  const std::string path = (at(decided_) / "state-00000.snap").string();
  std::string changed = whole_.at(path);
  changed.back() = static_cast<char>(changed.back() ^ 1);
  disk_->put(path, changed);
  const auto read = process_->loop.run(process_->store->read(decided_));
  EXPECT_NE(read.status().message().find("state \"left\" of operator \"join\", shard 0"),
            std::string::npos)
      << read.status().to_string();
}

// Case S43: nothing is started from, nothing is overwritten, and the older ones can still be opened
// by a person.
TEST_F(StoreDamage, OfTheNewestLeavesTheOthersAsTheyWere) {
  const std::string manifest = (at(decided_) / "MANIFEST").string();
  const std::string state = (at(decided_) / "state-00000.snap").string();
  const std::function<void()> variants[] = {
      [&] { disk_->put(manifest, ""); },
      [&] { disk_->put(state, whole_.at(state).substr(0, whole_.at(state).size() / 2)); },
      [&] {
        std::string flipped = whole_.at(state);
        flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 1);
        disk_->put(state, flipped);
      }};
  for (const auto& damage : variants) {
    damage();
    const auto before = disk_->all();
    {
      Process process(files_, kDirectory);
      ASSERT_TRUE(process.start().ok());
      EXPECT_EQ(process.decided.epoch, Epoch(3));
      EXPECT_EQ(process.loop.run(process.store->read(process.decided)).code(), Code::kCorrupt);
      auto after = disk_->all();
      for (const char* own : {"JOB", "DECIDED"})
        EXPECT_EQ(after.at(std::string(kDirectory) + '/' + own),
                  before.at(std::string(kDirectory) + '/' + own));
      EXPECT_EQ(after, before);
      const auto older = process.loop.run(Store::inspect(files_, kDirectory, entries()[1].name));
      ASSERT_TRUE(older.ok());
      EXPECT_TRUE(same(older->data, sample(2)));
    }
    for (const auto& [path, bytes] : whole_) disk_->put(path, bytes);
  }
}

}  // namespace
}  // namespace sluice::checkpoint
