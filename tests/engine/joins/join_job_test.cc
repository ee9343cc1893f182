// Goal: joins in whole jobs: between topics with other numbers of partitions (S33), as S31 wants them, and whatever fails on the way.
// Method: sources with several splits, one and eight shards; the process's own engine, stopped, failed and restored in the middle.
#include "job_fixture.h"

#include "../../support/log_lines.h"

#include <sluice/engine/testing/test_driver.h>
#include <sluice/engine/windows/assigners.h>

#include <set>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>

namespace sluice {
namespace {

using namespace std::chrono_literals;
using namespace joins_test;
using Ids = std::pair<std::int64_t, std::int64_t>;

using testing::AllOf;
using testing::HasSubstr;

class OnShards : public testing::TestWithParam<std::uint16_t> {
 protected:
  [[nodiscard]] std::uint16_t other() const { return GetParam() == 1 ? 8 : 1; }
};
class CaseS31 : public OnShards {};
class CaseS33 : public OnShards {};
class BadInput : public OnShards {};
INSTANTIATE_TEST_SUITE_P(Shards, CaseS31, testing::Values(1, 8));
INSTANTIATE_TEST_SUITE_P(Shards, CaseS33, testing::Values(1, 8));
INSTANTIATE_TEST_SUITE_P(Shards, BadInput, testing::Values(1, 8));

TEST_P(CaseS33, AHundredKeysInSixAndInFourPartitions) {
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

TEST_P(CaseS31, LeftWithinThreeSecondsAndWithinOne) {
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

/// Two streams whose records a test gives, and what `join` makes of them, in virtual time.
struct Pair {
  TestInput<Event> left{{.name = "left"}}, right{{.name = "right"}};
  TestOutput<Ids> out;
  Job job{"pair"};
  std::unique_ptr<TestDriver> driver;
  /// `key` says the key of an event.
  template <class Key, class Join>
  Pair(Key key, Join join) {
    join(of(left, "left").key_by(key, "left-key").join(of(right, "right").key_by(key, "right-key"))).to(out.sink());
  }
  Stream<Event> of(const TestInput<Event>& in, const std::string& id) {
    const auto time = [](const Event& event) { return EventTime(EventDuration(event.ms)); };
    return job.from(in.source(), id).watermarks(monotonous<Event>(time), id + "-time");
  }
  Status start(std::uint16_t shards, std::optional<CheckpointData> from = {}) {
    driver.reset();
    auto started = TestDriver::start(job, {.shards = shards}, std::move(from));
    if (!started.ok()) return started.status();
    driver = *std::move(started);
    return {};
  }
  Status restart(std::uint16_t shards) {
    Result<CheckpointData> checkpoint = driver->checkpoint();
    if (!checkpoint.ok()) return checkpoint.status();
    return start(shards, *std::move(checkpoint));
  }
  Status end() {
    left.end();
    right.end();
    return driver->run();
  }
};
Ids ids(const Event* l, const Event* r) { return {l == nullptr ? 0 : l->id, r == nullptr ? 0 : r->id}; }
Ids ids_of_left(const Event& l, const Event* r) { return ids(&l, r); }
Ids ids_of_both(const Event& l, const Event& r) { return ids(&l, &r); }

TEST_P(CaseS31, AMissingPartnerIsSaidOnceTheIntervalHasPassedWhateverIsRestored) {
  const std::pair<bool, Event> steps[] = {{true, {1, 101, 0}},      {true, {2, 102, 0}},      {false, {1, 201, 2'000}},
                                          {false, {1, 202, 2'000}}, {false, {1, 203, 2'000}}, {false, {2, 204, 2'000}},
                                          {true, {9, 109, 60'000}}, {false, {9, 209, 60'000}}};
  const std::multiset<Ids> joined{{101, 201}, {101, 202}, {101, 203}, {102, 204}}, missing{{101, 0}, {102, 0}}, nothing;
  for (const EventDuration within : {3s, 1s}) {
    for (std::size_t restored_at = 0; restored_at <= std::size(steps); ++restored_at) {  // Behind the last: nowhere.
      SCOPED_TRACE(testing::Message() << "within " << within.count() << " ms, restored at " << restored_at);
      Pair run(&Event::key, [&](const auto& both) { return both.between(-within, within).left("s31", ids_of_left); });
      ASSERT_TRUE(run.start(GetParam()).ok());
      std::multiset<Ids> rows;
      const auto collect = [&] {
        for (const auto& arrived : run.out.take_arrived()) {
          rows.insert(arrived.value);
          if (arrived.value.second == 0) {  // When nobody could come any more.
            EXPECT_EQ(arrived.time, EventTime(1s));
          }
        }
      };
      for (std::size_t i = 0; i < std::size(steps); ++i) {
        if (i == 6) {
          collect();
          EXPECT_EQ(rows, within == 3s ? joined : nothing) << "before the time of both sides moves on";
        }
        (steps[i].first ? run.left : run.right).give(0, {steps[i].second});
        ASSERT_TRUE(run.driver->run().ok());
        if (i == restored_at) {
          ASSERT_TRUE(run.restart(other()).ok());
        }
      }
      ASSERT_TRUE(run.end().ok());
      collect();
      std::multiset<Ids> expected = within == 3s ? joined : missing;
      expected.insert({109, 209});
      EXPECT_EQ(rows, expected);
      EXPECT_EQ(run.driver->metric("sluice_operator_late_dropped_total"), 0u);
    }
  }
}

// ---- bad input ----

/// Null, empty, and one letter; the bytes live for ever.
Bytes name_of(const Event& event) { return event.key == 0 ? Bytes() : Bytes(std::string_view(event.key == 1 ? "" : "a")); }

template <class Join>
std::multiset<Ids> of_null_keys(std::uint16_t shards, std::uint16_t other, Join join) {
  Pair run(name_of, join);
  EXPECT_TRUE(run.start(shards).ok());
  run.left.give(0, {{0, 1, 0}, {1, 2, 0}, {2, 3, 0}});
  EXPECT_TRUE(run.driver->run().ok());
  EXPECT_TRUE(run.restart(other).ok());
  run.right.give(0, {{0, 4, 0}, {1, 5, 0}, {2, 6, 0}});
  EXPECT_TRUE(run.end().ok());
  const std::vector<Ids> rows = run.out.take();
  return {rows.begin(), rows.end()};
}

TEST_P(BadInput, NullKeysMatchNothingAndAreNotTheEmptyKey) {
  const std::multiset<Ids> expected{{1, 0}, {0, 4}, {2, 5}, {3, 6}};
  EXPECT_EQ(of_null_keys(GetParam(), other(), [](const auto& both) { return both.between(-1s, 1s).full("join", ids); }), expected);
  EXPECT_EQ(of_null_keys(GetParam(), other(), [](const auto& both) { return both.window(tumbling(10s)).full("join", ids); }), expected);
}

TEST_P(BadInput, ALateRecordOfAJoinIsCountedAndTheFirstIsTold) {
  const auto check = [&](auto join) {
    const support::LogLines lines;
    Pair run(&Event::key, join);
    ASSERT_TRUE(run.start(GetParam()).ok());
    run.left.give(0, {{1, 1, 60'000}});
    run.right.give(0, {{1, 2, 60'000}});
    ASSERT_TRUE(run.driver->run().ok());
    run.right.give(0, {{7, 3, 1'234}, {7, 4, 1'235}});
    ASSERT_TRUE(run.end().ok());
    EXPECT_EQ(run.out.take(), (std::vector<Ids>{{1, 2}}));
    EXPECT_EQ(run.driver->metric("sluice_operator_late_dropped_total"), 2u);
    EXPECT_EQ(lines.count("it is dropped"), 1) << lines.text();
    EXPECT_THAT(lines.text(), AllOf(HasSubstr("\"join\": a right record of key 7 with event time 1234 ms"), HasSubstr("reached 60000 ms"),
                                    HasSubstr("Allow more disorder")));
  };
  check([](const auto& both) { return both.between(-1s, 1s).full("join", ids); });
  check([](const auto& both) { return both.window(tumbling(10s)).full("join", ids); });
}

TEST_P(BadInput, StateOfAnotherJoinNamesBoth) {
  Pair inner(&Event::key, [](const auto& both) { return both.between(-1s, 1s).inner("join", ids_of_both); });
  ASSERT_TRUE(inner.start(GetParam()).ok());
  inner.left.give(0, {{1, 1, 0}});
  ASSERT_TRUE(inner.driver->run().ok());
  Result<CheckpointData> checkpoint = inner.driver->checkpoint();
  ASSERT_TRUE(checkpoint.ok());
  Pair left(&Event::key, [](const auto& both) { return both.between(-1s, 1s).left("join", ids_of_left); });
  Pair window(&Event::key, [](const auto& both) { return both.window(tumbling(10s)).inner("join", ids_of_both); });
  for (const auto& [run, its] : {std::pair(&left, "left_interval_join"), std::pair(&window, "inner_window_join")}) {
    const Status refused = run->start(other(), *checkpoint);
    EXPECT_EQ(refused.code(), Code::kCorrupt);
    EXPECT_THAT(std::string(refused.message()), AllOf(HasSubstr("\"join\""), HasSubstr("inner_interval_join"), HasSubstr(its)));
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
