// Goal: records reach the shard of their key, each once and in the order of their split, whatever fails, stops or is slow.
// Method: whole jobs in this process on one shard and on several; a source with many splits, keyed counts that are restored.
#include "exchange_fixture.h"

#include <set>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>

namespace sluice {
namespace {

using namespace std::chrono_literals;
using namespace exchange_test;

Item numbered(int split, int n, Arena&) { return {split, n}; }

/// How keys are spread, and on how many shards.
struct Shape {
  std::string name;
  std::uint16_t shards;
  int splits, count;
  std::int64_t (*key)(const Item&);
  std::uint16_t key_groups = KeyGroups::kDefaultCount;
};
std::int64_t uniform(const Item& item) { return item.second % 997; }
std::int64_t skewed(const Item& item) { return item.second % 10 != 0 ? 7 : item.second % 1000; }
std::int64_t single(const Item&) { return 42; }
std::int64_t few(const Item& item) { return item.second % 3; }

class KeyBy : public testing::TestWithParam<Shape> {};

TEST_P(KeyBy, EveryRecordComesOnceToTheShardOfItsKeyInTheOrderOfItsSplit) {
  const Shape& shape = GetParam();
  Directory directory;
  Collected<Counted> out;
  Job job{"shape"};
  job.checkpoint({.interval = 1ms, .directory = directory.path}).shards(shape.shards);
  job.options.key_groups = shape.key_groups;
  job.from(splits<Item>({.splits = shape.splits, .count = shape.count}, numbered), "in")
      .key_by(shape.key)
      .process<Counted>("count", count_by_key())
      .to(out.sink());
  Result<Running> running = Engine().start(std::move(job));
  ASSERT_TRUE(running.ok()) << running.status().to_string();
  const Status ended = running->wait();
  ASSERT_TRUE(ended.ok()) << ended.to_string();
  EXPECT_EQ(running->metrics().value("sluice_restarts_total"), 0u);

  std::map<std::int64_t, std::uint64_t> expected, counted;
  for (int n = 1; n <= shape.count; ++n) expected[shape.key({0, n})] += static_cast<std::uint64_t>(shape.splits);
  std::map<std::pair<std::int64_t, int>, int> last;  // Of a key and a split.
  std::map<std::int64_t, int> shard;
  for (const Counted& one : out.take()) {
    ASSERT_EQ(one.key, shape.key(one.item));
    ASSERT_EQ(one.count, ++counted[one.key]) << "key " << one.key;
    int& before = last[{one.key, one.item.first}];
    ASSERT_LT(before, one.item.second) << "key " << one.key << " of split " << one.item.first;
    before = one.item.second;
    ASSERT_EQ(shard.emplace(one.key, one.shard).first->second, one.shard);
  }
  EXPECT_EQ(counted, expected);
}

INSTANTIATE_TEST_SUITE_P(Shapes, KeyBy, testing::Values(
    Shape{"one_shard", 1, 3, 50'000, uniform},
    Shape{"two_shards", 2, 4, 50'000, uniform},
    Shape{"eight_shards", 8, 16, 10'000, uniform},
    Shape{"fewer_splits_than_shards", 8, 1, 50'000, uniform},
    Shape{"skewed_keys", 4, 8, 20'000, skewed},
    Shape{"one_key", 4, 8, 20'000, single},
    Shape{"more_shards_than_keys", 8, 8, 10'000, few},
    Shape{"more_shards_than_key_groups", 8, 4, 10'000, uniform, 3}),
    [](const auto& shape) { return shape.param.name; });

TEST(Exchange, AStopDrainsWhatIsInTheLanes) {
  Directory directory;
  Collected<Counted> out;
  constexpr int kSplits = 3, kCount = 40'000;
  const auto make = [&] {
    Job job{"stopped"};
    job.checkpoint({.interval = 1ms, .directory = directory.path}).shards(2);
    job.from(splits<Item>({.splits = kSplits, .count = kCount, .batch = 100}, numbered), "in")
        .key_by(uniform)
        .process<Counted>("count", count_by_key())
        .to(out.sink());
    return job;
  };
  for (std::size_t start = 0; start < 10; ++start) {
    Result<Running> running = Engine().start(make());
    ASSERT_TRUE(running.ok());
    while (!running->done() && out.take().size() < start * 10'000) std::this_thread::sleep_for(1ms);
    running->stop();
    const Status ended = running->wait();
    ASSERT_TRUE(ended.ok() || ended.code() == Code::kCancelled) << ended.to_string();
  }
  ASSERT_TRUE(run_to_end(make()).ok());
  // Nothing crashed, so nothing was read twice.
  std::map<std::int64_t, std::uint64_t> counted;
  const auto values = out.take();
  EXPECT_EQ(values.size(), static_cast<std::size_t>(kSplits) * kCount);
  for (const Counted& one : values) ASSERT_EQ(one.count, ++counted[one.key]);
}

TEST(Exchange, ASlowSinkHoldsTheSourcesBack) {
  Directory directory;
  const auto polled = std::make_shared<std::atomic<std::int64_t>>(0);
  std::atomic<std::int64_t> written{0}, ahead{0};
  Job job{"slow"};
  job.checkpoint({.interval = 20ms, .directory = directory.path}).shards(2);
  constexpr int kBatch = 10;
  job.from(splits<Item>({.splits = 2, .count = 3'000, .batch = kBatch, .polled = polled}, numbered), "in")
      .key_by(uniform)
      .records()
      .to(for_each<Keyed<std::int64_t, Item>>([&](const auto&) {
        std::int64_t most = ahead;
        const std::int64_t now = *polled - ++written;
        while (now > most && !ahead.compare_exchange_weak(most, now)) {}
        if (written % 20 == 0) std::this_thread::sleep_for(1ms);
      }));
  const Status ended = run_to_end(std::move(job));
  ASSERT_TRUE(ended.ok()) << ended.to_string();
  EXPECT_EQ(written, 6'000);
  // Four lanes of 16 batches, and what each end has in its hands.
  EXPECT_LE(ahead, (4 * 16 + 8) * kBatch);
}

TEST(Exchange, AFailureWhileLanesAreFullEndsTheJob) {
  for (const std::uint16_t shards : {1, 2, 8}) {
    Directory directory;
    std::atomic<int> written{0};
    Job job{"full"};
    job.checkpoint({.interval = 1ms, .directory = directory.path}).shards(shards);
    job.restart({.strategy = RestartOptions::Strategy::kNone});
    job.from(splits<Item>({.splits = 8, .count = 1'000'000, .batch = 10}, numbered), "in")
        .key_by(uniform)
        .process<Counted>("count", count_by_key())
        .rebalance()
        .to(for_each<Counted>([&](const Counted&) {
          std::this_thread::sleep_for(50us);
          if (++written == 500) throw std::runtime_error("enough");
        }));
    const Status ended = run_to_end(std::move(job));
    EXPECT_EQ(ended.exit_status(), ExitStatus::kFailed);
    EXPECT_THAT(std::string(ended.message()), testing::HasSubstr("enough"));
  }
}

TEST(Exchange, AKeyFunctionThatThrowsIsNamed) {
  Directory directory;
  Collected<Keyed<int, int>> out;
  Job job{"throws"};
  job.checkpoint({.interval = 1h, .directory = directory.path}).shards(2);
  job.restart({.strategy = RestartOptions::Strategy::kNone});
  job.from(from_values<int>({1, 2, 3}))
      .key_by([](int value) { return value == 2 ? throw std::runtime_error("two") : value; }, "by-value")
      .records()
      .to(out.sink());
  const std::string why(run_to_end(std::move(job)).message());
  EXPECT_THAT(why, testing::HasSubstr("\"by-value\""));
  EXPECT_THAT(why, testing::HasSubstr("two"));
}

TEST(Exchange, KeysOf64KiBAndNullAndEmptyOnesCrossWhole) {
  Directory directory;
  std::mutex mutex;
  std::map<std::string, int> counted;
  int nulls = 0, wrong = 0;
  constexpr int kCount = 600;
  const auto text = [](int n) { return std::string(64u << 10, static_cast<char>('a' + n % 20)) + std::to_string(n % 20); };
  Job job{"long"};
  job.checkpoint({.interval = 5ms, .directory = directory.path}).shards(4);
  job.from(splits<Record>({.splits = 4, .count = kCount, .batch = 7},
                          [&](int split, int n, Arena& arena) {
                            Record record;
                            if (n % 6 == 0) record.key = Bytes("", 0);
                            if (n % 6 != 0 && n % 6 != 1) record.key = Bytes(arena.copy(text(n)));
                            record.value = Bytes(arena.copy(fmt::format("{}:{}", split, n)));
                            record.offset = Offset(n);
                            return record;
                          }),
           "in")
      .key_by([](const Record& record) { return record.key; })
      .records()
      .to(for_each<Keyed<Bytes, Record>>([&](const Keyed<Bytes, Record>& record) {
        const int n = static_cast<int>(record.value.offset.value());
        const std::lock_guard lock(mutex);
        if (record.key.null()) ++nulls;
        if (record.key.null() != (n % 6 == 1) || record.key != record.value.key) ++wrong;
        if (!record.value.value.view().ends_with(fmt::format(":{}", n))) ++wrong;
        if (n % 6 != 0 && n % 6 != 1 && record.key.view() != text(n)) ++wrong;
        ++counted[std::string(record.key.view())];
      }));
  const Status ended = run_to_end(std::move(job));
  ASSERT_TRUE(ended.ok()) << ended.to_string();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(nulls, 4 * kCount / 6);
  EXPECT_EQ(counted[""], 2 * nulls);  // The empty ones and the null ones, here counted together.
  int total = 0;
  for (const auto& [key, count] : counted) total += count;
  EXPECT_EQ(total, 4 * kCount);
}

struct Named {
  std::string name;
};
struct Inline {
  char name[16];
};

TEST(Exchange, AKeyMayBeAViewOfWhatItsRecordOwns) {
  for (const std::uint16_t shards : {1, 3}) {
    SCOPED_TRACE(shards);
    Directory directory;
    // Two readers, so that records are copied too; names that live within their record, and names that do not.
    Collected<std::pair<std::string, std::string>> first, second;
    Job job{"views"};
    job.checkpoint({.interval = 1ms, .directory = directory.path}).shards(shards);
    const auto name = [](int, int n, Arena&) { return Named{std::string(n % 2 == 0 ? 0 : 40, 'x') + std::to_string(n % 50)}; };
    const auto keyed = job.from(splits<Named>({.splits = 3, .count = 2'000}, name), "in")
                           .key_by([](const Named& record) -> std::string_view { return record.name; })
                           .records();
    const auto both = [](const Keyed<std::string_view, Named>& record) { return std::pair(std::string(record.key), record.value.name); };
    keyed.map(both).to(first.sink());
    keyed.map(both).to(second.sink());
    Result<Running> running = Engine().start(std::move(job));
    ASSERT_TRUE(running.ok()) << running.status().to_string();
    const Status ended = running->wait();
    ASSERT_TRUE(ended.ok()) << ended.to_string();
    for (const auto& seen : {first.take(), second.take()}) {
      EXPECT_EQ(seen.size(), 6'000u);
      for (const auto& [key, record] : seen) ASSERT_EQ(key, record);
    }
  }
}

TEST(Exchange, AKeyMayBeAViewIntoItsRecord) {
  for (const std::uint16_t shards : {1, 3}) {
    SCOPED_TRACE(shards);
    Directory directory;
    Collected<std::pair<std::string, std::string>> out;
    Job job{"inline"};
    job.checkpoint({.interval = 1ms, .directory = directory.path}).shards(shards);
    const auto name = [](int, int n, Arena&) {
      Inline made{};
      std::snprintf(made.name, sizeof(made.name), "name-%d", n % 50);
      return made;
    };
    const auto nothing = [](int, int, Arena&) { return Keyed<std::string_view, Inline>{}; };
    job.from(splits<Inline>({.splits = 3, .count = 2'000}, name), "in")
        .key_by([](const Inline& record) { return std::string_view(record.name); })
        .records()
        .union_with(job.from(splits<Keyed<std::string_view, Inline>>({.splits = 1, .count = 0}, nothing), "none"), "held")  // A mailbox.
        .map([](const Keyed<std::string_view, Inline>& record) { return std::pair(std::string(record.key), std::string(record.value.name)); })
        .to(out.sink());
    Result<Running> running = Engine().start(std::move(job));
    ASSERT_TRUE(running.ok()) << running.status().to_string();
    const Status ended = running->wait();
    ASSERT_TRUE(ended.ok()) << ended.to_string();
    const auto seen = out.take();
    EXPECT_EQ(seen.size(), 6'000u);
    for (const auto& [key, record] : seen) ASSERT_EQ(key, record);
  }
}

TEST(Exchange, RebalanceSpreadsTheBatchesOfOneSplitOverAllShards) {
  Directory directory;
  Collected<std::pair<int, Item>> out;
  class Where final : public Operator<Item, std::pair<int, Item>> {
   public:
    Status open(const Context& context) override {
      shard_ = context.shard.value();
      return {};
    }
    Status process(const Batch<Item>& batch, Collector<std::pair<int, Item>>& collector) override {
      for (const Item& item : batch) collector.emit({shard_, item});
      return {};
    }

   private:
    int shard_ = 0;
  };
  Job job{"round"};
  job.checkpoint({.interval = 1ms, .directory = directory.path}).shards(4);
  job.from(splits<Item>({.splits = 1, .count = 40'000, .batch = 100}, numbered), "in")
      .rebalance()
      .process<std::pair<int, Item>>("where", [] { return std::make_unique<Where>(); })
      .to(out.sink());
  ASSERT_TRUE(run_to_end(std::move(job)).ok());
  std::map<int, int> by_shard;
  std::set<int> seen;
  for (const auto& [shard, item] : out.take()) {
    ++by_shard[shard];
    seen.insert(item.second);
  }
  EXPECT_EQ(seen.size(), 40'000u);
  EXPECT_EQ(by_shard, (std::map<int, int>{{0, 10'000}, {1, 10'000}, {2, 10'000}, {3, 10'000}}));
}

TEST(Exchange, BroadcastBringsEveryRecordToEveryShardInOrder) {
  for (const std::uint16_t shards : {1, 3}) {
    Directory directory;
    Collected<std::pair<std::thread::id, Item>> out;
    Job job{"all"};
    job.checkpoint({.interval = 1ms, .directory = directory.path}).shards(shards);
    job.from(splits<Item>({.splits = 2, .count = 10'000}, numbered), "in")
        .broadcast()
        .map([](const Item& item) { return std::pair(std::this_thread::get_id(), item); })
        .to(out.sink());
    ASSERT_TRUE(run_to_end(std::move(job)).ok());
    std::map<std::pair<std::thread::id, int>, int> last;
    for (const auto& [thread, item] : out.take()) ASSERT_EQ(++last[std::pair(thread, item.first)], item.second);
    EXPECT_EQ(last.size(), 2u * shards);
    for (const auto& [which, n] : last) EXPECT_EQ(n, 10'000);
  }
}

TEST(Exchange, SeveralInARowAndSeveralBehindOneStreamAlignTheirBarriers) {
  Directory directory;
  Collected<Counted> out, again;
  Job job{"diamond"};
  job.checkpoint({.interval = 1ms, .directory = directory.path}).shards(3);
  const auto in = job.from(splits<Item>({.splits = 4, .count = 30'000, .batch = 200}, numbered), "in");
  const auto left = in.rebalance().map([](const Item& item) { return Item{item.first, item.second}; });
  const auto right = in.key_by(few).records().map([](const Keyed<std::int64_t, Item>& record) { return record.value; });
  left.union_with(right).key_by(uniform).process<Counted>("count", count_by_key()).to(out.sink());
  in.key_by(skewed).process<Counted>("again", count_by_key()).to(again.sink());
  const Status ended = run_to_end(std::move(job));
  ASSERT_TRUE(ended.ok()) << ended.to_string();
  EXPECT_EQ(out.take().size(), 2u * 4 * 30'000);
  EXPECT_EQ(again.take().size(), 4u * 30'000);
  std::map<std::int64_t, std::uint64_t> counted;
  for (const Counted& one : out.take()) ASSERT_EQ(one.count, ++counted[one.key]);
}

}  // namespace
}  // namespace sluice
