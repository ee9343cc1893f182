// Goal: what source, sink and decider do on the model holds on a real broker with the real client
// too. Method: the same calls as the runtime makes, on a broker of the test run; each test has
// topics and a job of its own.
#include <sluice/kafka/sink.h>
#include <sluice/kafka/source.h>

#include <support/broker.h>

#include "kafka_fixture.h"

namespace sluice::kafka {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class OnBroker : public KafkaTest {
 protected:
  const sluice::testing::SharedBroker& real_ = sluice::testing::SharedBroker::get();
  const std::string job_ = sluice::testing::unique_name("job");

  SinkOptions sink_to(const std::string& topic) {
    SinkOptions made;
    made.brokers = real_.bootstrap();
    made.topic = topic;
    return made;
  }
  SourceOptions source_from(const std::string& topic) {
    SourceOptions made;
    made.brokers = real_.bootstrap();
    made.topics = {topic};
    made.group = job_ + "-users";
    made.start = earliest();
    made.stop = latest();
    return made;
  }
  /// One attempt with one sink and, for its positions, one source.
  struct Life {
    OnBroker* test;
    std::unique_ptr<Attempt> attempt;
    std::shared_ptr<Source<Record>> source;
    std::shared_ptr<Sink<Record>> sink;
    std::unique_ptr<SinkWriter<Record>> writer;
    std::uint64_t epoch = 0;
    std::vector<SplitPosition> starts;
    Decision restored;

