// Goal: what topics add to the cases with time: timestamps that are missing (S25) and old (S32), keys that lie elsewhere (S33).
// Method: whole jobs with threads and files on the broker model, on one shard and on eight.
#include "../support/jobs.h"
#include "kafka_fixture.h"

#include <sluice/engine/keyed_stream.h>
#include <sluice/engine/windows/windowed_stream.h>
#include <sluice/kafka/partitioner.h>
#include <sluice/kafka/sink.h>
#include <sluice/kafka/source.h>

#include <algorithm>
#include <thread>

namespace sluice::kafka {
namespace {

using jobs_test::Directory;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

EventTime at(std::int64_t ms) { return EventTime(EventDuration(ms)); }

struct Meter {
  std::string id, value;
};
BOOST_DESCRIBE_STRUCT(Meter, (), (id, value))

class TimeCase : public KafkaTest, public testing::WithParamInterface<std::uint16_t> {
 protected:
  std::shared_ptr<Source<Record>> from(const std::string& topic, Place stop = latest()) {
    SourceOptions options;
    options.brokers = "model:9092";
    options.topics = {topic};
    options.group = "readers";
    options.stop = std::move(stop);
    options.client = client();
    return source<Record>(std::move(options));
  }
  std::shared_ptr<Sink<std::string>> to(const std::string& topic) {
    SinkOptions options;
    options.brokers = "model:9092";
    options.topic = topic;
    options.client = client();
    return sink<std::string>(std::move(options));
  }
  Job job(const std::string& name, std::uint16_t shards = GetParam()) {
    Job made{name};
    made.checkpoint({.interval = 5ms, .directory = directory_.path / name}).shards(shards);
    return made;
  }
  /// Counts `topic` in windows of its timestamps; rows are "start count".
  Job counting(const std::string& name, const std::string& topic, EventDuration size, const std::string& into,
               MissingTime policy = MissingTime::kFail) {
    Job made = job(name);
    made.from(from(topic), "in")
        .watermarks(bounded_out_of_orderness<Record>(0s).on_missing(policy), "time")
        .key_by([](const Record&) { return std::string("k"); }, "by-key")
        .window(tumbling(size))
        .aggregate(count(), "count")
        .map([](const Windowed<std::string, std::uint64_t>& row) {
          return fmt::format("{} {}", row.window.start.time_since_epoch().count(), row.value);
        })
        .to(to(into), "out");
    return made;
  }
  /// Of all partitions, in order.
  std::vector<std::string> rows(const std::string& topic, std::int32_t partitions) {
    std::vector<std::string> all;
    for (std::int32_t partition = 0; partition < partitions; ++partition) {
      for (std::string& value : values(topic, partition)) all.push_back(std::move(value));
    }
    std::ranges::sort(all);
    return all;
  }
  Directory directory_;
};

#define CASE_ON_SHARDS(name)        \
  class name : public TimeCase {};  \
  INSTANTIATE_TEST_SUITE_P(Shards, name, testing::Values(1, 8), [](const auto& shards) { return "on_" + std::to_string(shards.param); })

CASE_ON_SHARDS(CaseS25);

TEST_P(CaseS25, ATimestampOfMinusOneIsMissingAndNotIn1969) {
  broker_.create_topic("in", 1);
  broker_.create_topic("out", 1);
  for (const std::int64_t ms : {1'000, 1'000, -1, 1'000, -1}) broker_.append({"in", 0}, {.value = "v", .time = at(ms)});
  const Status ended = jobs_test::run_to_end(counting("fails", "in", 60s, "out"));
  EXPECT_NE(ended.exit_status(), ExitStatus::kDone);
  EXPECT_THAT(std::string(ended.message()), AllOf(HasSubstr("in partition 0 offset 2"), HasSubstr("on_missing")));
  EXPECT_THAT(rows("out", 1), ElementsAre());
  Result<Running> running = Engine().start(counting("skips", "in", 60s, "out", MissingTime::kSkip));
  ASSERT_TRUE(running.ok() && running->wait().ok());
  EXPECT_THAT(rows("out", 1), ElementsAre("0 3"));
  EXPECT_EQ(running->metrics().value("sluice_event_time_skipped_total"), 2u);
}

CASE_ON_SHARDS(CaseS32);

TEST_P(CaseS32, RowsThatAreWrittenAreAsOldAsTheirWindows) {
  constexpr std::int64_t kNewYear = 1'577'836'800'000;  // Of 2020.
  broker_.create_topic("in", 1);
  broker_.create_topic("minutes", 2);
  broker_.create_topic("hours", 1);
  for (int n = 0; n < 10; ++n) broker_.append({"in", 0}, {.value = "v", .time = at(kNewYear + 30'000 * n)});
  const Status first = jobs_test::run_to_end(counting("minutes", "in", 1min, "minutes"));
  ASSERT_TRUE(first.ok()) << first.to_string();
  std::vector<std::string> expected;
  for (int n = 0; n < 5; ++n) expected.push_back(fmt::format("{} 2", kNewYear + 60'000 * n));
  EXPECT_EQ(rows("minutes", 2), expected);
  for (const std::int32_t partition : {0, 1}) {
    for (const ModelRecord& row : broker_.records({"minutes", partition})) {
      EXPECT_EQ(row.time, at(std::stoll(*row.value) + 59'999));
    }
  }
  Result<Running> second = Engine().start(counting("hours", "minutes", 1h, "hours"));
  ASSERT_TRUE(second.ok() && second->wait().ok());
  EXPECT_THAT(rows("hours", 1), ElementsAre(fmt::format("{} 5", kNewYear)));
  EXPECT_EQ(second->metrics().value("sluice_operator_late_dropped_total"), 0u);
}

CASE_ON_SHARDS(CaseS33);

TEST_P(CaseS33, KeysThatTwoPartitionersPutElsewhereMeet) {
  constexpr std::int32_t kLeft = 6, kRight = 4;
  broker_.create_topic("left", kLeft);
  broker_.create_topic("right", kRight);
  broker_.create_topic("out", 1);
  std::vector<std::string> keys;
  for (int n = 1; n <= 100; ++n) keys.push_back(fmt::format("meter-{:03}", n));
  const auto write = [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const std::string& key = keys[i];
      broker_.append({"left", java_partition(key, kLeft)}, {.key = key, .value = "l" + key, .time = at(1'000)});
      broker_.append({"right", librdkafka_partition(key, kRight)}, {.key = key, .value = "r" + key, .time = at(2'000)});
    }
  };
  const auto joining = [&](std::uint16_t shards, const Place& stop) {
    Job made = job("joining", shards);
    const auto keyed = [&](const std::string& topic) {
      return made.from(from(topic, stop), topic)
          .watermarks(bounded_out_of_orderness<Record>(0s), topic + "-time")
          .map([](const Record& record) { return Meter{std::string(record.key.view()), std::string(record.value.view())}; })
          .key_by(&Meter::id, topic + "-key");
    };
    keyed("left")
        .join(keyed("right"))
        .between(-3s, 3s)
        .inner("meters", [](const Meter& l, const Meter& r) { return l.value + " " + r.value; })
        .to(to("out"), "out");
    return made;
  };
  // A part, a stop, and the rest on another number of shards.
  write(0, 40);
  Result<Running> running = Engine().start(joining(GetParam() == 1 ? 8 : 1, never()));
  ASSERT_TRUE(running.ok());
  while (!running->done() && values("out").size() < 40) std::this_thread::sleep_for(1ms);
  running->stop();
  const Status stopped = running->wait();
  ASSERT_TRUE(stopped.ok()) << stopped.to_string();
  write(40, 100);
  const Status ended = jobs_test::run_to_end(joining(GetParam(), latest()));
  ASSERT_TRUE(ended.ok()) << ended.to_string();
  std::vector<std::string> expected;
  for (const std::string& key : keys) expected.push_back("l" + key + " r" + key);
  EXPECT_EQ(rows("out", 1), expected);
}

}  // namespace
}  // namespace sluice::kafka
