// Goal: what a row finds in a table kept from a stream: the last that was said, nothing, or what is to come.
// Method: operators called directly with restarts in between; then whole jobs on one shard and on eight.
#include "job_fixture.h"
#include "joins_fixture.h"

#include "../../support/log_lines.h"

#include <thread>

#include <gmock/gmock.h>

namespace sluice {
namespace {

using namespace joins_test;
using ::testing::HasSubstr;
using Counted = std::map<Pair, int>;
using Table = std::optional<Row>;  // Without a value, the key goes.

template <JoinKind kKind>
auto lookup(LookupOptions options = {}) {
  return [=] { return std::make_unique<LookupJoin<std::int64_t, Row, Table, kKind, joins_test::Ids>>(joins_test::Ids(), options); };
}
auto waiting(LookupOptions options = {}) {
  return [=] { return std::make_unique<WaitingJoin<std::int64_t, Row, Table, joins_test::Ids>>(joins_test::Ids(), options); };
}

TEST(LookupJoin, ARowGetsWhatTheTableLastSaid) {
  for (const std::uint16_t shards : {1, 8}) {
    Harness<Row, Table> join(lookup<JoinKind::kLeft>(), shards);
    ASSERT_TRUE(join.left({1, 1}, at(10)).ok());
    ASSERT_TRUE(join.right({1, 101}, at(500)).ok());
    ASSERT_TRUE(join.left({1, 2}, at(20)).ok());
    join.restart(3);
    ASSERT_TRUE(join.left({1, 3}, at(20)).ok());
    ASSERT_TRUE(join.right({1, 102}, at(400)).ok());
    ASSERT_TRUE(join.left({1, 4}, at(20)).ok());
    ASSERT_TRUE(join.right(1, std::nullopt, at(500)).ok());
    ASSERT_TRUE(join.left({1, 5}, at(20)).ok());
    EXPECT_EQ(join.counted(), (Counted{{{1, 0}, 1}, {{2, 101}, 1}, {{3, 101}, 1}, {{4, 102}, 1}, {{5, 0}, 1}}));
    EXPECT_EQ(join.results[1].time, at(20));  // The row's own.
  }
}

TEST(LookupJoin, AnInnerOneDropsWhatFindsNothing) {
  Harness<Row, Table> join(lookup<JoinKind::kInner>(), 1);
  ASSERT_TRUE(join.left({1, 1}, at(10)).ok());
  ASSERT_TRUE(join.right({1, 101}, at(10)).ok());
  ASSERT_TRUE(join.left({1, 2}, at(10)).ok());
  EXPECT_EQ(join.counted(), (Counted{{{2, 101}, 1}}));
}

TEST(LookupJoin, AWaitingRowComesWithItsTableRow) {
  for (const std::uint16_t shards : {1, 8}) {
    Harness<Row, Table> join(waiting(), shards);
    ASSERT_TRUE(join.left({1, 1}, at(10)).ok());
    ASSERT_TRUE(join.left({1, 2}, at(900)).ok());
    ASSERT_TRUE(join.left({2, 3}, at(10)).ok());
    join.restart(3);
    EXPECT_EQ(join.results.size(), 0u);
    ASSERT_TRUE(join.right({1, 101}, at(500)).ok());
    EXPECT_EQ(join.counted(), (Counted{{{1, 101}, 1}, {{2, 101}, 1}}));
    EXPECT_EQ(join.results[0].time, at(500));
    EXPECT_EQ(join.results[1].time, at(900));
    join.restart(1);
    ASSERT_TRUE(join.left({1, 4}, at(950)).ok());
    ASSERT_TRUE(join.right(1, std::nullopt, at(950)).ok());
    ASSERT_TRUE(join.left({1, 5}, at(950)).ok());  // Waits again.
    ASSERT_TRUE(join.right({1, 102}, at(950)).ok());
    EXPECT_EQ(join.counted(), (Counted{{{1, 101}, 1}, {{2, 101}, 1}, {{4, 101}, 1}, {{5, 102}, 1}}));
  }
}

TEST(LookupJoin, BoundsAreWarnedOfAndEndTheJobByTheirNames) {
  const support::LogLines lines;
  Harness<Row, Table> table(lookup<JoinKind::kInner>({.table_rows_max = 5}), 1);
  Harness<Row, Table> rows(waiting({.waiting_rows_max = 5}), 1);
  for (std::int64_t key = 1; key <= 5; ++key) {
    EXPECT_EQ(lines.count("table_rows_max is 5"), key == 5 ? 1 : 0) << lines.text();
    EXPECT_EQ(lines.count("waiting_rows_max is 5"), key == 5 ? 1 : 0) << lines.text();
    ASSERT_TRUE(table.right({key, key}, at(0)).ok());
    ASSERT_TRUE(rows.left({key, key}, at(0)).ok());
  }
  EXPECT_THAT(lines.text(), HasSubstr("\"join\" keeps 4 rows of its table on shard 0"));
  EXPECT_EQ(lines.count("is 5"), 2) << "each once:\n" << lines.text();
  const Status full = table.right({6, 6}, at(0));
  EXPECT_EQ(full.code(), Code::kExhausted);
  EXPECT_THAT(full.to_string(), HasSubstr("table_rows_max is 5"));
  EXPECT_THAT(full.to_string(), HasSubstr("time_to_live"));
  const Status many = rows.left({6, 6}, at(0));
  EXPECT_EQ(many.code(), Code::kExhausted);
  EXPECT_THAT(many.to_string(), HasSubstr("waiting_rows_max is 5"));
  EXPECT_THAT(many.to_string(), HasSubstr("filter them"));
}

TEST(LookupJoin, ATimeToLiveEndsRowsOfTheTable) {
  Harness<Row, Table> join(lookup<JoinKind::kLeft>({.time_to_live = {.after = 10s}}), 1);
  ASSERT_TRUE(join.watermark(at(0)).ok());
  ASSERT_TRUE(join.right({1, 101}, at(0)).ok());
  ASSERT_TRUE(join.watermark(at(9'000)).ok());
  ASSERT_TRUE(join.left({1, 1}, at(9'000)).ok());
  ASSERT_TRUE(join.watermark(at(20'000)).ok());
  ASSERT_TRUE(join.left({1, 2}, at(20'000)).ok());
  EXPECT_EQ(join.counted(), (Counted{{{1, 101}, 1}, {{2, 0}, 1}}));
}

// What is found does not hang on when a watermark comes between two rows.
TEST(LookupJoin, ATimeToLiveGoesByTheRowsOwnTimes) {
  Harness<Row, Table> join(lookup<JoinKind::kLeft>({.time_to_live = {.after = 10s}}), 1);
  ASSERT_TRUE(join.watermark(at(0)).ok());
  ASSERT_TRUE(join.right({1, 101}, at(0)).ok());
  ASSERT_TRUE(join.left({1, 1}, at(9'999)).ok());
  ASSERT_TRUE(join.left({1, 2}, at(10'000)).ok());
  ASSERT_TRUE(join.right({1, 102}, at(50'000)).ok());
  ASSERT_TRUE(join.watermark(at(50'000)).ok());
  ASSERT_TRUE(join.left({1, 3}, at(50'001)).ok());
  EXPECT_EQ(join.counted(), (Counted{{{1, 101}, 1}, {{2, 0}, 1}, {{3, 102}, 1}}));
}

class Lookup : public testing::TestWithParam<std::uint16_t> {};
INSTANTIATE_TEST_SUITE_P(Shards, Lookup, testing::Values(1, 8));

// Whichever side is ahead, each of them comes once.
TEST_P(Lookup, EveryOrderFindsItsCustomer) {
  Collected<Pair> out;
  Directory directory;
  Job job{"orders"};
  job.checkpoint({.interval = 1ms, .directory = directory.path}).shards(GetParam());
  auto orders = job.from(splits<Event>({.splits = 5, .count = 4'000, .batch = 100}, [](int split, int n, Arena&) {
    return Event{n % 1'000, n * 10 + split, 0};
  }), "orders");
  auto customers = job.from(splits<Event>({.splits = 2, .count = 500, .batch = 7}, [](int split, int n, Arena&) {
    return Event{split * 500 + n - 1, split * 500 + n - 1, 0};
  }), "customers");
  orders.key_by(&Event::key)
      .lookup(customers.key_by(&Event::key))
      .waiting("named", [](const Event& order, const Event& customer) { return Pair(order.id, customer.id); })
      .to(out.sink());
  ASSERT_TRUE(run_to_end(std::move(job)).ok());
  const std::vector<Pair> rows = out.take();
  std::map<std::int64_t, std::int64_t> found(rows.begin(), rows.end());
  EXPECT_EQ(rows.size(), 20'000u);
  EXPECT_EQ(found.size(), 20'000u);
  for (const auto& [order, customer] : found) EXPECT_EQ(order / 10 % 1'000, customer);
}

TEST_P(Lookup, ABroadcastTableIsWholeOnEveryShard) {
  Collected<Pair> out;
  Directory directory;
  Job job{"rates"};
  job.checkpoint({.interval = 1ms, .directory = directory.path}).shards(GetParam());
  // Nothing orders the two sides: rows that come before their rate find none.
  auto rows = job.from(splits<Event>({.splits = 8, .count = 5'000, .batch = 50}, [](int split, int n, Arena&) {
    return Event{n % 50, n * 10 + split, 0};
  }), "rows");
  auto rates = job.from(splits<Event>({.splits = 1, .count = 40}, [](int, int n, Arena&) { return Event{n - 1, n - 1, 0}; }), "rates");
  rows.lookup_broadcast(rates, &Event::key, &Event::key)
      .left("rated", [](const Event& row, const Event* rate) { return Pair(row.id, rate == nullptr ? -1 : rate->id); })
      .to(out.sink());
  ASSERT_TRUE(run_to_end(std::move(job)).ok());
  std::size_t known = 0;
  const std::vector<Pair> made = out.take();
  EXPECT_EQ(made.size(), 40'000u);
  for (const auto& [row, rate] : made) {
    if (rate == -1) continue;
    ++known;
    EXPECT_EQ(row / 10 % 50, rate);
    EXPECT_LT(rate, 40);
  }
  EXPECT_GT(known, 0u);
}

TEST(LookupJoin, ContentsArePartOfTheTypeOfEachState) {
  const auto type = [](auto op) {
    StateSet states;
    op->declare(states);
    return states.all().front().second->type();
  };
  using Key = std::int64_t (*)(const Row&);
  using Broadcast = BroadcastJoin<Row, Row, Key, Key, JoinKind::kLeft, joins_test::Ids>;
  const Key key = [](const Row& row) { return row.key; };
  const LookupOptions plain, by_id{.contents = "rows by id"};
  EXPECT_TRUE(type(lookup<JoinKind::kLeft>(plain)()).starts_with("value<"));
  EXPECT_TRUE(type(lookup<JoinKind::kLeft>(by_id)()).starts_with("value of rows by id<"));
  EXPECT_TRUE(type(waiting(plain)()).starts_with("waiting_join<"));
  EXPECT_TRUE(type(waiting(by_id)()).starts_with("waiting_join of rows by id<"));
  EXPECT_TRUE(type(std::make_unique<Broadcast>(key, key, joins_test::Ids(), plain)).starts_with("broadcast<"));
  EXPECT_TRUE(type(std::make_unique<Broadcast>(key, key, joins_test::Ids(), by_id)).starts_with("broadcast of rows by id<"));
}

TEST(BroadcastTable, IsWrittenOnceAndReadByEveryShard) {
  internal::BroadcastTable<std::string, std::int64_t> first, second;
  Context zero, one;
  one.shard = ShardId(1);
  zero.parallelism = one.parallelism = 2;
  first.open(zero);
  second.open(one);
  for (auto* table : {&first, &second}) {
    table->set("EUR", 1);
    table->set("USD", 2);
    table->set("GBP", 3);
    table->erase("GBP");
  }
  std::string written, none;
  first.save(written);
  second.save(none);
  EXPECT_FALSE(written.empty());
  EXPECT_TRUE(none.empty());
  for (std::uint16_t shard = 0; shard < 3; ++shard) {
    internal::BroadcastTable<std::string, std::int64_t> restored;
    Context context;
    context.shard = ShardId(shard);
    context.parallelism = 3;
    restored.open(context);
    ASSERT_TRUE(restored.restore(written, context).ok());
    ASSERT_TRUE(restored.restore(none, context).ok());
    EXPECT_EQ(restored.size(), 2u);
    EXPECT_EQ(*restored.find("USD"), 2);
    EXPECT_EQ(restored.restore(written.substr(1), context).code(), Code::kCorrupt);
  }
}

}  // namespace
}  // namespace sluice
