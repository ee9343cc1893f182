// Goal: the checker catches each kind of fault that a broken commit can leave behind, and nothing
// else. Method: a sound history of two source partitions, then the same with one thing wrong; no
// broker.
#include "commands/history_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace sluice::tools {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = HistoryCheck::Kind;

constexpr std::uint64_t kRecords = 100;

struct Entry {
  std::int32_t partition;
  std::uint64_t sequence;
  std::uint64_t number;
};
using History = std::vector<Entry>;  // Of one output partition a source partition.

History sound() {
  History history;
  for (std::uint64_t at = 0; at < kRecords; ++at) {
    for (const std::int32_t partition : {0, 1}) history.push_back({partition, at, at + 1});
  }
  return history;
}

// Where record `sequence` of source partition 0 stands.
std::size_t place(std::uint64_t sequence) { return static_cast<std::size_t>(sequence) * 2; }

HistoryCheck::Verdict judge(const History& history, bool expect = true, bool numbers = true) {
  HistoryCheck check({.numbers = numbers});
  if (expect) {
    for (const std::int32_t partition : {0, 1}) check.expect("p", partition, kRecords, "in");
  }
  for (const std::int32_t partition : {0, 1}) check.add_lane("out", partition);
  std::int64_t offsets[] = {0, 0};
  for (const Entry& entry : history) {
    const RecordHeader header{.producer = "p",
                              .partition = entry.partition,
                              .sequence = entry.sequence,
                              .due_us = 0,
                              .number = entry.number};
    check.record(static_cast<std::size_t>(entry.partition), offsets[entry.partition]++, header);
  }
  return check.finish();
}

std::vector<std::uint64_t> counts(const HistoryCheck::Verdict& verdict) {
  return {verdict.counts.begin(), verdict.counts.end()};
}
std::vector<std::uint64_t> only(Kind kind, std::uint64_t count) {
  std::vector<std::uint64_t> wanted(HistoryCheck::kKinds, 0);
  wanted[static_cast<std::size_t>(kind)] = count;
  return wanted;
}

TEST(HistoryCheck, ASoundHistoryIsClean) {
  const auto verdict = judge(sound());
  EXPECT_TRUE(verdict.clean());
  EXPECT_THAT(counts(verdict), Each(0));
  EXPECT_THAT(verdict.examples, IsEmpty());
  EXPECT_EQ(verdict.records, 2 * kRecords);
  EXPECT_EQ(verdict.expected, 2 * kRecords);
}

TEST(HistoryCheck, OneLostRecordIsNamed) {
  History history = sound();
  history.erase(history.begin() + static_cast<std::ptrdiff_t>(place(40)));
  const auto verdict = judge(history, true, false);
  EXPECT_EQ(counts(verdict), only(Kind::kLost, 1));
  ASSERT_THAT(verdict.examples, SizeIs(1));
  EXPECT_EQ(verdict.examples[0].to_string(), "lost p=p n=0 s=40");
}

TEST(HistoryCheck, OneLostRecordIsNoticedWithoutExpectation) {
  History history = sound();
  history.erase(history.begin() + static_cast<std::ptrdiff_t>(place(40)));
  EXPECT_EQ(counts(judge(history, false, false)), only(Kind::kLost, 1));
}

TEST(HistoryCheck, ALostEndIsNoticedWithExpectationOnly) {
  History history = sound();
  history.resize(history.size() - 20);  // Ten of each partition.
  EXPECT_EQ(counts(judge(history)), only(Kind::kLost, 20));
  EXPECT_TRUE(judge(history, false).clean());
}

TEST(HistoryCheck, OneDoubledRecordIsNamedWithItsPlace) {
  History history = sound();
  history.insert(history.begin() + static_cast<std::ptrdiff_t>(place(41)), history[place(40)]);
  const auto verdict = judge(history, true, false);
  EXPECT_EQ(counts(verdict), only(Kind::kDuplicate, 1));
  ASSERT_THAT(verdict.examples, SizeIs(1));
  EXPECT_EQ(verdict.examples[0].to_string(), "duplicate p=p n=0 s=40 at out[0] offset 41");
}

TEST(HistoryCheck, TheLastRecordDoubledIsNoticed) {
  History history = sound();
  history.push_back(history.back());
  EXPECT_EQ(counts(judge(history, true, false)), only(Kind::kDuplicate, 1));
}

TEST(HistoryCheck, TwoSwappedRecordsAreOneDisorder) {
  History history = sound();
  std::swap(history[place(40)], history[place(41)]);
  const auto verdict = judge(history, true, false);
  EXPECT_EQ(counts(verdict), only(Kind::kDisorder, 1));
  EXPECT_EQ(verdict.examples[0].to_string(),
            "out_of_order p=p n=0 s=40 at out[0] offset 41: behind s=41");
}

// Epoch 30 to 59 came out of one partition and not out of the other.
TEST(HistoryCheck, ATornEpochIsLossInOnePartition) {
  History history;
  for (const Entry& entry : sound()) {
    if (entry.partition == 0 || entry.sequence < 30 || entry.sequence >= 60)
      history.push_back(entry);
  }
  const auto verdict = judge(history, true, false);
  EXPECT_EQ(counts(verdict), only(Kind::kLost, 30));
  EXPECT_THAT(verdict.examples, SizeIs(5));  // Enough to find it, not all of it.
}

