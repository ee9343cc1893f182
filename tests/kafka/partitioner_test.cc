// Goal: a record goes where a Java producer, or one on librdkafka, would have put it (case S55),
// and where its source partition
//       says otherwise.
// Method: tables of keys with the partitions that those producers choose; no broker.
#include <sluice/kafka/internal/picker.h>
#include <sluice/kafka/partitioner.h>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace sluice::kafka {
namespace {

using internal::Picker;

SinkRecord keyed(Bytes key) {
  SinkRecord record;
  record.key = key;
  return record;
}
SinkRecord keyed(std::string_view key) { return keyed(Bytes(key)); }

struct JavaCase {
  std::string key;
  std::int32_t partitions, partition;
};
class Murmur2 : public testing::TestWithParam<JavaCase> {};
TEST_P(Murmur2, PutsAKeyWhereJavaDoes) {
  EXPECT_EQ(java_partition(GetParam().key, GetParam().partitions), GetParam().partition);
}
INSTANTIATE_TEST_SUITE_P(S55, Murmur2,
                         testing::Values(JavaCase{"meter-001", 10, 8}, JavaCase{"meter-002", 10, 1},
                                         JavaCase{"meter-003", 10, 6}, JavaCase{"meter-004", 10, 4},
                                         JavaCase{"meter-005", 10, 5}, JavaCase{"zähler-7", 10, 7},
                                         JavaCase{"計-1", 10, 8}, JavaCase{"TT0124", 10, 0},
                                         JavaCase{"TT0124", 15, 10}, JavaCase{"", 10, 1}));

// Values of Kafka's own UtilsTest.
TEST(Murmur2, HashesAsKafkasTestSays) {
  EXPECT_EQ(static_cast<std::int32_t>(murmur2("21")), -973932308);
  EXPECT_EQ(static_cast<std::int32_t>(murmur2("foobar")), -790332482);
  EXPECT_EQ(static_cast<std::int32_t>(murmur2("a-little-bit-long-string")), -985981536);
  EXPECT_EQ(static_cast<std::int32_t>(murmur2("a-little-bit-longer-string")), -1486304829);
  EXPECT_EQ(static_cast<std::int32_t>(murmur2("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8")),
            -58897971);
  EXPECT_EQ(static_cast<std::int32_t>(murmur2("abc")), 479470107);
}

TEST(Crc32, PutsAKeyWhereLibrdkafkaDoes) {
  EXPECT_EQ(librdkafka_partition("TT0124", 15), 9);
  // CRC32("123456789") is 0xcbf43926 by definition.
  EXPECT_EQ(librdkafka_partition("123456789", 1000), static_cast<std::int32_t>(0xcbf43926u % 1000));
}

TEST(Picker, KeepsTheSourcesPartitionModuloTheTargets) {
  Picker picker(keep(), ShardId(0));
  const Split split{"in", 7};
  picker.start_batch(&split);
  EXPECT_EQ(picker.pick(keyed("any"), 10), 7);
  EXPECT_EQ(picker.pick(keyed("other"), 4), 3);
  EXPECT_EQ(picker.pick(keyed(Bytes()), 10), 7);
  const Split next{"in", 2};
  picker.start_batch(&next);
  EXPECT_EQ(picker.pick(keyed("any"), 10), 2);
}
TEST(Picker, WithoutASourcePartitionKeepMeansTheKey) {
  Picker picker(keep(), ShardId(0));
  picker.start_batch(nullptr);
  EXPECT_EQ(picker.pick(keyed("meter-001"), 10), 8);
}
TEST(Picker, RecordsWithoutAKeyStayTogetherInABatchAndAreSpreadOverBatches) {
  for (const Partitioner& partitioner : {hash_murmur2(), hash_librdkafka()}) {
    Picker picker(partitioner, ShardId(0));
    std::set<std::int32_t> seen;
    for (int batch = 0; batch < 10; ++batch) {
      picker.start_batch(nullptr);
      const std::int32_t first = picker.pick(keyed(Bytes()), 10);
      EXPECT_EQ(picker.pick(keyed(Bytes()), 10), first);
      seen.insert(first);
    }
    EXPECT_EQ(seen.size(), 10u);
  }
}
TEST(Picker, AnEmptyKeyIsAKeyForJavaAndNoneForLibrdkafka) {
  Picker java(hash_murmur2(), ShardId(0)), crc(hash_librdkafka(), ShardId(0));
  std::set<std::int32_t> by_java, by_crc;
  for (int batch = 0; batch < 10; ++batch) {
    java.start_batch(nullptr);
    crc.start_batch(nullptr);
    by_java.insert(java.pick(keyed(Bytes("", 0)), 10));
    by_crc.insert(crc.pick(keyed(Bytes("", 0)), 10));
  }
  EXPECT_EQ(by_java, std::set<std::int32_t>{1});  // S54
  EXPECT_EQ(by_crc.size(), 10u);
}
TEST(Picker, FixedGoesByShardAndRoundRobinByRecord) {
  Picker fixed_one(fixed(), ShardId(5));
  fixed_one.start_batch(nullptr);
  EXPECT_EQ(fixed_one.pick(keyed("a"), 4), 1);
  Picker turns(round_robin(), ShardId(0));
  turns.start_batch(nullptr);
  const std::int32_t first = turns.pick(keyed("a"), 3);
  EXPECT_EQ(turns.pick(keyed("a"), 3), (first + 1) % 3);
  EXPECT_EQ(turns.pick(keyed("a"), 3), (first + 2) % 3);
}
TEST(Picker, AnOwnFunctionSeesTheRecord) {
  Picker own(partition_by([](const SinkRecord& record, std::int32_t partitions) {
               return static_cast<std::int32_t>(record.key.size()) % partitions;
             }),
             ShardId(0));
  own.start_batch(nullptr);
  EXPECT_EQ(own.pick(keyed("four"), 10), 4);
}

}  // namespace
}  // namespace sluice::kafka
