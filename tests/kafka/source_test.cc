// Goal: a source starts where it should, hands out every record once and in order, knows its
// position behind what nobody can
//       see, and says what is wrong with place and remedy.
// Method: sources and readers against the broker model, driven call by call as the runtime does.
#include <sluice/kafka/source.h>

#include "kafka_fixture.h"
#include <map>

namespace sluice::kafka {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

using Positions = std::vector<SplitPosition>;

SplitPosition at(const std::string& topic, std::int32_t partition, std::int64_t next) {
  return {"events", {topic, partition}, Offset(next)};
}

template <class T>
struct Collected {
  std::map<std::pair<std::string, std::int32_t>, std::vector<T>>
      values;  // Copied: T owns what it needs.
  std::vector<Batch<T>> batches;
  std::vector<Batch<Record>> rejected;
  std::vector<Split> ended;
  Polled last = Polled::kNothing;
  Status failure;
};

class SourceTest : public KafkaTest {
 protected:
  SourceOptions options(std::vector<std::string> topics) {
    SourceOptions made;
    made.topics = std::move(topics);
    made.group = "users-group";
    made.client = client();
    made.unreachable_after = 300ms;
    return made;
  }
  void fill(const std::string& topic, std::int32_t partition, int from, int to) {
    for (int i = from; i <= to; ++i)
      broker_.append({topic, partition}, {.key = "k", .value = std::to_string(i)});
  }
  /// A source through check() and start(); closed at the end of the test.
  template <class T>
  struct Run {
    SourceTest* test;
    std::shared_ptr<Source<T>> source;
    std::unique_ptr<Attempt> attempt;
    Status status;
    Positions starts;