// The output was committed, the positions were not: the epoch comes again behind itself.
TEST(HistoryCheck, AnEpochDoneTwiceIsDuplicates) {
  History history;
  for (const std::int32_t partition : {0, 1}) {
    for (std::uint64_t at = 0; at < 60; ++at) history.push_back({partition, at, at + 1});
    for (std::uint64_t at = 30; at < kRecords; ++at) history.push_back({partition, at, at + 1});
  }
  EXPECT_EQ(counts(judge(history, true, false)), only(Kind::kDuplicate, 60));
}

// Restored the newest snapshot (60) with the positions of the decided one (30): every record is
// there once, the counts are not.
TEST(HistoryCheck, CountsOfAnotherEpochAreWrongNumbers) {
  History history = sound();
  for (Entry& entry : history) {
    if (entry.partition == 0 && entry.sequence >= 30) entry.number += 30;
  }
  const auto verdict = judge(history);
  EXPECT_EQ(counts(verdict), only(Kind::kNumber, 30));
  EXPECT_EQ(verdict.examples[0].to_string(),
            "wrong_number: no record of source in[0] has c=31, though one has c=130");
}

TEST(HistoryCheck, CountsThatStartAgainAreWrongNumbers) {
  History history = sound();
  for (Entry& entry : history) {
    if (entry.partition == 1 && entry.sequence >= 50) entry.number -= 50;
  }
  const auto verdict = judge(history);
  EXPECT_EQ(counts(verdict), only(Kind::kNumber, 50));
  EXPECT_EQ(verdict.examples[0].to_string(),
            "wrong_number p=p n=1 s=50 at out[1] offset 50: c=1 a second time");
}

TEST(HistoryCheck, SwappedCountsAndMissingCountsAreWrongNumbers) {
  History history = sound();
  std::swap(history[place(40)].number, history[place(41)].number);
  EXPECT_EQ(counts(judge(history)), only(Kind::kNumber, 1));

  HistoryCheck check({.numbers = true});
  check.add_lane("out", 0);
  check.record(
      0, 0, {.producer = "p", .partition = 0, .sequence = 0, .due_us = 0, .number = std::nullopt});
  check.record(0, 1, {.producer = "p", .partition = 0, .sequence = 1, .due_us = 0, .number = 0});
  EXPECT_EQ(counts(check.finish()), only(Kind::kNumber, 2));
}

TEST(HistoryCheck, TwoProducersOfOneSourcePartitionShareItsCounts) {
  for (const bool same_topic : {true, false}) {
    HistoryCheck check({.numbers = true});
    check.expect("a", 0, 2, "in");
    check.expect("b", 0, 2, same_topic ? "in" : "other");
    check.add_lane("out", 0);
    std::int64_t offset = 0;
    for (const auto& [producer, sequence] : {std::pair{"a", 0}, {"b", 0}, {"b", 1}, {"a", 1}}) {
      check.record(0, offset,
                   {.producer = producer,
                    .partition = 0,
                    .sequence = static_cast<std::uint64_t>(sequence),
                    .due_us = 0,
                    .number = static_cast<std::uint64_t>(offset + 1)});
      ++offset;
    }
    const auto verdict = check.finish();
    EXPECT_EQ(verdict.clean(),
              same_topic);  // In topics of their own both should have counted from 1.
  }
}

TEST(HistoryCheck, AStreamSpreadOverPartitionsIsCleanInAnyOrderBetweenThem) {
  HistoryCheck check({});
  check.expect("p", 0, 1000, "in");
  for (const std::int32_t lane : {0, 1, 2}) check.add_lane("out", lane);
  for (const std::size_t lane : {2u, 0u, 1u}) {
    for (std::uint64_t at = lane; at < 1000; at += 3) {
      check.record(lane, static_cast<std::int64_t>(at / 3),
                   {.producer = "p", .partition = 0, .sequence = at, .due_us = 0, .number = {}});
    }
  }
  EXPECT_TRUE(check.finish().clean());
}

TEST(HistoryCheck, ADuplicateInAnotherPartitionIsNoticed) {
  HistoryCheck check({});
  for (const std::int32_t lane : {0, 1}) check.add_lane("out", lane);
  for (const std::size_t lane : {0u, 1u}) {
    check.record(lane, 0,
                 {.producer = "p", .partition = 0, .sequence = 0, .due_us = 0, .number = {}});
  }
  EXPECT_EQ(counts(check.finish()), only(Kind::kDuplicate, 1));
}

TEST(HistoryCheck, WhatTheSourceNeverHadIsUnexpected) {
  HistoryCheck check({});
  check.expect("p", 0, 1, "in");
  check.add_lane("out", 0);
  check.record(0, 0, {.producer = "p", .partition = 0, .sequence = 0, .due_us = 0, .number = {}});
  check.record(0, 1, {.producer = "p", .partition = 0, .sequence = 1, .due_us = 0, .number = {}});
  check.record(0, 2,
               {.producer = "other", .partition = 0, .sequence = 0, .due_us = 0, .number = {}});
  EXPECT_EQ(counts(check.finish()), only(Kind::kUnexpected, 2));
}

TEST(HistoryCheck, ARecordWithoutHeaderIsUnreadable) {
  HistoryCheck check({});
  check.add_lane("out", 3);
  check.unreadable(0, 17, "no header");
  const auto verdict = check.finish();
  EXPECT_EQ(counts(verdict), only(Kind::kUnreadable, 1));
  EXPECT_EQ(verdict.examples[0].to_string(), "unreadable at out[3] offset 17: no header");
}

}  // namespace
}  // namespace sluice::tools
