// Goal: answers are read field by field, and no answer, however cut or claimed, is read past its
// end. Method: answers built by hand after the protocol guide; then every truncation and every byte
// changed.
#include "commands/wire.h"

#include "commands/job_registers.h"
#include "commands/wire_client.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::tools {
namespace {

using ::testing::ElementsAre;

std::string transactions_answer() {
  WireWriter out;
  out.i32(0);
  out.array(1);
  out.i16(0);
  out.compact_string("sluice-job");
  out.compact_string("Ongoing");
  out.i32(60'000);
  out.i64(1'700'000'000'000);
  out.i64(4711);
  out.i16(12);
  out.array(1);
  out.compact_string("out");
  out.array(2);
  out.i32(0);
  out.i32(3);
  out.no_tags();
  out.no_tags();
  out.no_tags();
  return out.bytes();
}

std::string producers_answer() {
  WireWriter out;
  out.i32(0);
  out.array(1);
  out.compact_string("out");
  out.array(1);
  out.i32(3);
  out.i16(0);
  out.uvarint(0);  // null message
  out.array(2);
  for (const std::int64_t start : {std::int64_t{-1}, std::int64_t{100}}) {
    out.i64(4711);
    out.i32(12);
    out.i32(5);
    out.i64(1'700'000'000'000);
    out.i32(0);
    out.i64(start);
    out.no_tags();
  }
  out.no_tags();
  out.no_tags();
  out.uvarint(1);  // one tagged field, to be skipped
  out.uvarint(9);
  out.uvarint(2);
  out.i16(0x6162);
  return out.bytes();
}

TEST(Wire, ATransactionIsDescribed) {
  std::vector<TransactionState> states;
  ASSERT_TRUE(read_transactions(transactions_answer(), states));
  ASSERT_EQ(states.size(), 1u);
  EXPECT_EQ(states[0].transactional_id, "sluice-job");
  EXPECT_EQ(states[0].state, "Ongoing");
  EXPECT_EQ(states[0].timeout_ms, 60'000);
  EXPECT_EQ(states[0].start_ms, 1'700'000'000'000);
  EXPECT_EQ(states[0].producer_id, 4711);
  EXPECT_EQ(states[0].producer_epoch, 12);
  ASSERT_EQ(states[0].topics.size(), 1u);
  EXPECT_EQ(states[0].topics[0].name, "out");
  EXPECT_THAT(states[0].topics[0].partitions, ElementsAre(0, 3));
}

TEST(Wire, ProducersOfAPartitionAreDescribed) {
  std::vector<PartitionProducers> partitions;
  ASSERT_TRUE(read_producers(producers_answer(), partitions));
  ASSERT_EQ(partitions.size(), 1u);
  EXPECT_EQ(partitions[0].partition, 3);
  ASSERT_EQ(partitions[0].producers.size(), 2u);
  EXPECT_EQ(partitions[0].producers[0].transaction_start_offset, -1);
  EXPECT_EQ(partitions[0].producers[1].transaction_start_offset, 100);
}

TEST(Wire, EveryTruncationIsRefused) {
  const std::string transactions = transactions_answer();
  const std::string producers = producers_answer();
  for (std::size_t size = 0; size < transactions.size(); ++size) {
    std::vector<TransactionState> states;
    EXPECT_FALSE(read_transactions(std::string_view(transactions).substr(0, size), states)) << size;
  }
  for (std::size_t size = 0; size < producers.size(); ++size) {
    std::vector<PartitionProducers> partitions;
    EXPECT_FALSE(read_producers(std::string_view(producers).substr(0, size), partitions)) << size;
  }
}

// What comes out may be wrong, but it is bounded by what came in: the sanitizers watch.
TEST(Wire, AnyByteMayBeAnything) {
  for (const std::string& answer : {transactions_answer(), producers_answer()}) {
    for (std::size_t at = 0; at < answer.size(); ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string changed = answer;
        changed[at] = static_cast<char>(byte);
        std::vector<TransactionState> states;
        std::vector<PartitionProducers> partitions;
        std::vector<ListedTransaction> listed;
        Coordinator coordinator;
        std::int16_t error = 0;
        read_transactions(changed, states);
        read_producers(changed, partitions);
        read_listed(changed, error, listed);
        read_coordinator(changed, coordinator);
        EXPECT_LE(states.size() + partitions.size() + listed.size(), 3 * answer.size());
      }
    }
  }
}

TEST(Wire, AnArrayCannotClaimMoreThanThereIs) {
  WireWriter out;
  out.i32(0);
  out.uvarint(0xffff'ffff'ffff);
  std::vector<TransactionState> states;
  EXPECT_FALSE(read_transactions(out.bytes(), states));
  EXPECT_TRUE(states.empty());
}

TEST(Wire, NumbersOfVariableLengthAreReadAsWritten) {
  for (const std::uint64_t value :
       {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128}, std::uint64_t{300}, UINT64_MAX}) {
    WireWriter out;
    out.uvarint(value);
    WireReader in(out.bytes());
    EXPECT_EQ(in.uvarint(), value);
    EXPECT_TRUE(in.ok());
    EXPECT_EQ(in.left(), 0u);
  }
  const std::string ones(11, '\xff');
  WireReader endless(ones);
  endless.uvarint();
  EXPECT_FALSE(endless.ok());
}

TEST(OffsetCommit, ARecordOfTheBrokersLogIsRead) {
  WireWriter key;
  key.i16(1);
  key.string("sluice-job");
  key.string("sluice-job-decisions");
  key.i32(0);
  WireWriter value;
  value.i16(3);
  value.i64(42);
  value.i32(-1);
  value.string("metadata");
  value.i64(1'700'000'000'000);
  OffsetCommitRecord record;
  ASSERT_TRUE(parse_offset_commit(key.bytes(), value.bytes(), record));
  EXPECT_EQ(record.group, "sluice-job");
  EXPECT_EQ(record.topic, "sluice-job-decisions");
  EXPECT_EQ(record.offset, 42);
  EXPECT_EQ(record.commit_ms, 1'700'000'000'000);
  for (std::size_t size = 0; size < value.bytes().size(); ++size) {
    EXPECT_FALSE(
        parse_offset_commit(key.bytes(), std::string_view(value.bytes()).substr(0, size), record));
  }
  WireWriter group;
  group.i16(2);
  group.string("sluice-job");
  EXPECT_FALSE(parse_offset_commit(group.bytes(), value.bytes(), record));
}

TEST(OffsetCommit, AGroupIsKeptWhereJavaPutsIt) {
  EXPECT_EQ(offsets_partition_of("", 50), 0);
  EXPECT_EQ(offsets_partition_of("a", 50), 97 % 50);
  EXPECT_EQ(offsets_partition_of("hello", 50), 99162322 % 50);
  EXPECT_EQ(offsets_partition_of("sluice-x", 50),
            40);  // A negative hash: its absolute value counts.
  EXPECT_EQ(offsets_partition_of("polygenelubricants", 50),
            0);  // The smallest integer has none: 0.
}

}  // namespace
}  // namespace sluice::tools
