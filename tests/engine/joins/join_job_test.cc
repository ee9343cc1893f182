// Goal: joins in whole jobs: between topics with other numbers of partitions (S33), as S31 wants them, and whatever fails on the way.
// Method: sources with several splits, one and eight shards; the process's own engine, stopped, failed and restored in the middle.
#include "job_fixture.h"

#include <set>
#include <stdexcept>
#include <thread>

namespace sluice {
namespace {

using namespace std::chrono_literals;
using namespace joins_test;
using Ids = std::pair<std::int64_t, std::int64_t>;

class Joins : public testing::TestWithParam<std::uint16_t> {};
INSTANTIATE_TEST_SUITE_P(Shards, Joins, testing::Values(1, 8));

TEST_P(Joins, S33AHundredKeysInSixAndInFourPartitions) {
  Collected<Ids> out;
  Directory directory;
  Job job{"meters"};
  job.checkpoint({.interval = 1ms, .directory = directory.path}).shards(GetParam());
  // A key lies in other partitions left and right, as with two partitioners.
  auto left = timed<Event>(job, "left", {.splits = 6, .count = 17}, 0ms, [](int split, int n, Arena&) {
    const int key = (n - 1) * 6 + split + 1;
    return Event{key <= 100 ? key : -key, 1'000 + key, key * 10};
  });
  auto right = timed<Event>(job, "right", {.splits = 4, .count = 25}, 0ms, [](int split, int n, Arena&) {
    const int key = split * 25 + n;
    return Event{key, 2'000 + key, key * 10};
  });
  left.key_by(&Event::key)
      .join(right.key_by(&Event::key))
      .between(-1h, 1h)
      .inner("meters", [](const Event& l, const Event& r) { return Ids(l.id, r.id); })
      .to(out.sink());
  ASSERT_TRUE(run_to_end(std::move(job)).ok());
  std::set<Ids> expected;
  for (int key = 1; key <= 100; ++key) expected.insert({1'000 + key, 2'000 + key});
  const std::vector<Ids> rows = out.take();
  EXPECT_EQ(rows.size(), 100u);
  EXPECT_EQ(std::set<Ids>(rows.begin(), rows.end()), expected);
}

TEST_P(Joins, S31WholeJob) {
  const Event left_rows[] = {{1, 101, 0}, {2, 102, 0}, {9, 109, 60'000}};
  const Event right_rows[] = {{1, 201, 2'000}, {1, 202, 2'000}, {1, 203, 2'000}, {2, 204, 2'000}, {9, 209, 60'000}};
  for (const auto& [within, expected] :
       {std::pair<EventDuration, std::multiset<Ids>>{3s, {{101, 201}, {101, 202}, {101, 203}, {102, 204}, {109, 209}}},
        {1s, {{101, 0}, {102, 0}, {109, 209}}}}) {
    Collected<Ids> out;
    Directory directory;
    Job job{"s31"};
    job.checkpoint({.interval = 1ms, .directory = directory.path}).shards(GetParam());
    auto left =
        timed<Event>(job, "left", {.splits = 1, .count = 3, .batch = 1}, 0ms, [&](int, int n, Arena&) { return left_rows[n - 1]; });
    auto right =
        timed<Event>(job, "right", {.splits = 1, .count = 5, .batch = 1}, 0ms, [&](int, int n, Arena&) { return right_rows[n - 1]; });
    left.key_by(&Event::key)
        .join(right.key_by(&Event::key))
        .between(-within, within)
        .left("s31", [](const Event& l, const Event* r) { return Ids(l.id, r == nullptr ? 0 : r->id); })
        .to(out.sink());
    ASSERT_TRUE(run_to_end(std::move(job)).ok());
    const std::vector<Ids> rows = out.take();
    EXPECT_EQ(std::multiset<Ids>(rows.begin(), rows.end()), expected) << within.count();
  }
}

/// Throws now and then, each time behind a checkpoint of this attempt, so that every attempt gets on.
struct Failing {
  struct Seen {
    std::atomic<bool> armed{false};
    std::atomic<int> calls{0}, failures{0};
  };
  std::shared_ptr<Seen> seen;
  void operator()(const Ids&) const {
    if (++seen->calls % 97 != 0) return;
    std::this_thread::sleep_for(200us);  // Rows must not all be out before the first checkpoint is.
    if (seen->failures >= 8 || !seen->armed.exchange(false)) return;
    ++seen->failures;
    throw std::runtime_error("now and then");
  }
  void notify_checkpoint_complete(Epoch) const { seen->armed = true; }
};

constexpr int kLeftSplits = 3, kRightSplits = 2, kCount = 20'000;
constexpr std::int64_t kDisorder_ms = 400;
Event left_event(int split, int n) {
  return {(n * 7 + split) % 997, n * 10 + split, n * 10 + n * 131 % kDisorder_ms};
}
Event right_event(int split, int n) {
  return {(n * 11 + split) % 997, -(n * 10 + split), n * 15 + n * 173 % kDisorder_ms};
}

/// From one source: the two sides are one coroutine on one shard, which sends barriers and batches of both in turn.
constexpr bool kOneSource = true;

/// What a job makes of both, stopped on the way and begun again with other numbers of shards, with failures in each run.
template <class Join>
std::set<Ids> run_with_failures(const std::string& name, Join join, bool one_source = false) {
  Directory directory;
  Collected<Ids> out;
  const std::uint16_t shards[] = {1, 2, 1, 4};
  int failures = 0;
  std::size_t before = 0;
  for (std::size_t run = 0; run < std::size(shards); ++run) {
    const Failing failing{std::make_shared<Failing::Seen>()};
    Job job{name};
    job.checkpoint({.interval = 1ms, .directory = directory.path}).shards(shards[run]);
    job.restart({.strategy = RestartOptions::Strategy::kFixedDelay, .delay = 1ms, .attempts_max = 100});
    const EventDuration disorder(kDisorder_ms);
    if (one_source) {
      auto both = timed<Event>(
          job, "both", {.splits = kLeftSplits + kRightSplits, .count = kCount, .batch = 100}, disorder,
          [](int split, int n, Arena&) { return split < kLeftSplits ? left_event(split, n) : right_event(split - kLeftSplits, n); });
      auto left = both.filter([](const Event& event) { return event.id > 0; });
      auto right = both.filter([](const Event& event) { return event.id < 0; });
      join(left.key_by(&Event::key).join(right.key_by(&Event::key))).peek(failing).to(out.sink());
    } else {
      auto left = timed<Event>(job, "left", {.splits = kLeftSplits, .count = kCount, .batch = 100}, disorder,
                               [](int split, int n, Arena&) { return left_event(split, n); });
      auto right = timed<Event>(job, "right", {.splits = kRightSplits, .count = kCount, .batch = 100}, disorder,
                                [](int split, int n, Arena&) { return right_event(split, n); });
      join(left.key_by(&Event::key).join(right.key_by(&Event::key))).peek(failing).to(out.sink());
    }
    auto running = Engine().start(std::move(job));
    EXPECT_TRUE(running.ok()) << running.status().to_string();
    if (!running.ok()) return {};
    // The last run goes to the end, those before are stopped on their way.
    const auto enough = [&] { return failing.seen->failures > 0 && out.take().size() >= before + 20'000; };
    while (run + 1 < std::size(shards) && !running->done() && !enough()) std::this_thread::sleep_for(1ms);
    if (run + 1 < std::size(shards)) running->stop();
    const Status ended = running->wait();
    EXPECT_TRUE(ended.ok() || run + 1 < std::size(shards)) << ended.to_string();
    failures += failing.seen->failures;
    before = out.take().size();
  }
  EXPECT_GT(failures, 0);
  // The sink is at least once: what is repeated must say the same, and nothing is missing.
  const std::vector<Ids> rows = out.take();
  return {rows.begin(), rows.end()};
}

/// `same(l, r)`: whether the two are a row.
template <class Same>
std::set<Ids> expected_full(Same same) {
  std::map<std::int64_t, std::pair<std::vector<Event>, std::vector<Event>>> by_key;
  for (int n = 1; n <= kCount; ++n) {
    for (int split = 0; split < kLeftSplits; ++split) by_key[left_event(split, n).key].first.push_back(left_event(split, n));
    for (int split = 0; split < kRightSplits; ++split) by_key[right_event(split, n).key].second.push_back(right_event(split, n));
  }
  std::set<Ids> rows;
  for (const auto& [key, both] : by_key) {
    std::set<std::int64_t> matched;
    for (const Event& l : both.first) {
      for (const Event& r : both.second) {
        if (!same(l, r)) continue;
        rows.insert({l.id, r.id});
        matched.insert({l.id, r.id});
      }
    }
    for (const Event& l : both.first) if (!matched.contains(l.id)) rows.insert({l.id, 0});
    for (const Event& r : both.second) if (!matched.contains(r.id)) rows.insert({0, r.id});
  }
  return rows;
}

Ids ids(const Event* l, const Event* r) { return {l == nullptr ? 0 : l->id, r == nullptr ? 0 : r->id}; }

class JoinRestart : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Sources, JoinRestart, testing::Values(!kOneSource, kOneSource));

TEST_P(JoinRestart, AFullIntervalJoinAfterFailuresAndWithOtherNumbersOfShards) {
  const std::set<Ids> rows =
      run_with_failures("interval", [](const auto& both) { return both.between(-2s, 500ms).full("join", ids); }, GetParam());
  const std::set<Ids> expected = expected_full([](const Event& l, const Event& r) { return r.ms - l.ms >= -2'000 && r.ms - l.ms <= 500; });
  EXPECT_EQ(rows.size(), expected.size());
  EXPECT_TRUE(rows == expected);
}

struct TenSeconds {
  static constexpr bool kSliding = false, kTimed = true;
  struct Span { EventTime start, end; };
  [[nodiscard]] Span slice(EventTime) const { return {EventTime(), EventTime(10s)}; }
  [[nodiscard]] Status check() const { return {}; }
};

TEST_P(JoinRestart, AFullWindowJoinAfterFailuresAndWithOtherNumbersOfShards) {
  const std::set<Ids> rows =
      run_with_failures("window", [](const auto& both) { return both.window(TenSeconds()).full("join", ids); }, GetParam());
  const std::set<Ids> expected = expected_full([](const Event& l, const Event& r) { return l.ms / 10'000 == r.ms / 10'000; });
  EXPECT_EQ(rows.size(), expected.size());
  EXPECT_TRUE(rows == expected);
}

}  // namespace
}  // namespace sluice
