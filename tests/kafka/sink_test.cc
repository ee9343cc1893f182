// Goal: what a sink is given reaches the topic byte for byte, in the partition that was asked for,
// in one transaction with the
//       decision; and what cannot work is refused at the start.
// Method: sinks and writers against the broker model, driven call by call as the runtime and the
// coordinator do.
#include <sluice/kafka/sink.h>

#include "kafka_fixture.h"

namespace sluice::kafka {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SinkTest : public KafkaTest {
 protected:
  SinkOptions options(const std::string& topic = "out") {
    SinkOptions made;
    made.topic = topic;
    made.client = client();
    made.unreachable_after = 300ms;
    return made;
  }
  /// Sinks of one attempt of a job. Closed at the end of the test.
  template <class T>
  struct Run {
    SinkTest* test;
    std::unique_ptr<Attempt> attempt;
    std::vector<std::shared_ptr<Sink<T>>> sinks;
    std::vector<std::unique_ptr<SinkWriter<T>>> writers;
    Status status;
    std::uint64_t epoch = 0;

    explicit Run(SinkTest& in, const std::string& job = "rides")
        : test(&in), attempt(in.attempt(job)) {}
    Status add(std::shared_ptr<Sink<T>> sink) {
      sinks.push_back(sink);
      status = test->wait(sink->check(*attempt, "sink-" + std::to_string(sinks.size())));
      return status;
    }
    TransactionDecider& decider() { return static_cast<TransactionDecider&>(*attempt->decider()); }
    void start() {
      if (attempt->decider()) {
        const Result<Decision> claimed = test->wait(decider().claim());
        ASSERT_TRUE(claimed.ok()) << claimed.status().message();
        epoch = claimed->epoch.value();
        ASSERT_TRUE(test->wait(decider().begin(Epoch(++epoch))).ok());
      }
      for (const auto& sink : sinks) {
        const Status started = test->wait(sink->start(*attempt));
        ASSERT_TRUE(started.ok()) << started.message();
        writers.push_back(sink->writer(*attempt, ShardId(0)));
        const Context here = test->context("sink-" + std::to_string(writers.size()));
        ASSERT_TRUE(test->wait_on_shard(writers.back()->open(here)).ok());
      }
    }
    Status write(Batch<T> batch, std::size_t sink = 0) {
      return test->wait_on_shard(writers[sink]->write(std::move(batch), rejected));
    }
    Status decide() {
      Decision decision;
      decision.epoch = Epoch(epoch);
      decision.writer = decider().claim_id();
      decision.digest = "0123456789abcdef0123456789abcdef";
      const Status delivered = test->wait(decider().delivered());
      if (!delivered.ok()) return delivered;
      return test->wait(decider().decide(decision, {}));
    }
    ~Run() {
      for (const auto& writer : writers)
        static_cast<void>(test->wait_on_shard(writer->close()).ok());
      writers.clear();
      const std::shared_ptr<Decider> decides = attempt->decider();
      for (const auto& sink : sinks) static_cast<void>(test->wait(sink->close(*attempt)).ok());
      if (decides) static_cast<void>(test->wait(decides->close()).ok());
    }
    std::vector<Batch<Record>> rejected;
  };
  template <class T>
  static Batch<T> batch(std::vector<T> values, const std::string& topic = "in",
                        std::int32_t partition = 0) {
    Batch<T> made;
    made.records() = std::move(values);
    if (!topic.empty()) made.set_split(std::make_shared<const Split>(Split{topic, partition}));
    return made;
  }
  std::string refusal(SinkOptions with, ExitStatus exit, std::chrono::nanoseconds interval = 1s) {
    Run<std::string_view> run(*this);
    run.attempt->checkpoint_interval = interval;
    const Status checked = run.add(sink<std::string_view>(std::move(with)));
    EXPECT_FALSE(checked.ok());
    EXPECT_EQ(checked.exit_status(), exit) << checked.message();
    return std::string(checked.message());
  }
};

// ---- writing ----

TEST_F(SinkTest, NothingIsVisibleBeforeTheDecisionAndAllOfItIsThen) {
  broker_.create_topic("out", 1);
  Run<std::string_view> run(*this);
  ASSERT_TRUE(run.add(sink<std::string_view>(options())).ok());
  EXPECT_TRUE(run.sinks[0]->holds());
  run.start();
  ASSERT_TRUE(run.write(batch<std::string_view>({"a", "b"})).ok());
  ASSERT_TRUE(run.write(batch<std::string_view>({"c"})).ok());
  ASSERT_TRUE(wait(run.decider().delivered()).ok());
  EXPECT_THAT(values("out"), IsEmpty());
  EXPECT_THAT(values("out", 0, false), ElementsAre("a", "b", "c"));
  ASSERT_TRUE(run.decide().ok());
  EXPECT_THAT(values("out"), ElementsAre("a", "b", "c"));
}
TEST_F(SinkTest, ACrashBeforeTheDecisionLeavesNothingAndTheNextAttemptWritesItOnce) {
  broker_.create_topic("out", 1);
  {
    Run<std::string_view> run(*this);
    ASSERT_TRUE(run.add(sink<std::string_view>(options())).ok());
    run.start();
    ASSERT_TRUE(run.write(batch<std::string_view>({"a"})).ok());
    ASSERT_TRUE(wait(run.decider().delivered()).ok());
  }
  Run<std::string_view> again(*this);
  ASSERT_TRUE(again.add(sink<std::string_view>(options())).ok());
  again.start();
  ASSERT_TRUE(again.write(batch<std::string_view>({"a"})).ok());
  ASSERT_TRUE(again.decide().ok());
  EXPECT_THAT(values("out"), ElementsAre("a"));
}
TEST_F(SinkTest, ASinkServesOneAttemptAfterTheOther) {
  broker_.create_topic("out", 1);
  const auto one = sink<std::string_view>(options());
  for (int attempt = 0; attempt < 2; ++attempt) {
    Run<std::string_view> run(*this);
    ASSERT_TRUE(run.add(one).ok());
    run.start();
    ASSERT_TRUE(run.write(batch<std::string_view>({"x"})).ok());
    ASSERT_TRUE(run.decide().ok());
  }
  EXPECT_THAT(values("out"), ElementsAre("x", "x"));
}
TEST_F(SinkTest, SeveralTopicsAreOneTransaction) {
  broker_.create_topic("out", 1);
  broker_.create_topic("dead", 1);
  Run<std::string_view> run(*this);
  ASSERT_TRUE(run.add(sink<std::string_view>(options("out"))).ok());
  ASSERT_TRUE(run.add(sink<std::string_view>(options("dead"))).ok());
  EXPECT_FALSE(run.attempt->several_deciders());
  run.start();
  ASSERT_TRUE(run.write(batch<std::string_view>({"good"}), 0).ok());
  ASSERT_TRUE(run.write(batch<std::string_view>({"bad"}), 1).ok());
  EXPECT_THAT(values("dead"), IsEmpty());
  ASSERT_TRUE(run.decide().ok());
  EXPECT_THAT(values("out"), ElementsAre("good"));
  EXPECT_THAT(values("dead"), ElementsAre("bad"));
}
TEST_F(SinkTest, WholeRecordsArriveAsTheyWere) {  // S21
  broker_.create_topic("out", 1);
  Run<Record> run(*this);
  ASSERT_TRUE(run.add(sink<Record>(options())).ok());
  run.start();
  const Header headers[] = {{"trace", Bytes("t2", 2)}, {"empty", Bytes("", 0)}, {"null", Bytes()}};
  std::vector<Record> records(3);
  records[0].key = Bytes("k1", 2);
  records[0].value = Bytes("{}", 2);
  records[0].headers = headers;
  records[0].time = EventTime(EventDuration(77));
  records[1].key = Bytes("", 0);
  records[1].value = Bytes("", 0);
  records[2].key = Bytes("k1", 2);  // And a null value: a tombstone.
  ASSERT_TRUE(run.write(batch(records)).ok());
  ASSERT_TRUE(run.decide().ok());
  const std::vector<ModelRecord> got = broker_.records({"out", 0});
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0].key, "k1");
  EXPECT_EQ(got[0].time, EventTime(EventDuration(77)));
  EXPECT_THAT(got[0].headers, ElementsAre(std::pair("trace", ModelRecord::Text("t2")),
                                          std::pair("empty", ModelRecord::Text("")),
                                          std::pair("null", ModelRecord::Text())));
  EXPECT_EQ(got[1].key, "");
  EXPECT_EQ(got[1].value, "");
  EXPECT_EQ(got[2].value, std::nullopt);
}
TEST_F(SinkTest, EventTimesAreWrittenUnlessTheOptionSaysNo) {
  broker_.create_topic("out", 2);
  for (const bool write : {true, false}) {
    Run<std::string_view> run(*this);
    SinkOptions with = options();
    with.write_timestamp = write;
    ASSERT_TRUE(run.add(sink<std::string_view>(with)).ok());
    run.start();
    Batch<std::string_view> timed = batch<std::string_view>({"x"}, "in", write ? 0 : 1);
    timed.times() = {EventTime(EventDuration(123))};
    ASSERT_TRUE(run.write(std::move(timed)).ok());
    ASSERT_TRUE(run.decide().ok());
    EXPECT_EQ(broker_.records({"out", write ? 0 : 1})[0].time == EventTime(EventDuration(123)),
              write);
  }
}
TEST_F(SinkTest, ThePartitionOfTheSourceIsKept) {
  broker_.create_topic("out", 4);
  Run<std::string_view> run(*this);
  ASSERT_TRUE(run.add(sink<std::string_view>(options())).ok());
  run.start();
  for (const std::int32_t partition : {0, 3, 5}) {
    ASSERT_TRUE(run.write(batch<std::string_view>({std::string_view("x")}, "in", partition)).ok());
  }
  ASSERT_TRUE(run.decide().ok());
  for (const std::int32_t partition : {0, 1, 3}) EXPECT_EQ(values("out", partition).size(), 1u);
}
TEST_F(SinkTest, KeysGoWhereJavaPutsThem) {  // S55
  broker_.create_topic("out", 10);
  Run<std::string> run(*this);
  SinkOptions with = options();
  with.partitioner = hash_murmur2();
  auto by_key = [](const std::string& value, SinkRecord& out) {
    out.key = out.value = Bytes(value);
  };
  ASSERT_TRUE(run.add(sink<std::string>(with, by_key)).ok());
  run.start();
  const std::vector<std::pair<std::string, std::int32_t>> places{
      {"meter-001", 8}, {"meter-002", 1}, {"meter-003", 6}, {"meter-004", 4},
      {"meter-005", 5}, {"zähler-7", 7},  {"計-1", 8},      {"TT0124", 0}};
  for (const auto& [key, place] : places)
    ASSERT_TRUE(run.write(batch<std::string>({key}, "")).ok());
  ASSERT_TRUE(run.decide().ok());
  for (const auto& [key, place] : places) EXPECT_THAT(values("out", place), testing::Contains(key));
}
TEST_F(SinkTest, ARecordMayNameTopicAndPartition) {
  broker_.create_topic("a", 2);
  broker_.create_topic("b", 1);
  Run<std::string> run(*this);
  auto route = [](const std::string& value, Arena& arena, SinkRecord& out) {
    out.topic = arena.copy(value.substr(0, 1));
    out.partition = out.topic == "a" ? 1 : -1;
    out.value = Bytes(value);
  };
  ASSERT_TRUE(run.add(sink<std::string>(options(""), route)).ok());
  run.start();
  ASSERT_TRUE(run.write(batch<std::string>({"a1", "b1", "a2", "b2"})).ok());
  ASSERT_TRUE(run.decide().ok());
  EXPECT_THAT(values("a", 1), ElementsAre("a1", "a2"));
  EXPECT_THAT(values("b"), ElementsAre("b1", "b2"));
  const Status unknown = run.write(batch<std::string>({"a3", "c1"}));
  EXPECT_EQ(unknown.code(), Code::kInvalid);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("c"));
}
TEST_F(SinkTest, APartitionThatIsNotThereIsRefused) {
  broker_.create_topic("out", 2);
  Run<std::string_view> run(*this);
  SinkOptions with = options();
  with.partitioner =
      partition_by([](const SinkRecord&, std::int32_t partitions) { return partitions; });
  ASSERT_TRUE(run.add(sink<std::string_view>(with)).ok());
  run.start();
  EXPECT_EQ(run.write(batch<std::string_view>({"x"})).code(), Code::kInvalid);
}
TEST_F(SinkTest, IntegersJsonAndStringsAreWrittenAsKafkaDoes) {
  broker_.create_topic("out", 1);
  Run<std::int64_t> run(*this);
  ASSERT_TRUE(run.add(sink<std::int64_t>(options())).ok());
  run.start();
  ASSERT_TRUE(run.write(batch<std::int64_t>({258})).ok());
  ASSERT_TRUE(run.decide().ok());
  EXPECT_THAT(values("out"), ElementsAre(std::string("\0\0\0\0\0\0\x01\x02", 8)));
}

