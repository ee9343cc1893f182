// Goal: windows in whole jobs: on one shard and on eight, over stops with other numbers of shards, and what is refused at the start.
// Method: jobs in this process from a source whose records have times; the end of the input closes what is open.
#include "../exchange_fixture.h"

#include <sluice/engine/windows/calendar.h>
#include <sluice/engine/windows/windowed_stream.h>

#include <algorithm>
#include <map>
#include <set>
#include <thread>
#include <tuple>

#include <gmock/gmock.h>

namespace sluice {
namespace {

using namespace std::chrono_literals;
using namespace exchange_test;
using testing::HasSubstr;

constexpr int kKeys = 101;
constexpr std::int64_t kStep = 10;  // Milliseconds between two records of a split.

EventTime time_of(const Item& item) { return EventTime(EventDuration(item.second * kStep - 3'000)); }
std::int64_t key_of(const Item& item) { return item.second % kKeys; }

/// So far out of order as they may be, nothing closes before the end of the input does.
KeyedStream<std::int64_t, Item> keyed_by(Job& job, Splits<Item>::Options options) {
  const auto make = [](int split, int n, Arena&) { return Item{split, n}; };
  return job.from(splits<Item>(std::move(options), make), "in").watermarks(bounded_out_of_orderness<Item>(2h, &time_of), "time").key_by(&key_of);
}

using Row = Windowed<std::int64_t, std::uint64_t>;
using Rows = std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::vector<std::uint64_t>>;
Rows rows_of(const std::vector<Row>& all) {
  Rows rows;
  for (const Row& row : all) {
    rows[{row.key, row.window.start.time_since_epoch().count(), row.window.end.time_since_epoch().count()}].push_back(row.value);
  }
  return rows;
}
/// Windows of `size` that begin every `slide`.
Rows expected(int splits, int count, std::int64_t size, std::int64_t slide) {
  Rows rows;
  for (int n = 1; n <= count; ++n) {
    const Item item{0, n};
    const std::int64_t time = time_of(item).time_since_epoch().count();
    std::int64_t start = time - ((time % slide) + slide) % slide;
    for (; start + size > time; start -= slide) {
      auto& values = rows[{key_of(item), start, start + size}];
      if (values.empty()) values.push_back(0);
      values[0] += static_cast<std::uint64_t>(splits);
    }
  }
  return rows;
}

TEST(WindowJob, CountsOnOneShardAndOnEight) {
  for (const std::uint16_t shards : {1, 8}) {
    Collected<Row> minutes, slides, sessions;
    Directory directory;  // Of its own: the second run would go on from the end of the first.
    Job job{"windows"};
    job.checkpoint({.interval = 1ms, .directory = directory.path}).shards(shards);
    auto keyed = keyed_by(job, {.splits = 4, .count = 5'000, .batch = 700});
    keyed.window(tumbling(1s)).aggregate(count(), "tumbling").to(minutes.sink());
    keyed.window(sliding(4s, 1s)).aggregate(count(), "sliding").to(slides.sink());
    // Records of a key are 1010 ms apart: with a gap of 1010 each is a session of its own, with 1011 all are one.
    keyed.window(session(1'011ms)).aggregate(count(), "session").to(sessions.sink());
    const Status ended = run_to_end(std::move(job));
    ASSERT_TRUE(ended.ok()) << ended.to_string();
    EXPECT_EQ(rows_of(minutes.take()), expected(4, 5'000, 1'000, 1'000));
    EXPECT_EQ(rows_of(slides.take()), expected(4, 5'000, 4'000, 1'000));
    EXPECT_EQ(sessions.take().size(), static_cast<std::size_t>(kKeys));
  }
}

// Goal: whatever is stopped on the way, and with however many shards it goes on, each window counts each record once.
TEST(WindowJob, CountsAreRightOverStopsWithOtherNumbersOfShards) {
  Directory directory;
  Collected<Row> counts, sessions;
  const std::uint16_t shards[] = {1, 2, 1, 8};
  constexpr int kSplits = 4, kCount = 400'000;
  for (std::size_t run = 0; run < std::size(shards); ++run) {
    const Splits<Item>::Options options{.splits = kSplits, .count = kCount, .batch = 100};
    Job job{"stopped"};
    job.checkpoint({.interval = 1ms, .directory = directory.path}).shards(shards[run]);
    auto keyed = keyed_by(job, options);
    keyed.window(sliding(400s, 200s)).aggregate(count(), "sliding").to(counts.sink());
    keyed.window(session(2s)).aggregate(count(), "session").to(sessions.sink());
    Result<Running> running = Engine().start(std::move(job));
    ASSERT_TRUE(running.ok()) << running.status().to_string();
    if (run + 1 < std::size(shards)) {
      while (!running->done() && *options.polled < kSplits * kCount / 50) std::this_thread::sleep_for(1ms);
      running->stop();
    }
    const Status ended = running->wait();
    ASSERT_TRUE(ended.ok()) << ended.to_string();
    if (run + 1 < std::size(shards)) {
      ASSERT_LT(*options.polled, kSplits * kCount);
      ASSERT_TRUE(counts.take().empty()) << "a stop is not the end of the input";
    }
  }
  EXPECT_EQ(rows_of(counts.take()), expected(kSplits, kCount, 400'000, 200'000));
  std::uint64_t records = 0;
  for (const Row& row : sessions.take()) records += row.value;
  EXPECT_EQ(sessions.take().size(), static_cast<std::size_t>(kKeys));
  EXPECT_EQ(records, static_cast<std::uint64_t>(kSplits) * kCount);
}

// Goal: by a real clock, over stops with other numbers of shards, each record is in one window, and a window that was due meanwhile comes.
TEST(WindowJob, WindowsOfProcessingTimeHoldEachRecordOnceOverStops) {
  Directory directory;
  Collected<Row> counts, sessions;
  const std::uint16_t shards[] = {1, 2, 1, 8};
  constexpr int kSplits = 4, kCount = 40'000;
  for (std::size_t run = 0; run < std::size(shards); ++run) {
    const Splits<Item>::Options options{.splits = kSplits, .count = kCount, .batch = 100};
    Job job{"clocked"};
    job.checkpoint({.interval = 1ms, .directory = directory.path}).shards(shards[run]);
    auto keyed = job.from(splits<Item>(options, [](int split, int n, Arena&) { return Item{split, n}; }), "in").key_by(&key_of);
    keyed.window(processing_time(tumbling(5ms))).aggregate(count(), "tumbling").to(counts.sink());
    keyed.window(processing_time(session(2ms))).aggregate(count(), "session").to(sessions.sink());
    Result<Running> running = Engine().start(std::move(job));
    ASSERT_TRUE(running.ok()) << running.status().to_string();
    if (run + 1 < std::size(shards)) {
      while (!running->done() && *options.polled < kSplits * kCount / 6) std::this_thread::sleep_for(1ms);
      running->stop();
    }
    const Status ended = running->wait();
    ASSERT_TRUE(ended.ok()) << ended.to_string();
    EXPECT_EQ(running->metrics().value("sluice_operator_late_dropped_total"), 0u);
  }
  for (Collected<Row>* out : {&counts, &sessions}) {
    std::uint64_t records = 0;
    for (const auto& [window, values] : rows_of(out->take())) {
      // The sink is at least once: what a stop's last moments said is said again, and is the same.
      EXPECT_EQ(std::set<std::uint64_t>(values.begin(), values.end()).size(), 1u);
      records += values.front();
    }
    EXPECT_EQ(records, static_cast<std::uint64_t>(kSplits) * kCount);
  }
}

Status refused(std::function<void(KeyedStream<std::int64_t, Item>)> build) {
  Job job{"refused"};
  build(job.from(from_values<Item>({{0, 1}}), "in").key_by(&key_of));
  return run_to_end(std::move(job));
}

TEST(WindowJob, WhatCannotBeIsRefusedAtTheStart) {
  Collected<Row> out;
  const Status zone = refused([&](auto keyed) {
    keyed.window(tumbling(std::chrono::days(1), "America/NewYork")).aggregate(count(), "days").to(out.sink());
  });
  EXPECT_EQ(zone.code(), Code::kInvalid);
  EXPECT_THAT(std::string(zone.message()), testing::AllOf(HasSubstr("\"days\""), HasSubstr("America/New_York")));
  const Status slide = refused([&](auto keyed) { keyed.window(sliding(1s, 2s)).aggregate(count(), "gaps").to(out.sink()); });
  EXPECT_THAT(std::string(slide.message()), testing::AllOf(HasSubstr("\"gaps\""), HasSubstr("would be in none")));
  const Status lateness =
      refused([&](auto keyed) { keyed.window(tumbling(1s)).allowed_lateness(-1s).aggregate(count(), "c").to(out.sink()); });
  EXPECT_EQ(lateness.code(), Code::kInvalid);
}

TEST(WindowJob, RecordsWithoutTimesNameTheRemedy) {
  Collected<Row> out;
  const Status status = refused([&](auto keyed) { keyed.window(tumbling(1s)).aggregate(count(), "untimed").to(out.sink()); });
  EXPECT_EQ(status.code(), Code::kInvalid);
  EXPECT_THAT(std::string(status.message()), testing::AllOf(HasSubstr("\"untimed\""), HasSubstr("watermarks()")));
  EXPECT_TRUE(out.take().empty());
}

}  // namespace
}  // namespace sluice