    Run(SourceTest& in, std::shared_ptr<Source<T>> of, std::optional<Positions> restored = {})
        : test(&in), source(std::move(of)) {
      begin(std::move(restored));
    }
    void begin(std::optional<Positions> restored) {
      attempt = test->attempt();
      status = test->wait(source->check(*attempt));
      if (!status.ok()) return;
      Result<Positions> from = test->wait(source->start(*attempt, "events", std::move(restored)));
      status = from.ok() ? Status() : from.status();
      if (from.ok()) starts = *from;
    }
    ~Run() { end(); }
    void end() {
      if (!attempt) return;
      close_reader();
      static_cast<void>(test->wait(source->close(*attempt)).ok());
      attempt.reset();
    }
    void open() {
      arrival = std::make_unique<io::Event>(test->shards_->shard(ShardId(0)).executor());
      reader = source->reader(*attempt, ShardId(0));
      here = test->context("events");
      const Status opened = test->wait_on_shard(reader->open(here, starts, *arrival));
      ASSERT_TRUE(opened.ok()) << opened.message();
    }
    void close_reader() {
      if (!reader) return;
      static_cast<void>(test->wait_on_shard(reader->close()).ok());
      reader.reset();
    }
    /// Polls until nothing more comes for a while, or the end, or a failure.
    Collected<T> drain() {
      Collected<T> all;
      for (int quiet = 0; quiet < 3;) {
        SourceOutput<T> out;
        Result<Polled> polled = test->wait_on_shard(reader->poll(out));
        if (!polled.ok()) {
          all.failure = polled.status();
          return all;
        }
        all.last = *polled;
        for (Batch<T>& batch : out.batches) {
          auto& into = all.values[{batch.split()->name, batch.split()->partition}];
          for (const T& value : batch) into.push_back(value);
          EXPECT_EQ(batch.times().size(), batch.size());
          all.batches.push_back(std::move(batch));
        }
        for (Batch<Record>& batch : out.rejected) all.rejected.push_back(std::move(batch));
        all.ended.insert(all.ended.end(), out.ended.begin(), out.ended.end());
        if (*polled == Polled::kEnd) break;
        quiet = *polled == Polled::kNothing ? quiet + 1 : 0;
      }
      return all;
    }
    Positions positions() {
      auto ask = [](SourceReader<T>* of) -> asio::awaitable<Positions> {
        co_return of->positions();
      };
      return test->wait_on_shard(ask(reader.get()));
    }
    std::unique_ptr<io::Event> arrival;
    std::unique_ptr<SourceReader<T>> reader;
    Context here;
  };
  template <class T = std::string>
  std::unique_ptr<Run<T>> run(SourceOptions with) {
    return std::make_unique<Run<T>>(*this, source<T>(std::move(with)));
  }
  template <class T = std::string>
  std::unique_ptr<Run<T>> run(SourceOptions with, Positions restored) {
    return std::make_unique<Run<T>>(*this, source<T>(std::move(with)), std::move(restored));
  }
  std::string refusal(SourceOptions with, ExitStatus exit) {
    return refused(run(std::move(with)), exit);
  }
  std::string refusal(SourceOptions with, ExitStatus exit, Positions restored) {
    return refused(run(std::move(with), std::move(restored)), exit);
  }
  static std::string refused(const std::unique_ptr<Run<std::string>>& one, ExitStatus exit) {
    EXPECT_FALSE(one->status.ok());
    EXPECT_EQ(one->status.exit_status(), exit) << one->status.message();
    return std::string(one->status.message());
  }
};

// ---- where to start ----

TEST_F(SourceTest, StartsAtTheGroupsOffsetsAndFallsBackWhereThereAreNone) {
  broker_.create_topic("in", 2);
  fill("in", 0, 0, 9);
  fill("in", 1, 0, 9);
  broker_.set_committed("users-group", {{"in", 0}, 4, {}});
  EXPECT_THAT(run(options({"in"}))->starts, UnorderedElementsAre(at("in", 0, 4), at("in", 1, 0)));
  SourceOptions late = options({"in"});
  late.group_fallback = latest();
  EXPECT_THAT(run(late)->starts, UnorderedElementsAre(at("in", 0, 4), at("in", 1, 10)));
}
TEST_F(SourceTest, StartsAtEitherEndOrAtATimeOrAtGivenOffsets) {
  broker_.create_topic("in", 2);
  for (int i = 0; i < 10; ++i)
    broker_.append({"in", 0}, {.value = "x", .time = EventTime(EventDuration(1000 + i))});
  SourceOptions with = options({"in"});
  with.start = earliest();
  EXPECT_THAT(run(with)->starts, UnorderedElementsAre(at("in", 0, 0), at("in", 1, 0)));
  with.start = latest();
  EXPECT_THAT(run(with)->starts, UnorderedElementsAre(at("in", 0, 10), at("in", 1, 0)));
  with.start = timestamp(EventTime(EventDuration(1003)));
  EXPECT_THAT(run(with)->starts, UnorderedElementsAre(at("in", 0, 3), at("in", 1, 0)));
  with.start = timestamp(EventTime(EventDuration(5000)));
  EXPECT_THAT(run(with)->starts, UnorderedElementsAre(at("in", 0, 10), at("in", 1, 0)));
  with.start = offsets({{"in", {{0, 7}}}});
  EXPECT_THAT(run(with)->starts, UnorderedElementsAre(at("in", 0, 7), at("in", 1, 0)));
}
TEST_F(SourceTest, ARestoredPositionIsTakenAndTheSettingsAreNotAsked) {
  broker_.create_topic("in", 3);
  fill("in", 0, 0, 9);
  fill("in", 2, 0, 9);
  SourceOptions with = options({"in"});
  with.start = latest();
  // Partition 2 is younger than the checkpoint: from its beginning (S17). What belongs to another
  // source is not ours.
  const auto one = run(with, {at("in", 0, 2), at("in", 1, 0), {"other", {"in", 2}, Offset(5)}});
  EXPECT_THAT(one->starts, UnorderedElementsAre(at("in", 0, 2), at("in", 1, 0), at("in", 2, 0)));
}
TEST_F(SourceTest, LatestStaysTheNumberThatItWasWhenTheJobFirstStarted) {
  broker_.create_topic("in", 1);
  fill("in", 0, 0, 4);
  SourceOptions with = options({"in"});
  with.start = latest();
  const auto one = run(with);
  EXPECT_THAT(one->starts, ElementsAre(at("in", 0, 5)));
  fill("in", 0, 5, 9);
  one->end();
  one->begin({});  // A restart in process, before the first checkpoint.
  EXPECT_THAT(one->starts, ElementsAre(at("in", 0, 5)));
}

// ---- positions that are not there ----

TEST_F(SourceTest, RetentionThatPassedThePositionStopsTheJob) {  // S12
  broker_.create_topic("in", 1);
  fill("in", 0, 0, 999);
  broker_.delete_records({"in", 0}, Offset(400));
  const std::string message = refusal(options({"in"}), ExitStatus::kData, {at("in", 0, 100)});
  EXPECT_THAT(message,
              AllOf(HasSubstr("topic in partition 0"), HasSubstr("100"), HasSubstr("400 to 1000"),
                    HasSubstr("300 records"), HasSubstr("out_of_range")));
}
TEST_F(SourceTest, OrGoesOnWithWhatIsThereAndCounts) {
  broker_.create_topic("in", 1);
  fill("in", 0, 0, 999);
  broker_.delete_records({"in", 0}, Offset(400));
  SourceOptions with = options({"in"});
  with.out_of_range = OutOfRange::kEarliest;
  EXPECT_THAT(run(with, {at("in", 0, 100)})->starts, ElementsAre(at("in", 0, 400)));
  EXPECT_EQ(metrics_.value("sluice_source_lost_records_total"), 300u);
  with.out_of_range = OutOfRange::kLatest;
  EXPECT_THAT(run(with, {at("in", 0, 100)})->starts, ElementsAre(at("in", 0, 1000)));
}
TEST_F(SourceTest, ATopicMadeAnewIsNotReadFromTheOldPosition) {  // S16
  broker_.create_topic("in", 1);
  fill("in", 0, 1, 10);
  const std::string message = refusal(options({"in"}), ExitStatus::kData, {at("in", 0, 1000)});
  EXPECT_THAT(message, AllOf(HasSubstr("1000"), HasSubstr("end 10"), HasSubstr("made anew"),
                             HasSubstr("out_of_range")));
  SourceOptions with = options({"in"});
  with.out_of_range = OutOfRange::kEarliest;
  const auto one = run(with, {at("in", 0, 1000)});
  one->open();
  EXPECT_EQ(one->drain().values.at({"in", 0}).size(), 10u);
}
TEST_F(SourceTest, AnOffsetBehindAnOpenTransactionIsInRange) {
  broker_.create_topic("in", 1);
  Result<std::unique_ptr<TransactionalProducer>> producer = client()->transactional_producer(
      shards_->control().executor(), {.transactional_id = "t", .properties = {}}, metrics_);
  ASSERT_TRUE(producer.ok());
  ASSERT_TRUE(wait((*producer)->init(clock().now() + 5s)).ok());
  ASSERT_TRUE(wait((*producer)->begin()).ok());
  const TopicInfo topic = *wait((*producer)->topic("in"));
  std::vector<OutRecord> records(1);
  records[0].topic = topic.handle;
  std::size_t too_large = 0;
  ASSERT_TRUE(wait((*producer)->produce(records, &too_large)).ok());
  ASSERT_TRUE(wait((*producer)->delivered(clock().now() + 5s)).ok());
  ASSERT_EQ(broker_.last_stable({"in", 0}), Offset(0));
  const auto one = run(options({"in"}), {at("in", 0, 1)});
  EXPECT_TRUE(one->status.ok()) << one->status.message();
  static_cast<void>(wait((*producer)->close()).ok());
}
TEST_F(SourceTest, APartitionThatIsMissingFromTheMetadataKeepsItsPosition) {
  broker_.create_topic("m-a", 1);
  SourceOptions with = options({});
  with.topic_pattern = "m-.*";
  const auto one = run(with, {at("m-a", 0, 0), at("m-b", 0, 3)});
  ASSERT_TRUE(one->status.ok()) << one->status.message();
  one->open();
  one->drain();
  EXPECT_THAT(one->positions(), UnorderedElementsAre(at("m-a", 0, 0), at("m-b", 0, 3)));
  // It comes back, and is read from there.
  broker_.create_topic("m-b", 1);
  fill("m-b", 0, 0, 4);
  Result<Positions> found = wait(one->source->discover(*one->attempt, "events"));
  ASSERT_TRUE(found.ok());
  ASSERT_THAT(*found, ElementsAre(at("m-b", 0, 3)));
  ASSERT_TRUE(wait_on_shard(one->reader->add(found->front())).ok());
  EXPECT_THAT(one->drain().values.at({"m-b", 0}), ElementsAre("3", "4"));
  EXPECT_THAT(one->positions(), UnorderedElementsAre(at("m-a", 0, 0), at("m-b", 0, 5)));
}

// ---- what is wrong at the start ----

TEST_F(SourceTest, AllMissingTopicsAreNamedAtOnceAndNoneIsMade) {  // S18
  broker_.create_topic("orders", 1);
  EXPECT_THAT(refusal(options({"ordres", "orders", "custmers"}), ExitStatus::kConfiguration),
              AllOf(HasSubstr("ordres"), HasSubstr("custmers"), HasSubstr("model:9092")));
  EXPECT_THAT(refusal(options({"ordres"}), ExitStatus::kConfiguration),
              HasSubstr("ordres"));  // Still not there.
}
TEST_F(SourceTest, AMissingRightIsToldApartFromAMissingTopic) {
  broker_.create_topic("orders", 1);
  broker_.deny(ModelResource::kTopic, "orders");
  EXPECT_THAT(refusal(options({"orders"}), ExitStatus::kNoPermission), HasSubstr("orders"));
}
TEST_F(SourceTest, BrokersThatDoNotAnswerAreNamed) {
  broker_.create_topic("orders", 1);
  broker_.set_reachable(false);
  EXPECT_THAT(refusal(options({"orders"}), ExitStatus::kUnavailable), HasSubstr("model:9092"));
}
TEST_F(SourceTest, SettingsThatMakeNoSenseAreRefusedBeforeAnybodyIsAsked) {
  broker_.set_reachable(false);
  SourceOptions no_group = options({"in"});
  no_group.group.clear();
  EXPECT_THAT(refusal(no_group, ExitStatus::kConfiguration), HasSubstr(".group"));
  SourceOptions both = options({"in"});
  both.topic_pattern = "in.*";
  EXPECT_THAT(refusal(both, ExitStatus::kConfiguration), HasSubstr("topic_pattern"));
  SourceOptions pattern = options({});
  pattern.topic_pattern = "in[";
  EXPECT_THAT(refusal(pattern, ExitStatus::kConfiguration), HasSubstr("regular expression"));
  SourceOptions other = options({"in"});
  other.start = offsets({{"out", {{0, 1}}}});
  EXPECT_THAT(refusal(other, ExitStatus::kConfiguration), HasSubstr("out"));
  SourceOptions nobody = options({"in"});
  nobody.client.reset();
  EXPECT_THAT(refusal(nobody, ExitStatus::kConfiguration), HasSubstr(".brokers"));
}
TEST_F(SourceTest, MissingTopicsCanBeWaitedFor) {
  SourceOptions with = options({"later"});
  with.wait_for_topics = true;
  const auto one = run(with);
  ASSERT_TRUE(one->status.ok()) << one->status.message();
  EXPECT_TRUE(one->starts.empty());
  one->open();
  EXPECT_EQ(one->drain().last, Polled::kNothing);
  broker_.create_topic("later", 1);
  fill("later", 0, 1, 3);
  Result<Positions> found = wait(one->source->discover(*one->attempt, "events"));
  ASSERT_TRUE(found.ok());
  EXPECT_THAT(*found, ElementsAre(at("later", 0, 0)));
}

// ---- reading ----

TEST_F(SourceTest, APartitionThatIsHeldBackHandsNothingOutUntilItGoesOn) {
  broker_.create_topic("in", 2);
  fill("in", 0, 1, 5000);
  fill("in", 1, 1, 10);
  const auto one = run(options({"in"}));
  one->open();
  const auto pause = [&](bool on) {
    auto ask = [](SourceReader<std::string>* of, bool hold) -> asio::awaitable<bool> {
      co_return of->pause({"in", 0}, hold);
    };
    return wait_on_shard(ask(one->reader.get(), on));
  };
  EXPECT_TRUE(pause(true));
  Collected<std::string> got = one->drain();
  EXPECT_FALSE(got.values.contains({"in", 0}));
  EXPECT_EQ(got.values.at({"in", 1}).size(), 10u);
  EXPECT_THAT(one->positions(), UnorderedElementsAre(at("in", 0, 0), at("in", 1, 10)));
  EXPECT_TRUE(pause(false));
  got = one->drain();
  EXPECT_EQ(got.values.at({"in", 0}).size(), 5000u);
}
TEST_F(SourceTest, ABoundedSourceSaysWhichPartitionsHaveEndedEachOnce) {
  broker_.create_topic("in", 3);
  fill("in", 0, 1, 5000);
  fill("in", 1, 1, 10);
  SourceOptions with = options({"in"});
  with.stop = latest();
  const auto one = run(with);
  one->open();
  const Collected<std::string> got = one->drain();
  EXPECT_EQ(got.last, Polled::kEnd);
  // The third one is empty: it had ended before the first poll.
  EXPECT_THAT(got.ended, UnorderedElementsAre(Split{"in", 0}, Split{"in", 1}, Split{"in", 2}));
}

TEST_F(SourceTest, HandsOutEveryRecordOnceInOrderInBatchesOfOneSplit) {
  broker_.create_topic("in", 2);
  fill("in", 0, 1, 5000);
  fill("in", 1, 1, 10);
  const auto one = run(options({"in"}));
  one->open();
  const Collected<std::string> got = one->drain();
  std::vector<std::string> expected;
  for (int i = 1; i <= 5000; ++i) expected.push_back(std::to_string(i));
  EXPECT_EQ(got.values.at({"in", 0}), expected);
  EXPECT_EQ(got.values.at({"in", 1}).size(), 10u);
  for (const Batch<std::string>& batch : got.batches) {
    EXPECT_LE(batch.size(), Batch<std::string>::kRecordsMax);
    EXPECT_FALSE(batch.memory().empty());
    EXPECT_GT(batch.memory_bytes(), 0u);
  }
  EXPECT_THAT(one->positions(), UnorderedElementsAre(at("in", 0, 5000), at("in", 1, 10)));
}
TEST_F(SourceTest, TheSharesOfAFetchAddUpToIt) {
  broker_.create_topic("in", 1);
  for (int i = 0; i < 3000; ++i)
    broker_.append({"in", 0}, {.value = std::string(i % 100 == 0 ? 5000 : 50, 'x')});
  const auto one = run<Record>(options({"in"}));
  one->open();
  std::size_t shares = 0, largest = 0, batches = 0;
  for (const Batch<Record>& batch : one->drain().batches) {
    shares += batch.memory_bytes();
    largest = std::max(largest, batch.memory_bytes());
    ++batches;
  }
  const auto fetched = static_cast<std::size_t>(metrics_.value("sluice_source_bytes_total"));
  EXPECT_GT(batches, 3u);
  EXPECT_LE(shares, fetched);
  EXPECT_GE(shares + batches, fetched);  // Rounded down, once a batch.
  EXPECT_LT(largest, 4 * fetched / batches);
}
TEST_F(SourceTest, WholeRecordsKeepKeysHeadersTimesAndNulls) {  // S21
  broker_.create_topic("in", 1);
  broker_.append({"in", 0}, {.key = "k1",
                             .value = "{}",
                             .headers = {{"trace", "t2"}, {"null", std::nullopt}},
                             .time = EventTime(EventDuration(77))});
  broker_.append({"in", 0}, {.value = std::nullopt});
  const auto one = run<Record>(options({"in"}));
  one->open();
  const Collected<Record> got = one->drain();
  const std::vector<Record>& records = got.values.at({"in", 0});
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].key.view(), "k1");
  EXPECT_EQ(records[0].time, EventTime(EventDuration(77)));
  ASSERT_EQ(records[0].headers.size(), 2u);
  EXPECT_TRUE(records[0].headers[1].value.null());
  EXPECT_TRUE(records[1].key.null());
  EXPECT_TRUE(records[1].value.null());
  EXPECT_EQ(records[1].offset, Offset(1));
  EXPECT_EQ(got.batches.front().times()[0], EventTime(EventDuration(77)));
}
TEST_F(SourceTest, PositionsPassAbortedRecordsControlRecordsAndGaps) {  // S10
  broker_.create_topic("in", 1);
  fill("in", 0, 0, 9);
  Result<std::unique_ptr<TransactionalProducer>> producer = client()->transactional_producer(
      shards_->control().executor(), {.transactional_id = "t", .properties = {}}, metrics_);
  ASSERT_TRUE(wait((*producer)->init(clock().now() + 5s)).ok());
  ASSERT_TRUE(wait((*producer)->begin()).ok());
  const TopicInfo topic = *wait((*producer)->topic("in"));
  std::vector<OutRecord> records(5);
  for (OutRecord& record : records) record.topic = topic.handle;
  std::size_t too_large = 0;
  ASSERT_TRUE(wait((*producer)->produce(records, &too_large)).ok());
  ASSERT_TRUE(wait((*producer)->delivered(clock().now() + 5s)).ok());
  broker_.expire_transactions();
  fill("in", 0, 10, 19);
  broker_.compact({"in", 0}, {Offset(3)});
  const auto committed = run(options({"in"}));
  committed->open();
  EXPECT_EQ(committed->drain().values.at({"in", 0}).size(), 19u);
  EXPECT_THAT(committed->positions(), ElementsAre(at("in", 0, broker_.end({"in", 0}).value())));
  SourceOptions with = options({"in"});
  with.isolation = Isolation::kReadUncommitted;
  const auto uncommitted = run<Bytes>(with);
  uncommitted->open();
  EXPECT_EQ(uncommitted->drain().values.at({"in", 0}).size(), 24u);
  static_cast<void>(wait((*producer)->close()).ok());
}
TEST_F(SourceTest, PartitionsAddedWhileRunningAreReadFromTheirBeginning) {  // S17
  broker_.create_topic("in", 1);
  fill("in", 0, 0, 4);
  SourceOptions with = options({"in"});
  with.start = latest();
  const auto one = run(with);
  one->open();
  broker_.add_partitions("in", 2);
  fill("in", 1, 1, 10);
  Result<Positions> found = wait(one->source->discover(*one->attempt, "events"));
  ASSERT_TRUE(found.ok());
  ASSERT_THAT(*found, ElementsAre(at("in", 1, 0)));
  EXPECT_TRUE(wait(one->source->discover(*one->attempt, "events"))->empty());
  ASSERT_TRUE(wait_on_shard(one->reader->add(found->front())).ok());
  EXPECT_EQ(one->drain().values.at({"in", 1}).size(), 10u);
}
TEST_F(SourceTest, DiscoveryOutlivesBrokersThatAreAway) {
  broker_.create_topic("in", 1);
  const auto one = run(options({"in"}));
  broker_.set_reachable(false);
  Result<Positions> found = wait(one->source->discover(*one->attempt, "events"));
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->empty());
  broker_.set_reachable(true);
}