// ---- what cannot be written ----

class TooLargeTest : public SinkTest {
 protected:
  void SetUp() override { broker_.create_topic("out", 1, {{"max.message.bytes", "1000000"}}); }
  std::string large_ = std::string(2'000'000, 'x');
  Batch<Record> input() {
    std::vector<Record> records(3);
    for (std::size_t i = 0; i < 3; ++i) {
      records[i].offset = Offset(48 + static_cast<std::int64_t>(i));
      records[i].key = Bytes("k", 1);
      records[i].value =
          Bytes(i == 1 ? std::string_view(large_) : std::string_view(i == 0 ? "first" : "last"));
    }
    return batch(records, "in", 3);
  }
};
TEST_F(TooLargeTest, ARecordFailsWithPlaceSizeAndLimit) {  // S53
  Run<Record> run(*this);
  ASSERT_TRUE(run.add(sink<Record>(options())).ok());
  run.start();
  const Status written = run.write(input());
  EXPECT_EQ(written.code(), Code::kExhausted);
  EXPECT_THAT(std::string(written.message()),
              AllOf(HasSubstr("from in partition 3 offset 49"), HasSubstr("2000001 bytes"),
                    HasSubstr("max.message.bytes"), HasSubstr("too_large")));
}
TEST_F(TooLargeTest, OrIsRejectedAndTheOthersGoOn) {
  Run<Record> run(*this);
  SinkOptions with = options();
  with.too_large = TooLarge::kReject;
  ASSERT_TRUE(run.add(sink<Record>(with)).ok());
  run.start();
  ASSERT_TRUE(run.write(input()).ok());
  ASSERT_TRUE(run.decide().ok());
  EXPECT_THAT(values("out"), ElementsAre("first", "last"));
  ASSERT_EQ(run.rejected.size(), 1u);
  const Record& rejected = run.rejected[0][0];
  EXPECT_EQ(rejected.value.view(), large_);
  EXPECT_NE(rejected.value.data(), large_.data());
  std::map<std::string, std::string> headers;
  for (const Header& header : rejected.headers)
    headers[std::string(header.name)] = std::string(header.value.view());
  EXPECT_THAT(headers["sluice.error"], HasSubstr("2000001 bytes"));
  EXPECT_EQ(headers["sluice.source.topic"], "in");
  EXPECT_EQ(headers["sluice.source.partition"], "3");
  EXPECT_EQ(headers["sluice.source.offset"], "49");
  EXPECT_EQ(metrics_.value("sluice_sink_rejected_records_total"), 1u);
}
TEST_F(SinkTest, ASerializerThatFailsOrThrowsNamesTheRecord) {
  broker_.create_topic("out", 1);
  for (const bool throws : {false, true}) {
    Run<Record> run(*this);
    auto own = [throws](const Record& record, SinkRecord&) -> Status {
      if (record.offset != Offset(2)) return {};
      if (throws) throw std::runtime_error("no way");
      return Status(Code::kInvalid, "no way");
    };
    ASSERT_TRUE(run.add(sink<Record>(options(), own)).ok());
    run.start();
    std::vector<Record> records(3);
    for (std::size_t i = 0; i < 3; ++i)
      records[i].offset = Offset(static_cast<std::int64_t>(i) + 1);
    const Status written = run.write(batch(records));
    EXPECT_EQ(written.code(), Code::kInvalid);
    EXPECT_THAT(std::string(written.message()),
                AllOf(HasSubstr("no way"), HasSubstr("from in partition 0 offset 2")));
  }
}

