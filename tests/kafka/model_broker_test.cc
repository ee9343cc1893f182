#include <sluice/kafka/model.h>

#include <optional>
#include <thread>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sluice/io/clock.h>
#include <sluice/io/event.h>

// Goal: the model breaks its promises only where a knob says so, and then in the way that a broker does: what is lost was
//       done, what is late hits whatever is open, what is decided shows when its markers are written.
// Method: one io_context on this thread, a clock that is turned by hand; rules as in the explicit-state model.
namespace sluice::kafka {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using State = ModelTransactionState;
using Ends = std::vector<OffsetAndMetadata>;

constexpr io::Monotonic kFar = io::Monotonic::max();
const TopicPartition kOut{"out", 0};
const TopicPartition kRegister{"registers", 0};

class ModelBrokerTest : public ::testing::Test {
 protected:
  ModelBrokerTest() : ModelBrokerTest(ModelOptions{}) {}
  explicit ModelBrokerTest(ModelOptions options) : broker_(std::move(options), clock_), client_(broker_.client()) {
    broker_.create_topic("out", 2);
    broker_.create_topic("registers", 2);
  }

  /// Runs until nothing is left to do; a coroutine that still waits has no answer.
  template <class T>
  std::optional<T> start_and_run(asio::awaitable<T> work) {
    auto outcome = std::make_shared<std::optional<T>>();
    asio::co_spawn(context_, keep(std::move(work), outcome), asio::detached);
    run();
    return std::move(*outcome);
  }
  template <class T>
  T wait(asio::awaitable<T> work) {
    std::optional<T> outcome = start_and_run(std::move(work));
    if (!outcome) throw std::logic_error("the call waits");
    return *std::move(outcome);
  }
  template <class T>
  static asio::awaitable<void> keep(asio::awaitable<T> work, std::shared_ptr<std::optional<T>> into) {
    T value = co_await std::move(work);
    into->emplace(std::move(value));
  }
  void run() {
    context_.restart();
    context_.poll();
  }

  std::unique_ptr<TransactionalProducer> transactional(std::chrono::milliseconds timeout = 60s) {
    auto made = client_->transactional_producer(
        context_.get_executor(), {.transactional_id = "id", .transaction_timeout = timeout, .properties = {}}, metrics_);
    return *std::move(made);
  }
  std::unique_ptr<TransactionalProducer> begun() {
    std::unique_ptr<TransactionalProducer> producer = transactional();
    ok(wait(producer->init(kFar)));
    ok(wait(producer->begin()));
    return producer;
  }
  std::unique_ptr<Consumer> consumer(bool read_committed = true) {
    auto made = client_->consumer(context_.get_executor(), arrival_, {.read_committed = read_committed, .properties = {}},
                                  metrics_);
    return *std::move(made);
  }
  std::unique_ptr<Admin> admin() { return *client_->admin(context_.get_executor()); }

  Status write(Producer& producer, const std::vector<std::string>& values, const TopicPartition& at = kOut) {
    const Result<TopicInfo> topic = wait(producer.topic(at.topic));
    std::vector<OutRecord> records;
    for (const std::string& value : values) {
      const Bytes bytes{std::string_view(value)};
      records.push_back(
          {.topic = topic->handle, .partition = at.partition, .key = {}, .value = bytes, .headers = {}});
    }
    std::size_t too_large = 0;
    return wait(producer.produce(records, &too_large));
  }
  Status send_offset(TransactionalProducer& producer, std::int64_t offset) {
    Ends offsets{{kRegister, offset, "m"}};
    return wait(producer.send_offsets("group", std::move(offsets), kFar));
  }
  std::vector<std::string> seen(const TopicPartition& at = kOut, bool read_committed = true) {
    std::vector<std::string> values;
    for (const ModelRecord& record : broker_.records(at, read_committed)) values.push_back(*record.value);
    return values;
  }
  Result<Ends> committed() {
    std::vector<TopicPartition> partitions{kRegister};
    return wait(admin()->committed("group", std::move(partitions), kFar));
  }
  static void ok(const Status& status) { EXPECT_TRUE(status.ok()) << status.to_string(); }