// ---- bounded ----

TEST_F(SourceTest, StopsAtLatestAsItWasAtTheStart) {
  broker_.create_topic("in", 2);
  fill("in", 0, 1, 10);
  SourceOptions with = options({"in"});
  with.stop = latest();
  const auto one = run(with);
  EXPECT_EQ(one->source->discovery_interval().count(), 0);
  fill("in", 0, 11, 20);
  fill("in", 1, 1, 5);
  one->open();
  const Collected<std::string> got = one->drain();
  EXPECT_EQ(got.last, Polled::kEnd);
  EXPECT_EQ(got.values.at({"in", 0}).size(), 10u);
  EXPECT_FALSE(got.values.contains({"in", 1}));
  EXPECT_THAT(one->positions(), UnorderedElementsAre(at("in", 0, 10), at("in", 1, 0)));
}
TEST_F(SourceTest, StopsAtGivenOffsetsOrATime) {
  broker_.create_topic("in", 1);
  for (int i = 0; i < 10; ++i)
    broker_.append({"in", 0},
                   {.value = std::to_string(i), .time = EventTime(EventDuration(1000 + i))});
  SourceOptions with = options({"in"});
  with.stop = offsets({{"in", {{0, 4}}}});
  const auto by_offset = run(with);
  by_offset->open();
  EXPECT_THAT(by_offset->drain().values.at({"in", 0}), ElementsAre("0", "1", "2", "3"));
  EXPECT_THAT(by_offset->positions(), ElementsAre(at("in", 0, 4)));
  with.stop = timestamp(EventTime(EventDuration(1002)));
  const auto by_time = run(with);
  by_time->open();
  const Collected<std::string> got = by_time->drain();
  EXPECT_THAT(got.values.at({"in", 0}), ElementsAre("0", "1"));
  EXPECT_EQ(got.last, Polled::kEnd);
}
TEST_F(SourceTest, ABoundedEndBehindAnAbortedTransactionIsReached) {
  broker_.create_topic("in", 1);
  fill("in", 0, 1, 3);
  Result<std::unique_ptr<TransactionalProducer>> producer = client()->transactional_producer(
      shards_->control().executor(), {.transactional_id = "t", .properties = {}}, metrics_);
  ASSERT_TRUE(wait((*producer)->init(clock().now() + 5s)).ok());
  ASSERT_TRUE(wait((*producer)->begin()).ok());
  const TopicInfo topic = *wait((*producer)->topic("in"));
  std::vector<OutRecord> records(5);
  for (OutRecord& record : records) record.topic = topic.handle;
  std::size_t too_large = 0;
  ASSERT_TRUE(wait((*producer)->produce(records, &too_large)).ok());
  ASSERT_TRUE(wait((*producer)->delivered(clock().now() + 5s)).ok());
  broker_.expire_transactions();
  SourceOptions with = options({"in"});
  with.stop = latest();
  const auto one = run(with);
  one->open();
  const Collected<std::string> got = one->drain();
  EXPECT_EQ(got.last, Polled::kEnd);
  EXPECT_EQ(got.values.at({"in", 0}).size(), 3u);
  static_cast<void>(wait((*producer)->close()).ok());
}