// ---- without a transaction ----

TEST_F(SinkTest, AtLeastOnceIsVisibleAtOnceAndAwaited) {
  broker_.create_topic("out", 1);
  Run<std::string_view> run(*this);
  SinkOptions with = options();
  with.delivery = Delivery::kAtLeastOnce;
  ASSERT_TRUE(run.add(sink<std::string_view>(with)).ok());
  EXPECT_FALSE(run.sinks[0]->holds());
  EXPECT_EQ(run.attempt->decider(), nullptr);
  run.start();
  ASSERT_TRUE(run.write(batch<std::string_view>({"a"})).ok());
  ASSERT_TRUE(wait(run.sinks[0]->delivered(*run.attempt)).ok());
  EXPECT_THAT(values("out"), ElementsAre("a"));
  broker_.fail_deliveries();
  static_cast<void>(run.write(batch<std::string_view>({"b"})).ok());
  EXPECT_EQ(wait(run.sinks[0]->delivered(*run.attempt)).code(), Code::kRecover);
}
TEST_F(SinkTest, WithoutAGuaranteeNobodyWaits) {
  broker_.create_topic("out", 1);
  Run<std::string_view> run(*this);
  SinkOptions with = options();
  with.delivery = Delivery::kNone;
  ASSERT_TRUE(run.add(sink<std::string_view>(with)).ok());
  run.start();
  broker_.hold_deliveries(true);
  ASSERT_TRUE(run.write(batch<std::string_view>({"a"})).ok());
  EXPECT_TRUE(wait(run.sinks[0]->delivered(*run.attempt)).ok());
  broker_.hold_deliveries(false);
}