  asio::io_context context_{1};
  io::FakeClock clock_{io::WallTime(1'700'000'000s)};
  Metrics metrics_;
  io::Event arrival_{context_.get_executor()};
  ModelBroker broker_;
  std::shared_ptr<Client> client_;
};

// ---- decisions, markers, offsets ----

TEST_F(ModelBrokerTest, DecidedTransactionShowsWhenItsMarkersAreWritten) {
  const auto producer = begun();
  ok(write(*producer, {"a"}));
  ok(send_offset(*producer, 1));
  broker_.hold(ModelStep::kLogMarkers);
  broker_.hold(ModelStep::kOffsetMarkers);
  broker_.hold(ModelStep::kOffsets);

  ok(wait(producer->commit(kFar)));

  EXPECT_EQ(broker_.transaction_state("id"), State::kPrepareCommit);
  EXPECT_THAT(seen(), IsEmpty());
  EXPECT_EQ(broker_.last_stable(kOut), Offset(0));
  broker_.release(ModelStep::kLogMarkers);
  EXPECT_THAT(seen(), ElementsAre("a"));
  EXPECT_EQ(broker_.end(kOut), Offset(2));  // A control record.
  EXPECT_EQ(broker_.transaction_state("id"), State::kPrepareCommit);
  EXPECT_EQ(committed().code(), Code::kRetry);
  broker_.release(ModelStep::kOffsetMarkers);
  EXPECT_EQ(broker_.transaction_state("id"), State::kCompleteCommit);
  EXPECT_EQ(committed().code(), Code::kRetry);  // Marked, not yet taken up.
  broker_.release(ModelStep::kOffsets);
  EXPECT_EQ(committed()->at(0).offset, 1);
}

TEST_F(ModelBrokerTest, NextTransactionWaitsForTheMarkersOfTheLast) {
  const auto producer = begun();
  ok(write(*producer, {"a"}));
  broker_.hold(ModelStep::kLogMarkers);
  ok(wait(producer->commit(kFar)));
  ok(wait(producer->begin()));
  ok(write(*producer, {"b"}));
  EXPECT_EQ(producer->outstanding(), 1u);
  EXPECT_EQ(send_offset(*producer, 1).code(), Code::kRetry);

  broker_.release(ModelStep::kLogMarkers);

  EXPECT_EQ(producer->outstanding(), 0u);
  ok(send_offset(*producer, 1));
  ok(wait(producer->commit(kFar)));
  EXPECT_THAT(seen(), ElementsAre("a", "b"));
}

TEST_F(ModelBrokerTest, InitWaitsForAPreparedTransactionAndKeepsItsDecision) {
  const auto first = begun();
  ok(write(*first, {"a"}));
  broker_.hold(ModelStep::kLogMarkers);
  ok(wait(first->commit(kFar)));
  const auto second = transactional();
  EXPECT_EQ(wait(second->init(kFar)).code(), Code::kRetry);
  broker_.release(ModelStep::kLogMarkers);
  ok(wait(second->init(kFar)));
  EXPECT_THAT(seen(), ElementsAre("a"));
}

TEST_F(ModelBrokerTest, EmptyTransactionSendsNothing) {
  const auto producer = begun();
  ok(wait(producer->commit(kFar)));
  EXPECT_EQ(broker_.transaction_state("id"), State::kEmpty);
  EXPECT_EQ(broker_.end(kOut), Offset(0));
}

TEST_F(ModelBrokerTest, TransactionTimesOutByTheClock) {
  const auto producer = begun();
  ok(write(*producer, {"a"}));
  ok(send_offset(*producer, 1));
  clock_.advance(59s);
  broker_.tick();
  EXPECT_EQ(broker_.transaction_state("id"), State::kOngoing);
  clock_.advance(1s);
  broker_.tick();
  EXPECT_EQ(broker_.transaction_state("id"), State::kCompleteAbort);
  EXPECT_EQ(broker_.producer_epoch("id"), 1);
  EXPECT_EQ(committed()->at(0).offset, -1);
  EXPECT_THAT(seen(kOut, false), ElementsAre("a"));
  EXPECT_EQ(wait(producer->commit(kFar)).code(), Code::kRecover);
  EXPECT_EQ(wait(producer->begin()).code(), Code::kRecover);
  ok(wait(producer->init(kFar)));
}

TEST_F(ModelBrokerTest, FencedProducerFailsForGood) {
  const auto first = begun();
  ok(write(*first, {"a"}));
  const auto second = begun();
  ok(write(*first, {"b"}));
  EXPECT_EQ(wait(first->delivered(kFar)).code(), Code::kRecover);
  EXPECT_EQ(write(*first, {"c"}).code(), Code::kRecover);
  EXPECT_EQ(send_offset(*first, 1).code(), Code::kRecover);
  EXPECT_EQ(first->outstanding(), 0u);
  ok(write(*second, {"d"}));
  ok(wait(second->commit(kFar)));
  EXPECT_THAT(seen(), ElementsAre("d"));
}

// ---- lost, late, refused ----

TEST_F(ModelBrokerTest, CommitWhoseAnswerIsLostIsResumed) {
  const auto producer = begun();
  ok(write(*producer, {"a"}));
  broker_.lose_answer(ModelRequest::kEndTxn);
  EXPECT_EQ(wait(producer->commit(kFar)).code(), Code::kRetry);
  EXPECT_TRUE(producer->tainted());
  EXPECT_THAT(seen(), ElementsAre("a"));  // Done all the same.
  ok(wait(producer->commit(kFar)));
  EXPECT_TRUE(producer->tainted());
  ok(wait(producer->init(kFar)));
  EXPECT_FALSE(producer->tainted());
  EXPECT_EQ(broker_.faults_left(), 0u);
}

TEST_F(ModelBrokerTest, LibraryThatResendsOnlyTaints) {
  const auto producer = begun();
  ok(write(*producer, {"a"}));
  broker_.lose_answer(ModelRequest::kEndTxn, 1, ModelResend::kLibrary);
  ok(wait(producer->commit(kFar)));
  EXPECT_TRUE(producer->tainted());
  EXPECT_THAT(seen(), ElementsAre("a"));
}

TEST_F(ModelBrokerTest, LateEndOfATransactionCommitsTheNextOne) {
  const auto producer = begun();
  ok(write(*producer, {"a"}));
  broker_.delay(ModelRequest::kEndTxn, 1, ModelResend::kLibrary);
  ok(wait(producer->commit(kFar)));
  ok(wait(producer->begin()));
  ok(write(*producer, {"half"}));
  EXPECT_EQ(broker_.delayed(), 1u);
  broker_.release_delayed();
  EXPECT_THAT(seen(), ElementsAre("a", "half"));  // KIP-890: why taint leads to init.
}

TEST_F(ModelBrokerTest, LateEndOfATransactionIsFencedAfterInit) {
  const auto producer = begun();
  ok(write(*producer, {"a"}));
  broker_.delay(ModelRequest::kEndTxn);
  EXPECT_EQ(wait(producer->commit(kFar)).code(), Code::kRetry);
  EXPECT_THAT(seen(), IsEmpty());
  ok(wait(producer->commit(kFar)));
  ok(wait(producer->init(kFar)));
  ok(wait(producer->begin()));
  ok(write(*producer, {"half"}));
  broker_.release_delayed();
  EXPECT_THAT(seen(), ElementsAre("a"));
}

TEST_F(ModelBrokerTest, RepeatedProduceIsWrittenOnce) {
  const auto producer = begun();
  broker_.lose_answer(ModelRequest::kAddPartitions);
  ok(write(*producer, {"a"}));
  EXPECT_EQ(producer->outstanding(), 1u);
  broker_.lose_answer(ModelRequest::kProduce);
  broker_.delay(ModelRequest::kProduce);
  EXPECT_EQ(wait(producer->delivered(clock_.now())).code(), Code::kRetry);
  EXPECT_EQ(wait(producer->delivered(clock_.now())).code(), Code::kRetry);
  ok(wait(producer->delivered(kFar)));
  broker_.release_delayed();
  EXPECT_TRUE(producer->tainted());
  ok(write(*producer, {"b"}));
  ok(wait(producer->commit(kFar)));
  EXPECT_THAT(seen(), ElementsAre("a", "b"));
}

TEST_F(ModelBrokerTest, LateProduceOfADeadProducerIsFenced) {
  auto producer = begun();
  broker_.delay(ModelRequest::kProduce);
  ok(write(*producer, {"late"}));
  producer.reset();
  const auto next = begun();
  ok(write(*next, {"b"}));
  broker_.release_delayed();
  ok(wait(next->commit(kFar)));
  EXPECT_THAT(seen(), ElementsAre("b"));
}

TEST_F(ModelBrokerTest, LateAddPartitionsOpensATransactionThatNobodyEnds) {
  const auto producer = begun();
  broker_.delay(ModelRequest::kAddPartitions, 1, ModelResend::kLibrary);
  ok(write(*producer, {"a"}));
  ok(wait(producer->commit(kFar)));
  broker_.release_delayed();
  EXPECT_EQ(broker_.transaction_state("id"), State::kOngoing);
  clock_.advance(60s);
  broker_.tick();
  EXPECT_EQ(broker_.transaction_state("id"), State::kCompleteAbort);
  ok(wait(producer->begin()));
  ok(write(*producer, {"b"}));
  EXPECT_EQ(wait(producer->delivered(kFar)).code(), Code::kRecover);
  EXPECT_THAT(seen(), ElementsAre("a"));
}

TEST_F(ModelBrokerTest, LateInitFences) {
  const auto producer = transactional();
  broker_.delay(ModelRequest::kInitProducerId);
  EXPECT_EQ(wait(producer->init(kFar)).code(), Code::kRetry);
  EXPECT_TRUE(producer->tainted());
  ok(wait(producer->init(kFar)));
  EXPECT_FALSE(producer->tainted());
  ok(wait(producer->begin()));
  ok(write(*producer, {"a"}));
  broker_.release_delayed();
  EXPECT_EQ(wait(producer->commit(kFar)).code(), Code::kRecover);
}

TEST_F(ModelBrokerTest, LateOffsetsAreHeldBackForEverWithoutVerification) {
  const auto producer = begun();
  broker_.delay(ModelRequest::kTxnOffsetCommit, 1, ModelResend::kLibrary);
  ok(send_offset(*producer, 1));
  ok(wait(producer->commit(kFar)));
  broker_.release_delayed();
  EXPECT_TRUE(broker_.pending("group", kRegister));
  EXPECT_EQ(committed().code(), Code::kRetry);
  EXPECT_EQ(broker_.committed("group", kRegister).offset, 1);
}

class VerifyingBrokerTest : public ModelBrokerTest {
 protected:
  VerifyingBrokerTest() : ModelBrokerTest({.verify_transactions = true}) {}
};
TEST_F(VerifyingBrokerTest, LateOffsetsAreRefused) {
  const auto producer = begun();
  broker_.delay(ModelRequest::kTxnOffsetCommit, 1, ModelResend::kLibrary);
  ok(send_offset(*producer, 1));
  ok(wait(producer->commit(kFar)));
  broker_.release_delayed();
  EXPECT_FALSE(broker_.pending("group", kRegister));
  EXPECT_EQ(committed()->at(0).offset, 1);
}

TEST_F(ModelBrokerTest, RefusedRequestChangesAndTaintsNothing) {
  const auto producer = begun();
  ok(write(*producer, {"a"}));
  broker_.refuse(ModelRequest::kAddOffsets);
  broker_.refuse(ModelRequest::kEndTxn, 2);
  EXPECT_EQ(send_offset(*producer, 1).code(), Code::kRetry);
  ok(send_offset(*producer, 1));
  EXPECT_EQ(wait(producer->commit(kFar)).code(), Code::kRetry);
  EXPECT_EQ(wait(producer->commit(kFar)).code(), Code::kRetry);
  EXPECT_EQ(broker_.transaction_state("id"), State::kOngoing);
  ok(wait(producer->commit(kFar)));
  EXPECT_FALSE(producer->tainted());
}

TEST_F(ModelBrokerTest, FailedDeliveryIsToldUntilInit) {
  const auto producer = begun();
  broker_.fail_deliveries();
  ok(write(*producer, {"a", "b"}));
  EXPECT_EQ(producer->outstanding(), 0u);
  EXPECT_EQ(wait(producer->delivered(kFar)).code(), Code::kRecover);
  EXPECT_EQ(wait(producer->commit(kFar)).code(), Code::kRecover);
  ok(wait(producer->init(kFar)));
  ok(wait(producer->begin()));
  ok(write(*producer, {"c"}));
  ok(wait(producer->delivered(kFar)));
  ok(wait(producer->commit(kFar)));
  EXPECT_THAT(seen(), ElementsAre("c"));
}

TEST_F(ModelBrokerTest, DeliveredWaitsUntilReleasedOrUntilTheDeadline) {
  const auto producer = begun();
  broker_.hold_deliveries(true);
  ok(write(*producer, {"a"}));
  auto first = std::make_shared<std::optional<Status>>();
  asio::co_spawn(context_, keep(producer->delivered(clock_.now() + 5s), first), asio::detached);
  run();
  EXPECT_FALSE(first->has_value());
  clock_.advance(5s);
  run();
  ASSERT_TRUE(first->has_value());
  EXPECT_EQ((*first)->code(), Code::kRetry);

  auto second = std::make_shared<std::optional<Status>>();
  asio::co_spawn(context_, keep(producer->delivered(clock_.now() + 5s), second), asio::detached);
  run();
  EXPECT_FALSE(second->has_value());
  broker_.hold_deliveries(false);
  run();
  ASSERT_TRUE(second->has_value());
  ok(**second);
  EXPECT_EQ(clock_.sleepers(), 0u);
}

class SmallQueueTest : public ModelBrokerTest {
 protected:
  SmallQueueTest() : ModelBrokerTest({.producer_queue_records_max = 2}) {}
};
TEST_F(SmallQueueTest, ProduceWaitsForRoom) {
  const auto producer = begun();
  const Result<TopicInfo> topic = wait(producer->topic("out"));
  broker_.hold_deliveries(true);
  const std::vector<OutRecord> records(5, OutRecord{.topic = topic->handle, .key = {}, .value = Bytes("x", 1), .headers = {}});
  std::size_t too_large = 0;
  auto outcome = std::make_shared<std::optional<Status>>();
  asio::co_spawn(context_, keep(producer->produce(records, &too_large), outcome), asio::detached);
  run();
  EXPECT_FALSE(outcome->has_value());
  EXPECT_EQ(producer->outstanding(), 2u);
  broker_.hold_deliveries(false);
  run();
  ASSERT_TRUE(outcome->has_value());
  ok(**outcome);
  EXPECT_EQ(seen(kOut, false).size(), 5u);
}

TEST_F(ModelBrokerTest, UnreachableBrokerTaintsAndComesBack) {
  const auto producer = begun();
  ok(write(*producer, {"a"}));
  const auto reader = consumer(false);
  ok(wait(reader->assign({{kOut, Offset(0)}})));
  broker_.set_reachable(false);
  EXPECT_TRUE(producer->tainted());
  ok(write(*producer, {"b"}));
  EXPECT_EQ(producer->outstanding(), 1u);
  EXPECT_EQ(send_offset(*producer, 1).code(), Code::kRetry);
  EXPECT_TRUE(reader->poll(10)->runs.empty());
  EXPECT_EQ(wait(broker_.client()->admin(context_.get_executor()).operator*()->topics({}, kFar)).status().exit_status(),
            ExitStatus::kUnavailable);

  broker_.set_reachable(true);

  EXPECT_EQ(producer->outstanding(), 0u);
  ok(send_offset(*producer, 1));
  ok(wait(producer->commit(kFar)));
  EXPECT_THAT(seen(), ElementsAre("a", "b"));
  EXPECT_EQ(reader->poll(10)->records.size(), 2u);
}

// ---- logs ----

TEST_F(ModelBrokerTest, PositionPassesGapsAndControlRecords) {
  for (int i = 0; i < 5; ++i) broker_.append(kOut, {.key = "k", .value = std::to_string(i)});
  broker_.compact(kOut, {Offset(1), Offset(3), Offset(4)});
  const auto reader = consumer();
  ok(wait(reader->assign({{kOut, Offset(1)}})));
  const Result<Fetch> fetch = reader->poll(10);
  ASSERT_EQ(fetch->records.size(), 1u);
  EXPECT_EQ(fetch->records[0].offset, Offset(2));
  EXPECT_EQ(fetch->runs[0].next, Offset(5));
  EXPECT_TRUE(fetch->runs[0].at_end);
  EXPECT_TRUE(reader->poll(10)->runs.empty());
}

TEST_F(ModelBrokerTest, FetchSurvivesRetentionAndDeletion) {
  broker_.append(kOut, {.key = "k", .value = std::string(100, 'v'), .headers = {{"h", std::nullopt}}});
  const auto reader = consumer();
  ok(wait(reader->assign({{kOut, Offset(0)}})));
  const Result<Fetch> fetch = reader->poll(10);
  broker_.delete_records(kOut, Offset(1));
  broker_.delete_topic("out");
  EXPECT_EQ(fetch->records[0].value.view(), std::string(100, 'v'));
  EXPECT_EQ(fetch->records[0].headers[0].name, "h");
  EXPECT_TRUE(fetch->records[0].headers[0].value.null());
  EXPECT_GT(fetch->bytes, 100u);
  EXPECT_EQ(reader->poll(10).code(), Code::kInvalid);
}

TEST_F(ModelBrokerTest, ArrivalRingsWhenSomethingBecomesReadable) {
  const auto reader = consumer();
  ok(wait(reader->assign({{kOut, Offset(0)}})));
  ok(wait(arrival_.wait()));
  EXPECT_TRUE(reader->poll(10)->runs.at(0).at_end);
  const auto producer = begun();
  auto woken = std::make_shared<std::optional<Status>>();
  asio::co_spawn(context_, keep(arrival_.wait(), woken), asio::detached);
  run();
  EXPECT_FALSE(woken->has_value());
  ok(write(*producer, {"a"}));
  ok(wait(producer->commit(kFar)));
  EXPECT_TRUE(woken->has_value());
  EXPECT_EQ(reader->poll(10)->records.size(), 1u);
}

TEST_F(ModelBrokerTest, FullPollStarvesNobody) {
  for (int i = 0; i < 10; ++i) broker_.append(kOut, {.value = "x"});
  broker_.append({"out", 1}, {.value = "y"});
  const auto reader = consumer();
  ok(wait(reader->assign({{kOut, Offset(0)}, {{"out", 1}, Offset(0)}})));
  (void)reader->poll(3);
  EXPECT_EQ(reader->poll(3)->records[0].value.view(), "y");
}

TEST_F(ModelBrokerTest, PartitionsAreAddedAndTopicsMadeAnew) {
  broker_.add_partitions("out", 3);
  EXPECT_EQ(wait(admin()->topics({"out"}, kFar))->at(0).partitions, 3);
  broker_.append(kOut, {.value = "old"});
  broker_.set_committed("group", {kOut, 7, ""});
  broker_.delete_topic("out");
  broker_.create_topic("out", 1);
  EXPECT_EQ(broker_.end(kOut), Offset(0));
  EXPECT_EQ(broker_.committed("group", kOut).offset, -1);
}

// ---- rights, groups ----

TEST_F(ModelBrokerTest, DeniedNamesAreRefusedWithTheirExitStatus) {
  broker_.deny(ModelResource::kTopic, "out");
  broker_.deny(ModelResource::kGroup, "group");
  const auto producer = begun();
  EXPECT_EQ(wait(producer->topic("out")).status().exit_status(), ExitStatus::kNoPermission);
  EXPECT_EQ(send_offset(*producer, 1).exit_status(), ExitStatus::kNoPermission);
  EXPECT_EQ(committed().status().exit_status(), ExitStatus::kNoPermission);
  EXPECT_EQ(wait(admin()->topics({"out"}, kFar))->at(0).status.exit_status(), ExitStatus::kNoPermission);
  EXPECT_EQ(wait(admin()->topics({}, kFar))->size(), 1u);
  broker_.deny(ModelResource::kTransactionalId, "id");
  EXPECT_EQ(wait(producer->init(kFar)).exit_status(), ExitStatus::kNoPermission);
  broker_.allow(ModelResource::kTransactionalId, "id");
  ok(wait(producer->init(kFar)));
}

TEST_F(ModelBrokerTest, DeposedCoordinatorAnswersWithWhatItKnew) {
  const auto producer = begun();
  ok(send_offset(*producer, 1));
  ok(wait(producer->commit(kFar)));
  broker_.depose_coordinator(1);
  ok(wait(producer->begin()));
  ok(send_offset(*producer, 2));
  ok(wait(producer->commit(kFar)));
  EXPECT_EQ(committed()->at(0).offset, 1);
  EXPECT_EQ(committed()->at(0).offset, 2);
  broker_.delete_group("group");
  EXPECT_EQ(committed()->at(0).offset, -1);
}

TEST_F(ModelBrokerTest, PropertiesThatBreakTheEngineAreRefused) {
  for (const auto& [name, value] : Properties{{"enable.auto.commit", "true"}, {"isolation.level", "read_uncommitted"},
                                              {"group.id", "g"}, {"No Such", "x"}}) {
    const auto made =
        client_->consumer(context_.get_executor(), arrival_, {.properties = {{name, value}}}, metrics_);
    EXPECT_EQ(made.code(), Code::kInvalid) << name;
    EXPECT_THAT(std::string(made.status().message()), HasSubstr(name));
  }
}

// ---- threads ----

TEST(ModelBrokerThreads, ShardsWriteReadAndCommitAtOnce) {
  constexpr int kShards = 3, kRounds = 200;
  ModelBroker broker;
  broker.create_topic("out", kShards);
  const std::shared_ptr<Client> client = broker.client();
  Metrics metrics;
  std::vector<std::size_t> counts(kShards, 0);
  std::vector<std::thread> threads;
  for (int shard = 0; shard < kShards; ++shard) {
    threads.emplace_back([&, shard] {
      asio::io_context context(1);
      const auto run = [&](auto work) {
        asio::co_spawn(context, std::move(work), asio::detached);
        context.restart();
        context.run();
      };
      io::Event arrival(context.get_executor());
      const std::unique_ptr<Consumer> reader = *client->consumer(context.get_executor(), arrival, {.properties = {}}, metrics);
      const std::unique_ptr<TransactionalProducer> producer = *client->transactional_producer(
          context.get_executor(), {.transactional_id = "id" + std::to_string(shard), .properties = {}}, metrics);
      std::vector<Consumer::Assignment> all;
      for (int i = 0; i < kShards; ++i) all.push_back({{"out", i}, Offset(0)});
      run(reader->assign(all));
      run(producer->init(kFar));
      auto topic = [](TransactionalProducer* of) -> asio::awaitable<void> { (void)co_await of->topic("out"); };
      run(topic(producer.get()));
      for (int round = 0; round < kRounds; ++round) {
        run(producer->begin());
        std::vector<OutRecord> records;
        for (int i = 0; i < kShards; ++i) records.push_back({.partition = i, .key = {}, .value = Bytes("x", 1), .headers = {}});
        std::size_t too_large = 0;
        run(producer->produce(records, &too_large));
        run(producer->delivered(kFar));
        run(producer->commit(kFar));
        counts[static_cast<std::size_t>(shard)] += reader->poll(1'000)->records.size();
      }
      while (counts[static_cast<std::size_t>(shard)] < kShards * kShards * kRounds) {
        counts[static_cast<std::size_t>(shard)] += reader->poll(1'000)->records.size();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kShards; ++i) {
    EXPECT_EQ(counts[static_cast<std::size_t>(i)], kShards * kShards * kRounds);
    EXPECT_EQ(broker.records({"out", i}).size(), kShards * kRounds);
  }
}

}  // namespace
}  // namespace sluice::kafka