// ---- one bad record (S46) ----

class BadRecordTest : public SourceTest {
 protected:
  void SetUp() override {
    broker_.create_topic("in", 1);
    broker_.append({"in", 0}, {.value = R"({"id":1})"});
    broker_.append({"in", 0}, {.key = "k2",
                               .value = R"({"id":2)",
                               .headers = {{"trace", "t2"}},
                               .time = EventTime(EventDuration(55))});
    broker_.append({"in", 0}, {.value = ""});
    broker_.append({"in", 0}, {.value = R"({"id":4})"});
    broker_.append({"in", 0}, {.key = "k1", .value = std::nullopt});
  }
  Collected<Json> read(OnError policy) {
    SourceOptions with = options({"in"});
    with.on_error = policy;
    one_ = run<Json>(with);
    one_->open();
    return one_->drain();
  }
  std::unique_ptr<Run<Json>> one_;
};
TEST_F(BadRecordTest, FailsWithItsPlaceAndThePositionInTheText) {
  const Collected<Json> got = read(OnError::kFail);
  EXPECT_EQ(got.failure.code(), Code::kCorrupt);
  EXPECT_THAT(std::string(got.failure.message()),
              AllOf(HasSubstr("topic in partition 0 offset 1"), HasSubstr("at byte 7 of 7"),
                    HasSubstr("on_error")));
}
TEST_F(BadRecordTest, IsLeftOutAndCounted) {
  const Collected<Json> got = read(OnError::kSkip);
  ASSERT_EQ(got.values.at({"in", 0}).size(),
            3u);  // Two documents and a tombstone, which is not bad.
  EXPECT_EQ(got.values.at({"in", 0})[1].text, R"({"id":4})");
  EXPECT_TRUE(got.values.at({"in", 0})[2].null());
  EXPECT_EQ(metrics_.value("sluice_source_skipped_records_total"), 2u);
  EXPECT_THAT(one_->positions(), ElementsAre(at("in", 0, 5)));
}
TEST_F(BadRecordTest, IsSentOnAsItWasWithReasonAndOrigin) {
  const Collected<Json> got = read(OnError::kReject);
  EXPECT_EQ(got.values.at({"in", 0}).size(), 3u);
  ASSERT_EQ(got.rejected.size(), 1u);
  const Batch<Record>& rejected = got.rejected.front();
  ASSERT_EQ(rejected.size(), 2u);
  EXPECT_EQ(rejected[0].value.view(), R"({"id":2)");
  EXPECT_EQ(rejected[0].key.view(), "k2");
  std::map<std::string, std::string> headers;
  for (const Header& header : rejected[0].headers)
    headers[std::string(header.name)] = std::string(header.value.view());
  EXPECT_EQ(headers["trace"], "t2");
  EXPECT_THAT(headers["sluice.error"], HasSubstr("not JSON"));
  EXPECT_EQ(headers["sluice.source.topic"], "in");
  EXPECT_EQ(headers["sluice.source.partition"], "0");
  EXPECT_EQ(headers["sluice.source.offset"], "1");
  EXPECT_EQ(headers["sluice.source.timestamp"], "55");
  EXPECT_EQ(rejected.split()->name, "in");
  EXPECT_FALSE(rejected[1].value.null());
  EXPECT_EQ(rejected[1].value.size(), 0u);
}
TEST_F(BadRecordTest, ADeserializerMaySkipOrThrow) {
  SourceOptions with = options({"in"});
  with.on_error = OnError::kReject;
  auto own = [](const Record& record, Arena& arena, std::string_view& out) -> Result<bool> {
    if (record.value.null()) return false;
    if (record.value.size() == 0) throw std::runtime_error("nothing in it");
    out = arena.copy(record.value.view());
    return true;
  };
  Run<std::string_view> one(*this, source<std::string_view>(with, own));
  one.open();
  const Collected<std::string_view> got = one.drain();
  EXPECT_EQ(got.values.at({"in", 0}).size(), 3u);
  ASSERT_EQ(got.rejected.size(), 1u);
  EXPECT_THAT(std::string(got.rejected[0][0].headers.front().value.view()),
              HasSubstr("nothing in it"));
}