// ---- what is wrong at the start ----

TEST_F(SinkTest, AMissingTopicIsNamedAndNotMade) {  // S18
  EXPECT_THAT(refusal(options("ordres"), ExitStatus::kConfiguration),
              AllOf(HasSubstr("ordres"), HasSubstr("model:9092")));
  EXPECT_THAT(refusal(options("ordres"), ExitStatus::kConfiguration), HasSubstr("ordres"));
}
TEST_F(SinkTest, AMissingRightIsToldApart) {
  broker_.create_topic("out", 1);
  broker_.deny(ModelResource::kTopic, "out");
  EXPECT_THAT(refusal(options(), ExitStatus::kNoPermission), HasSubstr("out"));
}
TEST_F(SinkTest, BrokersThatDoNotAnswerAreNamed) {
  broker_.set_reachable(false);
  EXPECT_THAT(refusal(options(), ExitStatus::kUnavailable), HasSubstr("model:9092"));
}
TEST_F(SinkTest, ATransactionTimeoutAboveTheBrokersIsRefusedWithBothNumbers) {  // S08
  broker_.create_topic("out", 1);
  SinkOptions with = options();
  with.transaction_timeout = 1h;
  EXPECT_THAT(refusal(with, ExitStatus::kConfiguration),
              AllOf(HasSubstr("3600000"), HasSubstr("900000"),
                    HasSubstr("transaction.max.timeout.ms"), HasSubstr("transaction.timeout.ms")));
}
TEST_F(SinkTest, AnIntervalThatIsNotBelowTheTransactionTimeoutIsRefused) {
  broker_.create_topic("out", 1);
  EXPECT_THAT(refusal(options(), ExitStatus::kConfiguration, 60s),
              AllOf(HasSubstr("60000"), HasSubstr("interval")));
}
struct Property {
  std::string name, value;
};
class Refused : public SinkTest, public testing::WithParamInterface<Property> {};
TEST_P(Refused, BecauseItBreaksExactlyOnce) {
  broker_.create_topic("out", 1);
  SinkOptions with = options();
  with.properties[GetParam().name] = GetParam().value;
  EXPECT_THAT(refusal(with, ExitStatus::kConfiguration), HasSubstr(GetParam().name));
}
INSTANTIATE_TEST_SUITE_P(
    Properties, Refused,
    testing::Values(Property{"enable.idempotence", "false"}, Property{"acks", "1"},
                    Property{"request.required.acks", "0"}, Property{"max.in.flight", "6"},
                    Property{"message.timeout.ms", "60000"}, Property{"delivery.timeout.ms", "0"},
                    Property{"transactional.id", "mine"},
                    Property{"transaction.timeout.ms", "1000"}));