    Life(OnBroker& in, const SourceOptions& from, const SinkOptions& to)
        : test(&in),
          attempt(in.attempt(in.job_)),
          source(kafka::source<Record>(from)),
          sink(kafka::sink<Record>(to)) {}
    TransactionDecider& decider() { return static_cast<TransactionDecider&>(*attempt->decider()); }
    void recover() {
      Status step = test->wait(source->check(*attempt));
      ASSERT_TRUE(step.ok()) << step.message();
      step = test->wait(sink->check(*attempt, "out"));
      ASSERT_TRUE(step.ok()) << step.message();
      Result<Decision> before = test->wait(decider().read());
      ASSERT_TRUE(before.ok()) << before.status().message();
      Result<Decision> claimed = test->wait(decider().claim());
      ASSERT_TRUE(claimed.ok()) << claimed.status().message();
      restored = *claimed;
      epoch = restored.epoch.value();
      Result<std::vector<SplitPosition>> from =
          test->wait(source->start(*attempt, "events", restored.positions));
      ASSERT_TRUE(from.ok()) << from.status().message();
      starts = *from;
      step = test->wait(sink->start(*attempt));
      ASSERT_TRUE(step.ok()) << step.message();
      writer = sink->writer(*attempt, ShardId(0));
      here = test->context("out");
      ASSERT_TRUE(test->wait_on_shard(writer->open(here)).ok());
      begin();
    }
    void begin() {
      const Status begun = test->wait(decider().begin(Epoch(++epoch)));
      ASSERT_TRUE(begun.ok()) << begun.message();
    }
    Status write(const std::vector<Record>& records, std::int32_t partition = 0) {
      Batch<Record> batch;
      batch.records() = records;
      batch.set_split(std::make_shared<const Split>(Split{"in", partition}));
      std::vector<Batch<Record>> rejected;
      return test->wait_on_shard(writer->write(std::move(batch), rejected));
    }
    Decision decision(bool positions_only = false) {
      Decision made;
      made.epoch = Epoch(epoch);
      made.writer = decider().claim_id();
      made.positions_only = positions_only;
      if (!positions_only) made.digest = "0123456789abcdef0123456789abcdef";
      return made;
    }
    Status decide(std::vector<SplitPosition> positions = {}) {
      const Status delivered = test->wait(decider().delivered());
      if (!delivered.ok()) return delivered;
      const Decision made = decision(!positions.empty());
      const Status decided = test->wait(decider().decide(made, std::move(positions)));
      if (!decided.ok()) return decided;
      return test->wait(decider().settle(made));
    }
    ~Life() {
      if (writer) static_cast<void>(test->wait_on_shard(writer->close()).ok());
      const std::shared_ptr<Decider> decides = attempt->decider();
      static_cast<void>(test->wait(source->close(*attempt)).ok());
      static_cast<void>(test->wait(sink->close(*attempt)).ok());
      if (decides) static_cast<void>(test->wait(decides->close()).ok());
    }
    Context here;
  };
  /// Everything that read_committed shows, by a source of its own.
  std::vector<Record> read(const std::string& topic, std::vector<Batch<Record>>& keep) {
    std::vector<Record> all;
    const auto from = kafka::source<Record>(source_from(topic));
    const auto reading = attempt(job_ + "-reader");
    Status step = wait(from->check(*reading));
    EXPECT_TRUE(step.ok()) << step.message();
    Result<std::vector<SplitPosition>> starts = wait(from->start(*reading, "check", {}));
    EXPECT_TRUE(starts.ok());
    io::Event arrival(shards_->shard(ShardId(0)).executor());
    auto reader = from->reader(*reading, ShardId(0));
    const Context here = context("check");
    EXPECT_TRUE(wait_on_shard(reader->open(here, *starts, arrival)).ok());
    for (;;) {
      SourceOutput<Record> out;
      const Result<Polled> polled = wait_on_shard(reader->poll(out));
      EXPECT_TRUE(polled.ok());
      for (Batch<Record>& batch : out.batches) {
        all.insert(all.end(), batch.begin(), batch.end());
        keep.push_back(std::move(batch));
      }
      if (!polled.ok() || *polled == Polled::kEnd) break;
      if (*polled == Polled::kNothing) static_cast<void>(wait_on_shard(arrival.wait()).ok());
    }
    for (const SplitPosition& position : wait_on_shard(positions_of(reader.get())))
      EXPECT_GE(position.next, Offset(0));
    static_cast<void>(wait_on_shard(reader->close()).ok());
    keep_readers_.push_back(std::move(reader));
    static_cast<void>(wait(from->close(*reading)).ok());
    return all;
  }
  static asio::awaitable<std::vector<SplitPosition>> positions_of(SourceReader<Record>* reader) {
    co_return reader->positions();
  }
  static std::vector<std::string> texts(const std::vector<Record>& records) {
    std::vector<std::string> found;
    for (const Record& record : records)
      found.push_back(record.value.null() ? "(null)" : std::string(record.value.view()));
    return found;
  }
  static Record value(std::string_view text) {
    Record record;
    record.value = Bytes(text);
    return record;
  }
  std::vector<std::unique_ptr<SourceReader<Record>>> keep_readers_;
};

TEST_F(OnBroker, DecidedOutputIsThereOnceAndAsItWas) {
  const std::string in = real_.new_topic("in", 2), out = real_.new_topic("out", 2);
  {
    Life first(*this, source_from(in), sink_to(out));
    ASSERT_NO_FATAL_FAILURE(first.recover());
    EXPECT_EQ(first.restored.epoch, Epoch(0));
    const Header headers[] = {
        {"trace", Bytes("t2", 2)}, {"empty", Bytes("", 0)}, {"null", Bytes()}};
    Record whole = value("whole");
    whole.key = Bytes("k", 1);
    whole.headers = headers;
    whole.time = EventTime(EventDuration(1'234'567'890'123));
    Record tombstone;
    tombstone.key = Bytes("k", 1);
    Record empty = value("");
    empty.key = Bytes("", 0);
    ASSERT_TRUE(first.write({whole, tombstone, empty}, 3).ok());
    ASSERT_TRUE(
        first.decide({{"events", {in, 0}, Offset(0)}, {"events", {in, 1}, Offset(0)}}).ok());
    first.begin();
    ASSERT_TRUE(first.decide({{"events", {in, 0}, Offset(0)}, {"events", {in, 1}, Offset(0)}})
                    .ok());  // Nothing in it (S02).
    first.begin();
    ASSERT_TRUE(first.write({value("never decided")}).ok());
    ASSERT_TRUE(wait(first.decider().delivered()).ok());
  }
  Life second(*this, source_from(in), sink_to(out));
  ASSERT_NO_FATAL_FAILURE(second.recover());
  EXPECT_EQ(second.restored.epoch, Epoch(2));
  EXPECT_TRUE(second.restored.positions_only);
  EXPECT_EQ(second.restored.positions.size(), 2u);
  std::vector<Batch<Record>> keep;
  const std::vector<Record> got = read(out, keep);
  ASSERT_THAT(texts(got), ElementsAre("whole", "(null)", ""));
  EXPECT_EQ(got[0].key.view(), "k");
  EXPECT_EQ(got[0].time, EventTime(EventDuration(1'234'567'890'123)));
  ASSERT_EQ(got[0].headers.size(), 3u);
  EXPECT_EQ(got[0].headers[0].value.view(), "t2");
  EXPECT_FALSE(got[0].headers[1].value.null());
  EXPECT_TRUE(got[0].headers[2].value.null());
  EXPECT_FALSE(got[2].key.null());
  for (const Batch<Record>& batch : keep) EXPECT_EQ(batch.split()->partition, 1);
}

TEST_F(OnBroker, RegistersThatADeadTransactionHoldsAreReadSoon) {
  const std::string in = real_.new_topic("in", 1), out = real_.new_topic("out", 1);
  const auto dead = std::make_unique<Life>(*this, source_from(in), sink_to(out));
  ASSERT_NO_FATAL_FAILURE(dead->recover());
  ASSERT_TRUE(dead->write({value("a")}).ok());
  ASSERT_TRUE(dead->decide().ok());
  dead->begin();
  ASSERT_TRUE(dead->write({value("b")}).ok());
  const DecisionRegister reg{
      job_, Epoch(2), dead->decider().claim_id(), "0123456789abcdef0123456789abcdef", {}, false};
  const RegisterPlace place = *register_place(job_);
  ASSERT_TRUE(wait(dead->decider().producer().send_offsets(place.group, {encode(place, reg)},
                                                           clock().now() + 10s))
                  .ok());
  const auto started = clock().now();
  Life next(*this, source_from(in), sink_to(out));
  ASSERT_NO_FATAL_FAILURE(next.recover());
  const auto took = clock().now() - started;
  EXPECT_EQ(next.restored.epoch, Epoch(1));
  EXPECT_LT(took, 5s);
  RecordProperty(
      "recovery_ms",
      std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
  std::printf(
      "recovery from held registers: %lld ms\n",
      static_cast<long long>(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
  EXPECT_EQ(dead->decide().code(), Code::kRecover);
  EXPECT_EQ(wait(dead->decider().still_owner()).code(), Code::kFenced);
  EXPECT_TRUE(wait(next.decider().still_owner()).ok());
  std::vector<Batch<Record>> keep;
  EXPECT_THAT(texts(read(out, keep)), ElementsAre("a"));
}

TEST_F(OnBroker, ATaintedEpochIsFollowedByANewClaim) {
  const std::string in = real_.new_topic("in", 1), out = real_.new_topic("out", 1);
  ::setenv("SLUICE_FAULT_TAINT_EVERY", "2", 1);
  Life life(*this, source_from(in), sink_to(out));
  ASSERT_NO_FATAL_FAILURE(life.recover());
  ::unsetenv("SLUICE_FAULT_TAINT_EVERY");
  const std::string digits = "1234";
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0) life.begin();
    ASSERT_TRUE(life.write({value(std::string_view(digits).substr(i, 1))}).ok());
    const Status decided = life.decide();
    ASSERT_TRUE(decided.ok()) << decided.message();
  }
  EXPECT_GE(metrics_.value("sluice_tainted_transactions_total"), 2u);
  std::vector<Batch<Record>> keep;
  EXPECT_THAT(texts(read(out, keep)), ElementsAre("1", "2", "3", "4"));
}

TEST_F(OnBroker, WhatIsWrongIsSaidAtTheStart) {
  const std::string out = real_.new_topic("out", 1);
  const auto one = attempt(job_);
  one->checkpoint_interval = 1s;
  SinkOptions missing = sink_to(out + "-x");
  auto sink = kafka::sink<Record>(missing);
  Status checked = wait(sink->check(*one, "out"));
  EXPECT_EQ(checked.exit_status(), ExitStatus::kConfiguration);
  EXPECT_THAT(std::string(checked.message()),
              AllOf(HasSubstr(out + "-x"), HasSubstr(real_.bootstrap())));
  static_cast<void>(wait(sink->close(*one)).ok());

  SinkOptions hour = sink_to(out);
  hour.transaction_timeout = 1h;
  sink = kafka::sink<Record>(hour);
  checked = wait(sink->check(*one, "out"));
  EXPECT_EQ(checked.exit_status(), ExitStatus::kConfiguration);
  EXPECT_THAT(std::string(checked.message()), AllOf(HasSubstr("3600000"), HasSubstr("900000")));
  static_cast<void>(wait(sink->close(*one)).ok());

  SourceOptions nobody;
  nobody.brokers = "127.0.0.1:1";
  nobody.topics = {"in"};
  nobody.group = "g";
  nobody.unreachable_after = 2s;
  const auto source = kafka::source<Record>(nobody);
  checked = wait(source->check(*one));
  EXPECT_EQ(checked.exit_status(), ExitStatus::kUnavailable) << checked.message();
  EXPECT_THAT(std::string(checked.message()), HasSubstr("127.0.0.1:1"));
  static_cast<void>(wait(source->close(*one)).ok());
}

}  // namespace
}  // namespace sluice::kafka
