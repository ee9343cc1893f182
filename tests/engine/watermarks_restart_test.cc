// Goal: windows are whole, and say the same each time they speak, whatever fails on the way and on other numbers of shards at each start.
// Method: whole jobs in this process, with threads and a real clock, that throw in front of the exchange and behind it.
#include "exchange_fixture.h"
#include "time_fixture.h"

#include <array>
#include <stdexcept>
#include <thread>

namespace sluice {
namespace {

using namespace exchange_test;
using namespace time_test;

/// Throws now and then, each time behind a checkpoint of this attempt, so that every attempt gets on.
struct Failing {
  struct Seen {
    std::atomic<bool> armed{true};  // The first one needs none, so that there is one on any machine.
    std::atomic<int> calls{0}, failures{0};
  };
  std::shared_ptr<Seen> seen;
  int every = 1'009;
  template <class T>
  void operator()(const T&) const {
    if (++seen->calls % every != 0 || seen->failures >= 10 || !seen->armed.exchange(false)) return;
    ++seen->failures;
    throw std::runtime_error("now and then");
  }
  void notify_checkpoint_complete(Epoch) const { seen->armed = true; }
};

TEST(WatermarksRestart, WindowsAreWholeAfterFailuresAndOnOtherNumbersOfShards) {
  Directory directory;
  Collected<Row> out;
  constexpr int kSplits = 4, kCount = 40'000, kStep = 10, kKeys = 17;
  const std::uint16_t shards[] = {1, 2, 1, 4};
  int failures = 0;
  for (std::size_t run = 0; run < std::size(shards); ++run) {
    const Failing records{std::make_shared<Failing::Seen>(), 5'003}, rows{std::make_shared<Failing::Seen>(), 53};
    Job job{"failing"};
    job.checkpoint({.interval = 1ms, .directory = directory.path}).shards(shards[run]);
    job.restart({.strategy = RestartOptions::Strategy::kFixedDelay, .delay = 1ms, .attempts_max = 100});
    const auto make = [](int, int n, Arena&) { return event("k" + std::to_string(n % kKeys), n * kStep); };
    job.from(splits<Event>({.splits = kSplits, .count = kCount, .batch = 100}, make), "in")
        .watermarks(monotonous<Event>(&Event::time), "time")
        .peek(records)
        .key_by([](const Event& one) { return one.key; }, "by-key")
        .process<Row>("count", [] { return std::make_unique<CountWindows>(1s); })
        .peek(rows)
        .to(out.sink());
    Result<Running> running = Engine().start(std::move(job));
    ASSERT_TRUE(running.ok()) << running.status().to_string();
    // The last run goes to the end, those before are stopped on their way.
    const std::size_t enough = (run + 1) * kCount * kStep / 1000 * kKeys / 6;
    while (run + 1 < std::size(shards) && !running->done() && out.take().size() < enough) std::this_thread::sleep_for(1ms);
    if (run + 1 < std::size(shards)) running->stop();
    const Status ended = running->wait();
    ASSERT_TRUE(ended.ok() || run + 1 < std::size(shards)) << ended.to_string();
    EXPECT_EQ(running->metrics().value("late"), 0u);
    failures += records.seen->failures + rows.seen->failures;
  }
  EXPECT_GT(failures, 0);
  std::map<std::pair<std::string, std::int64_t>, std::uint64_t> expected, counted;
  for (int n = 1; n <= kCount; ++n) {
    expected[{"k" + std::to_string(n % kKeys), std::int64_t{n} * kStep / 1000 * 1000}] += kSplits;
  }
  // The sink is at least once: a window may be told again, and then says the same.
  for (const Row& row : out.take()) {
    const auto [at, first] = counted.try_emplace({row.key, row.start}, row.count);
    ASSERT_TRUE(first || at->second == row.count) << row.key << " at " << row.start << ": " << at->second << " and " << row.count;
  }
  EXPECT_EQ(counted, expected);
}

// Goal: with threads, and splits that are read at different speeds, none is ever further ahead than the bound and what was polled with it.
TEST(WatermarksRestart, NoSplitRunsAheadOfThoseOfOtherShards) {
  Directory directory;
  Collected<Row> out;
  constexpr int kSplits = 6, kEachRun = 6'000, kStep = 10, kBatch = 60;
  constexpr std::int64_t kDrift = 2'000;
  std::array<std::atomic<std::int64_t>, kSplits> reached{};
  std::atomic<int> too_far{0};
  const std::uint16_t shards[] = {1, 8, 2, 8};
  for (std::size_t run = 0; run < std::size(shards); ++run) {
    const bool last = run + 1 == std::size(shards);
    const int count = static_cast<int>(run + 1) * kEachRun;
    const Splits<Item>::Options options{.splits = kSplits, .count = count, .batch = kBatch, .uneven = true, .ends = last};
    Job job{"apart"};
    job.checkpoint({.interval = 1ms, .directory = directory.path}).shards(shards[run]);
    const auto time_of = [](const Item& item) { return at(item.second * kStep); };
    job.from(splits<Item>(options, [](int split, int n, Arena&) { return Item{split, n}; }), "in")
        .watermarks(monotonous<Item>(time_of).max_drift(EventDuration(kDrift)), "time")
        .peek([&](const Item& item) {
          const std::int64_t time = item.second * kStep;
          std::int64_t least = time;
          for (const auto& one : reached) least = std::min(least, one.load());
          if (time > least + kDrift + kBatch * kStep) ++too_far;
          reached[static_cast<std::size_t>(item.first)] = time;
        })
        .map([](const Item& item) { return event("k" + std::to_string(item.second % 17), item.second * kStep); })
        .key_by([](const Event& one) { return one.key; }, "by-key")
        .process<Row>("count", [] { return std::make_unique<CountWindows>(1s); })
        .to(out.sink());
    Result<Running> running = Engine().start(std::move(job));
    ASSERT_TRUE(running.ok()) << running.status().to_string();
    if (!last) {
      while (!running->done() && *options.polled < kSplits * kEachRun) std::this_thread::sleep_for(1ms);
      running->stop();
    }
    const Status ended = running->wait();
    ASSERT_TRUE(ended.ok()) << ended.to_string();
    EXPECT_EQ(running->metrics().value("late"), 0u);
    EXPECT_GT(*options.pauses, 0) << shards[run] << " shards";
    EXPECT_EQ(too_far, 0) << shards[run] << " shards";
  }
  std::uint64_t records = 0;
  for (const Row& row : out.take()) records += row.count;
  EXPECT_EQ(records, static_cast<std::uint64_t>(kSplits) * kEachRun * std::size(shards));
}

// Goal: who asks a running job why no window closes is told which split it is, which are silent, and what was left out.
TEST(WatermarksRestart, ARunningJobSaysWhoHoldsTheWatermark) {
  for (const std::uint16_t shards : {1, 8}) {
    for (const bool idle : {false, true}) {
      Directory directory;
      Collected<Event> out;
      const Splits<Event>::Options options{.splits = 3, .batch = 50, .counts = {2'000, 10, 2'000}, .ends = false};
      Job job{"held"};
      job.checkpoint({.interval = 1ms, .directory = directory.path}).shards(shards);
      const auto make = [](int, int n, Arena&) { return Event{"k", n == 5 ? kNoEventTime : at(n * 10)}; };
      auto strategy = monotonous<Event>(&Event::time).max_drift(1s).on_missing(MissingTime::kSkip);
      if (idle) strategy = strategy.idle_after(2ms);
      job.from(splits<Event>(options, make), "in").watermarks(strategy, "time").to(out.sink());
      Result<Running> running = Engine().start(std::move(job));
      ASSERT_TRUE(running.ok()) << running.status().to_string();
      WatermarkStatus status;
      const auto there = [&] { return idle ? status.idle == 3 : status.paused == 2 && status.drift > 1s; };
      while (!there() && !running->done()) {  // It comes to this, whenever.
        std::this_thread::sleep_for(1ms);
        if (auto all = running->watermarks(); !all.empty()) status = std::move(all.front());
      }
      ASSERT_TRUE(there()) << running->wait().to_string();
      EXPECT_EQ(status.operator_id, "time");
      EXPECT_EQ(status.drift_max, EventDuration(1s));
      EXPECT_EQ(status.splits.size(), 3u);
      if (idle) {
        EXPECT_FALSE(status.holder);
        EXPECT_EQ(status.watermark, at(20'000)) << "where all are silent it is the largest";
      } else {
        ASSERT_TRUE(status.holder);
        EXPECT_EQ(status.holder->split.partition, 1);
        EXPECT_EQ(status.watermark, at(100));
        EXPECT_LE(*status.drift, 1s + 500ms);
        EXPECT_EQ(status.active, 1u);
      }
      const std::vector<DroppedRecords> dropped = running->dropped();
      ASSERT_EQ(dropped.size(), 1u);
      EXPECT_EQ(dropped[0].counter, "sluice_event_time_skipped_total");
      EXPECT_EQ(dropped[0].records, 3u);
      EXPECT_THAT(dropped[0].reason, testing::HasSubstr("on_missing: skip"));
      running->stop();
      EXPECT_TRUE(running->wait().ok());
      EXPECT_EQ(running->watermarks().size(), 1u) << "of the last attempt";
    }
  }
}

}  // namespace
}  // namespace sluice