TEST_F(SinkTest, OneTransactionalIdOnTwoClustersIsRefused) {  // S07
  broker_.create_topic("out", 1);
  ModelBroker other;
  other.create_topic("out", 1);
  Run<std::string_view> run(*this);
  ASSERT_TRUE(run.add(sink<std::string_view>(options())).ok());
  SinkOptions elsewhere = options();
  elsewhere.client = client_of(other);
  const Status second = run.add(sink<std::string_view>(elsewhere));
  EXPECT_EQ(second.code(), Code::kInvalid);
  EXPECT_THAT(std::string(second.message()), HasSubstr("transactional id sluice-rides"));
}
TEST_F(SinkTest, TwoClustersWithTwoIdsAreSeveralDeciders) {
  broker_.create_topic("out", 1);
  ModelBroker other;
  other.create_topic("out", 1);
  Run<std::string_view> run(*this);
  ASSERT_TRUE(run.add(sink<std::string_view>(options())).ok());
  SinkOptions elsewhere = options();
  elsewhere.client = client_of(other);
  elsewhere.transactional_id = "another";
  ASSERT_TRUE(run.add(sink<std::string_view>(elsewhere)).ok());
  EXPECT_TRUE(run.attempt->several_deciders());
}
TEST_F(SinkTest, SinksOfOneClusterMustAgreeOnTheTransaction) {
  broker_.create_topic("out", 1);
  Run<std::string_view> run(*this);
  ASSERT_TRUE(run.add(sink<std::string_view>(options())).ok());
  SinkOptions longer = options();
  longer.transaction_timeout = 90s;
  const Status second = run.add(sink<std::string_view>(longer));
  EXPECT_EQ(second.code(), Code::kInvalid);
  EXPECT_THAT(std::string(second.message()), AllOf(HasSubstr("60000"), HasSubstr("90000")));
}
TEST_F(SinkTest, AJobNameThatNoTopicCanHaveIsRefused) {
  broker_.create_topic("out", 1);
  Run<std::string_view> run(*this, "two words");
  EXPECT_EQ(run.add(sink<std::string_view>(options())).code(), Code::kInvalid);
}

}  // namespace
}  // namespace sluice::kafka