// ---- group offsets ----

TEST_F(SourceTest, WithoutATransactionTheGroupLearnsOfFinishedCheckpoints) {
  broker_.create_topic("in", 1);
  fill("in", 0, 1, 10);
  const auto one = run(options({"in"}));
  one->open();
  one->drain();
  EXPECT_THAT(one->positions(), ElementsAre(at("in", 0, 10)));  // The barrier.
  EXPECT_EQ(broker_.committed("users-group", {"in", 0}).offset, -1);
  auto complete = [](SourceReader<std::string>* of) -> asio::awaitable<int> {
    of->checkpoint_complete(Epoch(1));
    co_return 0;
  };
  wait_on_shard(complete(one->reader.get()));
  one->end();
  EXPECT_EQ(broker_.committed("users-group", {"in", 0}).offset, 10);
}
TEST_F(SourceTest, WithATransactionTheReaderLeavesTheGroupAlone) {
  broker_.create_topic("in", 1);
  fill("in", 0, 1, 10);
  const auto one = run(options({"in"}));
  internal::kafka_inputs(*one->attempt, internal::Cluster::key("", client_))->decider = true;
  one->open();
  one->drain();
  one->positions();
  auto complete = [](SourceReader<std::string>* of) -> asio::awaitable<int> {
    of->checkpoint_complete(Epoch(1));
    co_return 0;
  };
  wait_on_shard(complete(one->reader.get()));
  one->end();
  EXPECT_EQ(broker_.committed("users-group", {"in", 0}).offset, -1);
}
TEST_F(SourceTest, PeriodicallyTheGroupLearnsOfWhatWasHandedOut) {
  broker_.create_topic("in", 1);
  fill("in", 0, 1, 10);
  SourceOptions with = options({"in"});
  with.commit_offsets = CommitOffsets::kPeriodic;
  with.commit_interval = 5ms;
  const auto one = run(with);
  one->open();
  one->drain();
  for (int i = 0; i < 400 && broker_.committed("users-group", {"in", 0}).offset != 10; ++i)
    std::this_thread::sleep_for(5ms);
  EXPECT_EQ(broker_.committed("users-group", {"in", 0}).offset, 10);
}

}  // namespace
}  // namespace sluice::kafka
