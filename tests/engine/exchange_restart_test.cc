// Goal: counts by key are right whatever fails on the way, and with another number of shards at each start.
// Method: whole jobs in this process that throw in front of the exchange and behind it, each time behind a checkpoint.
#include "exchange_fixture.h"

#include <set>
#include <stdexcept>
#include <thread>

namespace sluice {
namespace {

using namespace std::chrono_literals;
using namespace exchange_test;

/// Throws now and then, behind the first time each time behind a checkpoint, so that every attempt gets on.
struct Failing {
  struct Seen {
    std::atomic<bool> armed{true};  // The first one needs none, so that there is one on any machine.
    std::atomic<int> calls{0}, failures{0};
  };
  std::shared_ptr<Seen> seen;
  void step(const char* what) const {
    if (++seen->calls % 1'009 != 0 || seen->failures >= 10 || !seen->armed.exchange(false)) return;
    ++seen->failures;
    throw std::runtime_error(what);
  }
  void operator()(const Counted&) const { step("now and then, behind"); }
  void notify_checkpoint_complete(Epoch) const { seen->armed = true; }
};

TEST(Exchange, CountsAreRightAfterFailuresAndWithOtherNumbersOfShards) {
  Directory directory;
  Collected<Counted> out;
  constexpr int kSplits = 4, kCount = 60'000;
  const std::uint16_t shards[] = {1, 2, 1, 4};
  int failures = 0;
  for (std::size_t run = 0; run < std::size(shards); ++run) {
    const Failing failing{std::make_shared<Failing::Seen>()};
    Job job{"failing"};
    job.checkpoint({.interval = 1ms, .directory = directory.path}).shards(shards[run]);
    job.restart({.strategy = RestartOptions::Strategy::kFixedDelay, .delay = 1ms, .attempts_max = 100});
    const auto key = [failing](const Item& item) {
      // Keys of all splits: a key's count is right only if every shard's part of it came to one place.
      failing.step("now and then");
      return static_cast<std::int64_t>(item.second % 101);
    };
    job.from(splits<Item>({.splits = kSplits, .count = kCount}, [](int split, int n, Arena&) { return Item{split, n}; }), "in")
        .key_by(key)
        .process<Counted>("count", count_by_key())
        .peek(failing)
        .to(out.sink());
    Result<Running> running = Engine().start(std::move(job));
    ASSERT_TRUE(running.ok()) << running.status().to_string();
    // The last run goes to the end, those before are stopped on their way.
    const std::size_t enough = (run + 1) * kSplits * kCount / 6;
    while (run + 1 < std::size(shards) && !running->done() && out.take().size() < enough) std::this_thread::sleep_for(1ms);
    if (run + 1 < std::size(shards)) running->stop();
    const Status ended = running->wait();
    // A stop that finds a failed attempt does not begin another one: what is decided stands, the next run goes on from there.
    ASSERT_TRUE(ended.ok() || run + 1 < std::size(shards)) << ended.to_string();
    failures += failing.seen->failures;
  }
  EXPECT_GT(failures, 0);
  // The sink is at least once: what is repeated must say the same, and nothing is missing.
  std::map<std::int64_t, std::uint64_t> counted;
  std::set<Item> seen;
  for (const Counted& one : out.take()) {
    seen.insert(one.item);
    counted[one.key] = std::max(counted[one.key], one.count);
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(kSplits) * kCount);
  std::map<std::int64_t, std::uint64_t> expected;
  for (int n = 1; n <= kCount; ++n) expected[n % 101] += kSplits;
  EXPECT_EQ(counted, expected);
}

}  // namespace
}  // namespace sluice
