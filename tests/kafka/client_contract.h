#pragma once

#include <sluice/io/base/random.h>
#include <sluice/io/clock.h>
#include <sluice/io/event.h>
#include <sluice/kafka/client.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// Goal: every Client keeps the promises of kafka/client.h, so that the engine may trust each of
// them alike, and a model is
//       no easier than a broker.
// Method: the same tests on whatever cluster a harness puts behind the client; names are unique a
// test, so a cluster may
//         be shared and keep what earlier runs left.
//
//     INSTANTIATE_TEST_SUITE_P(Model, ClientContract, ::testing::Values([] { return
//     std::make_unique<ModelHarness>(); }));
namespace sluice::kafka {

using namespace std::chrono_literals;

/// A cluster and what a test does to it besides what a Client can.
class ClientHarness {
 public:
  virtual ~ClientHarness() = default;
  virtual std::shared_ptr<Client> client(Properties properties = {}) = 0;
  /// A client whose brokers do not answer.
  virtual std::shared_ptr<Client> unreachable() = 0;
  virtual void create_topic(const std::string& name, std::int32_t partitions,
                            const Properties& config = {}) = 0;
  virtual void delete_records(const TopicPartition& at, Offset before) = 0;
  /// Every connection of the clients made so far breaks.
  virtual void close_connections() = 0;
  /// Returns when transactions whose timeout of `timeout` has passed were aborted.
  virtual void await_expiry(std::chrono::milliseconds timeout) = 0;
};

using HarnessFactory = std::function<std::unique_ptr<ClientHarness>()>;

/// A record with memory of its own; none means null.
struct OwnRecord {
  std::optional<std::string> key, value;
  std::vector<std::pair<std::string, std::optional<std::string>>> headers = {};
  EventTime time = kNoEventTime;
  bool operator==(const OwnRecord&) const = default;
};

inline std::optional<std::string> own(Bytes bytes) {
  if (bytes.null()) return std::nullopt;
  return std::string(bytes.view());
}

inline Bytes view(const std::optional<std::string>& text) {
  return text ? Bytes(std::string_view(*text)) : Bytes();
}

inline OwnRecord own(const Record& record) {
  OwnRecord copy{
      .key = own(record.key), .value = own(record.value), .headers = {}, .time = record.time};
  for (const Header& header : record.headers)
    copy.headers.emplace_back(std::string(header.name), own(header.value));
  return copy;
}

/// What a consumer handed out, one partition each, and where it stands.
struct Read {
  std::map<std::uint32_t, std::vector<OwnRecord>> records;
  std::map<std::uint32_t, std::vector<std::int64_t>> offsets;
  std::map<std::uint32_t, std::int64_t> next;
  std::map<std::uint32_t, bool> at_end;
  Status failure;

  [[nodiscard]] std::vector<std::string> values(std::uint32_t assignment = 0) const {
    std::vector<std::string> found;
    const auto at = records.find(assignment);
    if (at == records.end()) return found;
    for (const OwnRecord& record : at->second) found.push_back(record.value.value_or("(null)"));
    return found;
  }
  [[nodiscard]] std::size_t count() const {
    std::size_t sum = 0;
    for (const auto& [assignment, of] : records) sum += of.size();
    return sum;
  }
};

class ClientContract : public ::testing::TestWithParam<HarnessFactory> {
 protected:
  ClientContract()
      : guard_(context_.get_executor()), harness_(GetParam()()), client_(harness_->client()) {}
  ~ClientContract() override {
    // What was posted last runs, so that nothing that waits outlives what it waits for.
    context_.restart();
    context_.poll();
  }

  io::Executor executor() { return context_.get_executor(); }
  static io::Monotonic soon(std::chrono::milliseconds in = 20s) {
    return io::system_clock().now() + in;
  }
  static std::string unique(const std::string& what) {
    return "contract-" + what + "-" + Uuid::make().to_string();
  }

  template <class T>
  T wait(asio::awaitable<T> work) {
    std::optional<T> outcome;
    auto store = [](asio::awaitable<T> inner, std::optional<T>* into) -> asio::awaitable<void> {
      T value = co_await std::move(inner);
      into->emplace(std::move(value));
    };
    std::exception_ptr thrown;
    bool done =
        false;  // Not the outcome alone: what completes at once has its handler posted behind it.
    asio::co_spawn(context_, store(std::move(work), &outcome), [&](std::exception_ptr what) {
      thrown = what;
      done = true;
    });
    while (!done) context_.run_one();
    if (thrown) std::rethrow_exception(thrown);
    return *std::move(outcome);
  }

  std::string topic(std::int32_t partitions = 1, const Properties& config = {}) {
    std::string name = unique("topic");
    harness_->create_topic(name, partitions, config);
    return name;
  }

  // ---- handles ----

  std::unique_ptr<Producer> plain_producer(Properties properties = {}) {
    Result<std::unique_ptr<Producer>> made = client_->producer(
        executor(), {.transactional_id = "", .properties = std::move(properties)}, metrics_);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    return made.ok() ? std::move(*made) : nullptr;
  }
  std::unique_ptr<TransactionalProducer> transactional(const std::string& id,
                                                       std::chrono::milliseconds timeout = 60s) {
    Result<std::unique_ptr<TransactionalProducer>> made = client_->transactional_producer(
        executor(), {.transactional_id = id, .transaction_timeout = timeout, .properties = {}},
        metrics_);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    return made.ok() ? std::move(*made) : nullptr;
  }
  std::unique_ptr<TransactionalProducer> initialised(const std::string& id,
                                                     std::chrono::milliseconds timeout = 60s) {
    std::unique_ptr<TransactionalProducer> producer = transactional(id, timeout);
    const Status status = wait(producer->init(soon()));
    EXPECT_TRUE(status.ok()) << status.to_string();
    return producer;
  }
  std::unique_ptr<Admin> admin() {
    Result<std::unique_ptr<Admin>> made = client_->admin(executor());
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    return made.ok() ? std::move(*made) : nullptr;
  }
  std::unique_ptr<Consumer> consumer(io::Event& arrival, bool read_committed = true) {
    Result<std::unique_ptr<Consumer>> made = client_->consumer(
        executor(), arrival, {.read_committed = read_committed, .properties = {}}, metrics_);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    return made.ok() ? std::move(*made) : nullptr;
  }

  // ---- writing ----

  TopicInfo info(Producer& producer, const std::string& name) {
    const Result<TopicInfo> found = wait(producer.topic(name));
    EXPECT_TRUE(found.ok()) << found.status().to_string();
    return found.ok() ? *found : TopicInfo{};
  }
  Status send(Producer& producer, const TopicPartition& at, const std::vector<OwnRecord>& records,
              std::size_t* too_large = nullptr) {
    const TopicInfo to = info(producer, at.topic);
    std::vector<std::vector<Header>> headers(records.size());
    std::vector<OutRecord> out;
    for (std::size_t i = 0; i < records.size(); ++i) {
      for (const auto& [name, value] : records[i].headers)
        headers[i].push_back({name, view(value)});
      out.push_back({.topic = to.handle,
                     .partition = at.partition,
                     .key = view(records[i].key),
                     .value = view(records[i].value),
                     .headers = headers[i],
                     .time = records[i].time});
    }
    std::size_t unused = 0;
    return wait(producer.produce(out, too_large == nullptr ? &unused : too_large));
  }
  Status send_texts(Producer& producer, const TopicPartition& at,
                    const std::vector<std::string>& values) {
    std::vector<OwnRecord> records;
    for (const std::string& value : values)
      records.push_back({.key = std::nullopt, .value = value});
    return send(producer, at, records);
  }
  /// Without a transaction, and acknowledged.
  void write(const TopicPartition& at, const std::vector<OwnRecord>& records,
             Properties properties = {}) {
    const std::unique_ptr<Producer> producer = plain_producer(std::move(properties));
    ok(send(*producer, at, records));
    ok(wait(producer->delivered(soon())));
    EXPECT_EQ(producer->outstanding(), 0u);
    ok(wait(producer->close()));
  }
  void write_texts(const TopicPartition& at, const std::vector<std::string>& values) {
    std::vector<OwnRecord> records;
    for (const std::string& value : values)
      records.push_back({.key = std::nullopt, .value = value});
    write(at, records);
  }
  static void ok(const Status& status) { EXPECT_TRUE(status.ok()) << status.to_string(); }

  // ---- reading ----

  /// Polls, and waits for `arrival` only after an empty answer, as the source does, until `enough`.
  Read read_until(Consumer& consumer, io::Event& arrival,
                  const std::function<bool(const Read&)>& enough,
                  std::chrono::milliseconds at_most = 20s, std::size_t records_max = 1'000) {
    Read read;
    const io::Monotonic deadline = soon(at_most);
    while (!enough(read) && io::system_clock().now() < deadline) {
      const Result<Fetch> fetch = consumer.poll(records_max);
      if (!fetch.ok()) {
        read.failure = fetch.status();
        return read;
      }
      EXPECT_LE(fetch->records.size(), records_max);
      take(*fetch, read);
      if (fetch->runs.empty()) ok(wait(until(arrival, deadline)));
    }
    return read;
  }
  /// To the end as it is now: an end of partition behind `records` records on each of `partitions`.
  Read read_to_end(const std::vector<Consumer::Assignment>& assignments,
                   bool read_committed = true) {
    io::Event arrival(executor());
    const std::unique_ptr<Consumer> from = consumer(arrival, read_committed);
    ok(wait(from->assign(assignments)));
    Read read = read_until(*from, arrival, [&](const Read& so_far) {
      std::size_t ended = 0;
      for (const auto& [assignment, end] : so_far.at_end) ended += end ? 1 : 0;
      return ended == assignments.size();
    });
    EXPECT_TRUE(read.failure.ok()) << read.failure.to_string();
    ok(wait(from->close()));
    return read;
  }

  static void take(const Fetch& fetch, Read& read) {
    std::size_t covered = 0;
    for (const FetchedRun& run : fetch.runs) {
      for (std::uint32_t i = run.first; i < run.first + run.count; ++i) {
        const Record& record = fetch.records[i];
        std::vector<std::int64_t>& offsets = read.offsets[run.assignment];
        EXPECT_TRUE(offsets.empty() || offsets.back() < record.offset.value()) << "out of order";
        EXPECT_GE(record.offset.value(), read.next[run.assignment])
            << "below the position that was handed out";
        offsets.push_back(record.offset.value());
        read.records[run.assignment].push_back(own(record));
        EXPECT_LT(record.offset, run.next);
      }
      covered += run.count;
      read.next[run.assignment] = run.next.value();
      read.at_end[run.assignment] = run.at_end;
    }
    EXPECT_EQ(covered, fetch.records.size());
  }

  static asio::awaitable<Status> until(io::Event& event, io::Monotonic deadline) {
    using asio::experimental::awaitable_operators::operator||;
    const auto first = co_await (event.wait() || io::system_clock().sleep_until(deadline));
    co_return first.index() == 0 ? std::get<0>(first) : Status();
  }

  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard_;
  Metrics metrics_;
  std::unique_ptr<ClientHarness> harness_;
  std::shared_ptr<Client> client_;
};

// ---- positions ----

TEST_P(ClientContract, ReadsEachPartitionInOrderFromItsOffset) {
  const std::string name = topic(2);
  std::vector<std::string> values;
  for (int i = 0; i < 100; ++i) values.push_back(std::to_string(i));
  write_texts({name, 0}, values);
  write_texts({name, 1}, values);

  const Read read = read_to_end({{{name, 1}, Offset(40)}, {{name, 0}, Offset(0)}});

  EXPECT_EQ(read.values(0), std::vector<std::string>(values.begin() + 40, values.end()));
  EXPECT_EQ(read.values(1), values);
  EXPECT_EQ(read.next.at(0), 100);
  EXPECT_EQ(read.offsets.at(1).front(), 0);
}

TEST_P(ClientContract, NeverHandsOutMoreThanAsked) {
  const std::string name = topic();
  write_texts({name, 0}, std::vector<std::string>(500, "x"));
  io::Event arrival(executor());
  const std::unique_ptr<Consumer> from = consumer(arrival);
  ok(wait(from->assign({{{name, 0}, Offset(0)}})));
  const Read read = read_until(
      *from, arrival, [](const Read& so_far) { return so_far.count() >= 500; }, 20s, 7);
  EXPECT_EQ(read.count(), 500u);
  ok(wait(from->close()));
}

TEST_P(ClientContract, PartitionsThatAreAddedLeaveTheOthersWhereTheyAre) {
  const std::string name = topic(2);
  write_texts({name, 0}, {"a", "b", "c"});
  write_texts({name, 1}, {"x", "y"});
  io::Event arrival(executor());
  const std::unique_ptr<Consumer> from = consumer(arrival);
  ok(wait(from->assign({{{name, 0}, Offset(0)}})));
  Read first = read_until(
      *from, arrival, [](const Read& so_far) { return so_far.count() == 1; }, 20s, 1);
  ASSERT_EQ(first.values(0), std::vector<std::string>{"a"});

  ok(wait(from->assign({{{name, 1}, Offset(1)}})));
  const Read rest =
      read_until(*from, arrival, [](const Read& so_far) { return so_far.count() == 3; });

  EXPECT_EQ(rest.values(0), (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(rest.values(1), std::vector<std::string>{"y"});
  ok(wait(from->close()));
}

TEST_P(ClientContract, ArrivalWakesAReaderThatHasSeenTheEnd) {
  const std::string name = topic();
  io::Event arrival(executor());
  const std::unique_ptr<Consumer> from = consumer(arrival);
  ok(wait(from->assign({{{name, 0}, Offset(0)}})));
  const Read empty =
      read_until(*from, arrival, [](const Read& so_far) { return so_far.at_end.contains(0); });
  EXPECT_EQ(empty.next.at(0), 0);
  for (int i = 0; i < 3; ++i) {
    write_texts({name, 0}, {std::to_string(i)});
    const Read one =
        read_until(*from, arrival, [](const Read& so_far) { return so_far.count() == 1; });
    EXPECT_EQ(one.values(), std::vector<std::string>{std::to_string(i)});
  }
  ok(wait(from->close()));
}

TEST_P(ClientContract, PausedPartitionWaitsAndGoesOnWhereItWas) {
  const std::string name = topic(2);
  std::vector<std::string> values;
  for (int i = 0; i < 2'000; ++i) values.push_back(std::to_string(i));
  write_texts({name, 0}, values);
  write_texts({name, 1}, {"other"});
  io::Event arrival(executor());
  const std::unique_ptr<Consumer> from = consumer(arrival);
  ok(wait(from->assign({{{name, 0}, Offset(0)}, {{name, 1}, Offset(0)}})));
  Read read = read_until(
      *from, arrival, [](const Read& so_far) { return so_far.records.contains(0); }, 20s, 10);
  const std::size_t before = read.values(0).size();

  from->pause(0);
  const Read meanwhile = read_until(
      *from, arrival, [](const Read&) { return false; }, 300ms);
  EXPECT_TRUE(meanwhile.values(0).empty());
  from->resume(0);
  const Read rest = read_until(*from, arrival, [&](const Read& so_far) {
    return so_far.values(0).size() + before == values.size();
  });

  EXPECT_EQ(rest.values(0),
            std::vector<std::string>(values.begin() + static_cast<long>(before), values.end()));
  EXPECT_EQ(read.values(1).size() + meanwhile.values(1).size() + rest.values(1).size(), 1u);
  ok(wait(from->close()));
}

TEST_P(ClientContract, PausedForLongGoesOnWithoutLossOrRepetition) {
  const std::string name = topic();
  std::vector<std::string> values;
  for (int i = 0; i < 40'000; ++i) values.push_back(std::to_string(i));
  write_texts({name, 0}, values);
  io::Event arrival(executor());
  const std::unique_ptr<Consumer> from = consumer(arrival);
  ok(wait(from->assign({{{name, 0}, Offset(0)}})));
  std::vector<std::string> seen;
  for (const std::size_t pause_at : {std::size_t{1}, std::size_t{5'000}, std::size_t{30'000}}) {
    const Read some = read_until(*from, arrival, [&](const Read& so_far) {
      return seen.size() + so_far.count() >= pause_at;
    });
    for (const std::string& value : some.values()) seen.push_back(value);
    from->pause(0);
    const Read nothing = read_until(
        *from, arrival, [](const Read&) { return false; }, 200ms);
    EXPECT_EQ(nothing.count(), 0u);
    from->resume(0);
  }
  const Read rest = read_until(*from, arrival, [&](const Read& so_far) {
    return seen.size() + so_far.count() >= values.size();
  });
  for (const std::string& value : rest.values()) seen.push_back(value);
  EXPECT_TRUE(seen == values);  // Not EXPECT_EQ: forty thousand lines help nobody.
  ok(wait(from->close()));
}

TEST_P(ClientContract, PositionOutOfRangeNamesWhatIsWantedAndThere) {
  const std::string name = topic();
  write_texts({name, 0}, std::vector<std::string>(10, "x"));
  harness_->delete_records({name, 0}, Offset(5));
  for (const std::int64_t start : {2, 77}) {
    io::Event arrival(executor());
    const std::unique_ptr<Consumer> from = consumer(arrival);
    const Status assigned = wait(from->assign({{{name, 0}, Offset(start)}}));
    const Read read = read_until(*from, arrival, [](const Read&) { return false; });
    const Status failure = assigned.ok() ? read.failure : assigned;
    EXPECT_EQ(failure.code(), Code::kCorrupt);
    for (const std::string& part :
         {name, std::to_string(start), std::string("5"), std::string("10")}) {
      EXPECT_THAT(std::string(failure.message()), ::testing::HasSubstr(part));
    }
    ok(wait(from->close()));
  }
}

TEST_P(ClientContract, FetchOutlivesTheClose) {
  const std::string name = topic();
  write_texts({name, 0}, {"kept"});
  io::Event arrival(executor());
  const std::unique_ptr<Consumer> from = consumer(arrival);
  ok(wait(from->assign({{{name, 0}, Offset(0)}})));
  Fetch kept;
  const io::Monotonic deadline = soon();
  while (kept.records.empty() && io::system_clock().now() < deadline) {
    Result<Fetch> fetch = from->poll(10);
    ASSERT_TRUE(fetch.ok());
    kept = *std::move(fetch);
    if (kept.runs.empty()) ok(wait(until(arrival, deadline)));
  }
  ASSERT_EQ(kept.records.size(), 1u);
  EXPECT_GT(kept.bytes, 0u);
  ok(wait(from->close()));
  EXPECT_EQ(kept.records[0].value.view(), "kept");
  kept = {};
}

// ---- records ----

TEST_P(ClientContract, RecordsComeBackAsTheyWere) {
  const std::vector<OwnRecord> records = {
      {.key = "k", .value = "v", .headers = {}, .time = EventTime(1ms)},
      {.key = std::nullopt,
       .value = "no key",
       .headers = {},
       .time = EventTime(1'700'000'000'123ms)},
      {.key = "", .value = "empty key", .headers = {}, .time = EventTime(5ms)},
      {.key = "tombstone", .value = std::nullopt, .headers = {}, .time = EventTime(6ms)},
      {.key = "empty value", .value = "", .headers = {}, .time = EventTime(7ms)},
      {.key = std::nullopt, .value = std::nullopt, .headers = {}, .time = EventTime(8ms)},
      {.key = "h",
       .value = "headers",
       .headers = {{"a", "1"}, {"null", std::nullopt}, {"empty", ""}, {"a", "2"}, {"", "no name"}},
       .time = EventTime(9ms)},
      {.key = std::string("\0\xff", 2),
       .value = std::string(300'000, '\x07'),
       .headers = {},
       .time = EventTime(10ms)},
  };
  const std::string name = topic();
  write({name, 0}, records);
  const Read read = read_to_end({{{name, 0}, Offset(0)}});
  EXPECT_TRUE(read.records.at(0) == records);
  for (std::size_t i = 0; i < std::min(records.size(), read.records.at(0).size()); ++i) {
    EXPECT_TRUE(read.records.at(0)[i] == records[i]) << "record " << i;
  }
}

TEST_P(ClientContract, RecordWithoutTimeGetsTheClients) {
  const std::string name = topic();
  const io::WallTime before = io::system_clock().wall();
  write_texts({name, 0}, {"now"});
  const Read read = read_to_end({{{name, 0}, Offset(0)}});
  ASSERT_EQ(read.count(), 1u);
  EXPECT_GE(read.records.at(0)[0].time, std::chrono::floor<std::chrono::milliseconds>(before));
}

TEST_P(ClientContract, EveryCodecIsReadBack) {
  for (const std::string codec : {"none", "gzip", "snappy", "lz4", "zstd"}) {
    const std::string name = topic();
    std::vector<OwnRecord> records;
    for (int i = 0; i < 1'000; ++i) {
      records.push_back({.key = std::to_string(i),
                         .value = std::string(200, 'x'),
                         .headers = {{"i", std::to_string(i)}},
                         .time = EventTime(std::chrono::milliseconds(i + 1))});
    }
    write({name, 0}, records, {{"compression.type", codec}});
    const Read read = read_to_end({{{name, 0}, Offset(0)}});
    EXPECT_TRUE(read.records.at(0) == records) << codec;
  }
}

TEST_P(ClientContract, RecordOverTheLimitIsNamedAndThoseBeforeItAreWritten) {
  const std::string name = topic();
  const std::unique_ptr<Producer> producer = plain_producer();
  const TopicInfo to = info(*producer, name);
  ASSERT_GT(to.record_bytes_max, 100'000u);
  std::size_t too_large = 99;
  const std::vector<OwnRecord> records = {
      {.key = std::nullopt, .value = "first"},
      {.key = std::nullopt, .value = std::string(to.record_bytes_max, 'x')},
      {.key = std::nullopt, .value = std::string(to.record_bytes_max + 1, 'x')},
      {.key = std::nullopt, .value = "last"}};

  const Status status = send(*producer, {name, 0}, records, &too_large);

  EXPECT_EQ(status.code(), Code::kExhausted) << status.to_string();
  EXPECT_EQ(too_large, 2u);
  ok(wait(producer->delivered(soon())));
  const Read read = read_to_end({{{name, 0}, Offset(0)}});
  EXPECT_EQ(read.count(), 2u);
  ok(wait(producer->close()));
}

TEST_P(ClientContract, DeliveredWaitsForAllAndKeepsTheOrder) {
  const std::string name = topic(3);
  const std::unique_ptr<Producer> producer = plain_producer();
  std::vector<std::string> values;
  for (int batch = 0; batch < 50; ++batch) {
    std::vector<std::string> some;
    for (int i = 0; i < 200; ++i) some.push_back(std::to_string(values.size() + some.size()));
    for (std::int32_t partition = 0; partition < 3; ++partition)
      ok(send_texts(*producer, {name, partition}, some));
    values.insert(values.end(), some.begin(), some.end());
  }
  ok(wait(producer->delivered(soon())));
  EXPECT_EQ(producer->outstanding(), 0u);
  const Read read =
      read_to_end({{{name, 0}, Offset(0)}, {{name, 1}, Offset(0)}, {{name, 2}, Offset(0)}});
  for (std::uint32_t partition = 0; partition < 3; ++partition)
    EXPECT_TRUE(read.values(partition) == values);
  ok(wait(producer->close()));
}

// ---- transactions ----

TEST_P(ClientContract, PositionPassesTheControlRecordOfACommit) {
  const std::string name = topic();
  const std::unique_ptr<TransactionalProducer> producer = initialised(unique("id"));
  for (int i = 0; i < 2; ++i) {
    ok(wait(producer->begin()));
    ok(send_texts(*producer, {name, 0}, {"a", "b"}));
    ok(wait(producer->delivered(soon())));
    ok(wait(producer->commit(soon())));
  }
  const Read read = read_to_end({{{name, 0}, Offset(0)}});
  EXPECT_EQ(read.values(), (std::vector<std::string>{"a", "b", "a", "b"}));
  EXPECT_EQ(read.offsets.at(0), (std::vector<std::int64_t>{0, 1, 3, 4}));
  EXPECT_EQ(read.next.at(0), 6);
  EXPECT_FALSE(producer->tainted());
  ok(wait(producer->close()));
}

TEST_P(ClientContract, AbortedRecordsAreSkippedUnlessUncommittedOnesAreWanted) {
  const std::string name = topic();
  const std::string id = unique("id");
  const std::unique_ptr<TransactionalProducer> first = initialised(id);
  ok(wait(first->begin()));
  ok(send_texts(*first, {name, 0}, {"a", "b", "c"}));
  ok(wait(first->delivered(soon())));

  const std::unique_ptr<TransactionalProducer> second = initialised(id);

  const Read committed = read_to_end({{{name, 0}, Offset(0)}});
  EXPECT_EQ(committed.count(), 0u);
  EXPECT_EQ(committed.next.at(0), 4);
  const Read all = read_to_end({{{name, 0}, Offset(0)}}, false);
  EXPECT_EQ(all.values(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(all.next.at(0), 4);
  ok(wait(first->close()));
  ok(wait(second->close()));
}

TEST_P(ClientContract, OpenTransactionHoldsTheEndOfCommittedReads) {
  const std::string name = topic();
  write_texts({name, 0}, {"before"});
  const std::unique_ptr<TransactionalProducer> producer = initialised(unique("id"));
  ok(wait(producer->begin()));
  ok(send_texts(*producer, {name, 0}, {"inside"}));
  ok(wait(producer->delivered(soon())));
  write_texts({name, 0}, {"behind"});
  const std::unique_ptr<Admin> ask = admin();

  const Read held = read_to_end({{{name, 0}, Offset(0)}});
  EXPECT_EQ(held.values(), std::vector<std::string>{"before"});
  EXPECT_EQ(held.next.at(0), 1);
  const Result<std::vector<Offset>> stable =
      wait(ask->offsets({{name, 0}}, OffsetKind::kLatest, kNoEventTime, true, soon()));
  const Result<std::vector<Offset>> end =
      wait(ask->offsets({{name, 0}}, OffsetKind::kLatest, kNoEventTime, false, soon()));
  ASSERT_TRUE(stable.ok() && end.ok());
  EXPECT_EQ(stable->at(0), Offset(1));
  EXPECT_EQ(end->at(0), Offset(3));

  ok(wait(producer->commit(soon())));
  const Read open = read_to_end({{{name, 0}, Offset(1)}});
  EXPECT_EQ(open.values(), (std::vector<std::string>{"inside", "behind"}));
  EXPECT_EQ(open.next.at(0), 4);
  ok(wait(producer->close()));
  ok(wait(ask->close()));
}

TEST_P(ClientContract, SecondInstanceFencesTheFirst) {
  const std::string name = topic();
  const std::string id = unique("id");
  const std::unique_ptr<TransactionalProducer> first = initialised(id);
  ok(wait(first->begin()));
  ok(send_texts(*first, {name, 0}, {"early"}));
  ok(wait(first->delivered(soon())));
  const std::unique_ptr<TransactionalProducer> second = initialised(id);
  ok(wait(second->begin()));
  ok(send_texts(*second, {name, 0}, {"second"}));
  ok(wait(second->delivered(soon())));

  Status late = send_texts(*first, {name, 0}, {"late"});
  if (late.ok()) late = wait(first->delivered(soon()));
  if (late.ok()) late = wait(first->commit(soon()));
  EXPECT_EQ(late.code(), Code::kRecover) << late.to_string();
  EXPECT_TRUE(first->fenced());
  EXPECT_FALSE(second->fenced());

  ok(wait(second->commit(soon())));
  EXPECT_EQ(read_to_end({{{name, 0}, Offset(0)}}).values(), std::vector<std::string>{"second"});
  ok(wait(first->close()));
  ok(wait(second->close()));
}

TEST_P(ClientContract, InitOnceMoreAbortsAndStartsAfresh) {
  const std::string name = topic();
  const std::unique_ptr<TransactionalProducer> producer = initialised(unique("id"));
  ok(wait(producer->begin()));
  ok(send_texts(*producer, {name, 0}, {"aborted"}));
  ok(wait(producer->delivered(soon())));

  ok(wait(producer->init(soon())));

  EXPECT_FALSE(producer->tainted());
  EXPECT_EQ(producer->outstanding(), 0u);
  ok(wait(producer->begin()));
  ok(send_texts(*producer, {name, 0}, {"kept"}));
  ok(wait(producer->delivered(soon())));
  ok(wait(producer->commit(soon())));
  EXPECT_EQ(read_to_end({{{name, 0}, Offset(0)}}).values(), std::vector<std::string>{"kept"});
  ok(wait(producer->close()));
}

TEST_P(ClientContract, TransactionThatTimesOutIsAbortedAndItsProducerFenced) {
  const std::string name = topic();
  const std::unique_ptr<TransactionalProducer> producer = initialised(unique("id"), 1s);
  ok(wait(producer->begin()));
  ok(send_texts(*producer, {name, 0}, {"too late"}));
  ok(wait(producer->delivered(soon())));

  harness_->await_expiry(1s);

  const Read read = read_to_end({{{name, 0}, Offset(0)}});
  EXPECT_EQ(read.count(), 0u);
  EXPECT_EQ(read.next.at(0), 2);
  EXPECT_EQ(wait(producer->commit(soon())).code(), Code::kRecover);
  EXPECT_TRUE(producer->fenced());
  ok(wait(producer->init(soon())));
  EXPECT_FALSE(producer->fenced());
  ok(wait(producer->begin()));
  ok(send_texts(*producer, {name, 0}, {"again"}));
  ok(wait(producer->delivered(soon())));
  ok(wait(producer->commit(soon())));
  EXPECT_EQ(read_to_end({{{name, 0}, Offset(0)}}).values(), std::vector<std::string>{"again"});
  ok(wait(producer->close()));
}

TEST_P(ClientContract, OffsetsOfATransactionShowWhenItCommits) {
  const std::string name = topic(2), group = unique("group");
  const std::unique_ptr<TransactionalProducer> producer = initialised(unique("id"));
  const std::unique_ptr<Admin> ask = admin();
  const auto committed = [&] {
    return wait(ask->committed(group, {{name, 1}, {name, 0}}, soon()));
  };
  const Result<std::vector<OffsetAndMetadata>> none = committed();
  ASSERT_TRUE(none.ok()) << none.status().to_string();
  EXPECT_EQ(none->at(0).offset, -1);

  ok(wait(producer->begin()));
  ok(wait(producer->send_offsets(group, {{{name, 0}, 7, "seven"}, {{name, 1}, 0, ""}}, soon())));
  EXPECT_EQ(committed().code(), Code::kRetry);  // Never the older value.
  ok(wait(producer->commit(soon())));

  Result<std::vector<OffsetAndMetadata>> found = committed();
  const io::Monotonic deadline = soon();
  while (found.code() == Code::kRetry && io::system_clock().now() < deadline) found = committed();
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_EQ(found->at(0).partition, (TopicPartition{name, 1}));
  EXPECT_EQ(found->at(0).offset, 0);
  EXPECT_EQ(found->at(1).offset, 7);
  EXPECT_EQ(found->at(1).metadata, "seven");
  ok(wait(producer->close()));
  ok(wait(ask->close()));
}

TEST_P(ClientContract, OffsetsOfAnAbortedTransactionNeverShow) {
  const std::string name = topic(), group = unique("group");
  const std::unique_ptr<TransactionalProducer> producer = initialised(unique("id"));
  const std::unique_ptr<Admin> ask = admin();
  ok(wait(ask->commit_offsets(group, {{{name, 0}, 3, "before"}}, soon())));
  ok(wait(producer->begin()));
  ok(wait(producer->send_offsets(group, {{{name, 0}, 9, "aborted"}}, soon())));
  ok(wait(producer->init(soon())));

  Result<std::vector<OffsetAndMetadata>> found = wait(ask->committed(group, {{name, 0}}, soon()));
  const io::Monotonic deadline = soon();
  while (found.code() == Code::kRetry && io::system_clock().now() < deadline) {
    found = wait(ask->committed(group, {{name, 0}}, soon()));
  }
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_EQ(found->at(0).offset, 3);
  EXPECT_EQ(found->at(0).metadata, "before");
  ok(wait(producer->close()));
  ok(wait(ask->close()));
}

TEST_P(ClientContract, TwoGroupsInOneTransaction) {
  const std::string name = topic(), first = unique("group"), second = unique("group");
  const std::unique_ptr<TransactionalProducer> producer = initialised(unique("id"));
  const std::unique_ptr<Admin> ask = admin();
  for (int i = 1; i <= 3; ++i) {  // Without records: offsets alone make a transaction.
    ok(wait(producer->begin()));
    ok(wait(producer->send_offsets(first, {{{name, 0}, i, "m"}}, soon())));
    ok(wait(producer->send_offsets(second, {{{name, 0}, 10 * i, ""}}, soon())));
    ok(wait(producer->delivered(soon())));
    ok(wait(producer->commit(soon())));
  }
  for (const auto& [group, offset] :
       std::map<std::string, std::int64_t>{{first, 3}, {second, 30}}) {
    Result<std::vector<OffsetAndMetadata>> found = wait(ask->committed(group, {{name, 0}}, soon()));
    const io::Monotonic deadline = soon();
    while (found.code() == Code::kRetry && io::system_clock().now() < deadline) {
      found = wait(ask->committed(group, {{name, 0}}, soon()));
    }
    ASSERT_TRUE(found.ok()) << found.status().to_string();
    EXPECT_EQ(found->at(0).offset, offset);
  }
  ok(wait(producer->close()));
  ok(wait(ask->close()));
}

TEST_P(ClientContract, BrokenConnectionTaintsUntilTheNextInit) {
  const std::string name = topic();
  const std::unique_ptr<TransactionalProducer> producer = initialised(unique("id"));
  ok(wait(producer->begin()));
  ok(send_texts(*producer, {name, 0}, {"a"}));
  ok(wait(producer->delivered(soon())));
  ok(wait(producer->commit(soon())));
  EXPECT_FALSE(producer->tainted());

  harness_->close_connections();
  const io::Monotonic deadline = soon();
  while (!producer->tainted() && io::system_clock().now() < deadline)
    ok(wait(io::system_clock().sleep(5ms)));

  EXPECT_TRUE(producer->tainted());
  ok(wait(producer->init(soon())));
  EXPECT_FALSE(producer->tainted());
  ok(wait(producer->close()));
}

// ---- the rest ----

TEST_P(ClientContract, TopicThatDoesNotExistIsSaidAndNotMade) {
  const std::string name = unique("none");
  const std::unique_ptr<Producer> producer = plain_producer();
  const Result<TopicInfo> found = wait(producer->topic(name));
  EXPECT_EQ(found.code(), Code::kInvalid);
  EXPECT_EQ(found.status().exit_status(), ExitStatus::kConfiguration);
  EXPECT_THAT(std::string(found.status().message()), ::testing::HasSubstr(name));
  const std::unique_ptr<Admin> ask = admin();
  for (int i = 0; i < 2; ++i) {
    const Result<std::vector<TopicMetadata>> topics = wait(ask->topics({name}, soon()));
    ASSERT_TRUE(topics.ok()) << topics.status().to_string();
    ASSERT_EQ(topics->size(), 1u);
    EXPECT_EQ(topics->at(0).name, name);
    EXPECT_EQ(topics->at(0).partitions, 0);
  }
  ok(wait(producer->close()));
  ok(wait(ask->close()));
}

TEST_P(ClientContract, TopicsAreCreatedOnceAndListed) {
  const std::unique_ptr<Admin> ask = admin();
  const std::string name = unique("made");
  ok(wait(ask->create_topic(name, 3, 1, {{"cleanup.policy", "compact"}}, soon())));
  ok(wait(ask->create_topic(name, 3, 1, {}, soon())));
  const Result<std::vector<TopicMetadata>> one = wait(ask->topics({name}, soon()));
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->at(0).partitions, 3);
  EXPECT_TRUE(one->at(0).status.ok());
  const Result<std::vector<TopicMetadata>> all = wait(ask->topics({}, soon()));
  ASSERT_TRUE(all.ok());
  EXPECT_TRUE(std::any_of(all->begin(), all->end(), [&](const TopicMetadata& at) {
    return at.name == name && at.partitions == 3;
  }));
  const Status impossible = wait(ask->create_topic(unique("wide"), 1, 99, {}, soon()));
  EXPECT_EQ(impossible.code(), Code::kInvalid) << impossible.to_string();
  ok(wait(ask->close()));
}

TEST_P(ClientContract, OffsetsByPlaceAndByTime) {
  const std::string name = topic(2);
  std::vector<OwnRecord> records;
  for (int i = 0; i < 10; ++i) {
    records.push_back({.key = std::nullopt,
                       .value = "x",
                       .headers = {},
                       .time = EventTime(std::chrono::milliseconds(1'000'000 + 1'000 * i))});
  }
  write({name, 0}, records);
  harness_->delete_records({name, 0}, Offset(4));
  const std::unique_ptr<Admin> ask = admin();
  const auto offsets = [&](OffsetKind kind, EventTime time) {
    const Result<std::vector<Offset>> found =
        wait(ask->offsets({{name, 1}, {name, 0}}, kind, time, true, soon()));
    EXPECT_TRUE(found.ok()) << found.status().to_string();
    return found.ok() ? *found : std::vector<Offset>{};
  };
  EXPECT_EQ(offsets(OffsetKind::kEarliest, kNoEventTime),
            (std::vector<Offset>{Offset(0), Offset(4)}));
  EXPECT_EQ(offsets(OffsetKind::kLatest, kNoEventTime),
            (std::vector<Offset>{Offset(0), Offset(10)}));
  EXPECT_EQ(offsets(OffsetKind::kAtTime, EventTime(1'006'500ms)),
            (std::vector<Offset>{Offset(0), Offset(7)}));
  EXPECT_EQ(offsets(OffsetKind::kAtTime, EventTime(9'000'000ms)),
            (std::vector<Offset>{Offset(0), Offset(10)}));
  const Result<std::vector<Offset>> unknown =
      wait(ask->offsets({{unique("none"), 0}}, OffsetKind::kLatest, kNoEventTime, true, soon(3s)));
  EXPECT_FALSE(unknown.ok());
  ok(wait(ask->close()));
}

TEST_P(ClientContract, OffsetsCommittedOutsideATransaction) {
  const std::string name = topic(2), group = unique("group");
  const std::unique_ptr<Admin> ask = admin();
  ok(wait(ask->commit_offsets(group, {{{name, 0}, 5, "five"}}, soon())));
  ok(wait(ask->commit_offsets(group, {{{name, 0}, 6, ""}}, soon())));
  const Result<std::vector<OffsetAndMetadata>> found =
      wait(ask->committed(group, {{name, 0}, {name, 1}}, soon()));
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_EQ(found->at(0).offset, 6);
  EXPECT_EQ(found->at(0).metadata, "");
  EXPECT_EQ(found->at(1).offset, -1);
  ok(wait(ask->close()));
}

TEST_P(ClientContract, BrokerSettingsAreRead) {
  const std::unique_ptr<Admin> ask = admin();
  const Result<std::optional<std::string>> known =
      wait(ask->broker_setting("transaction.max.timeout.ms", soon()));
  ASSERT_TRUE(known.ok()) << known.status().to_string();
  ASSERT_TRUE(known->has_value());
  EXPECT_GT(std::stoll(**known), 0);
  const Result<std::optional<std::string>> unknown =
      wait(ask->broker_setting("no.such.setting", soon()));
  ASSERT_TRUE(unknown.ok());
  EXPECT_FALSE(unknown->has_value());
  ok(wait(ask->close()));
}

TEST_P(ClientContract, TransactionTimeoutAboveTheBrokersIsRefused) {
  const std::unique_ptr<TransactionalProducer> producer = transactional(unique("id"), 24h);
  const Status status = wait(producer->init(soon()));
  EXPECT_EQ(status.code(), Code::kInvalid) << status.to_string();
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("transaction.max.timeout.ms"));
  ok(wait(producer->close()));
}

TEST_P(ClientContract, UnreachableClusterIsSaidByTheDeadline) {
  client_ = harness_->unreachable();
  const std::unique_ptr<Admin> ask = admin();
  const Result<std::vector<TopicMetadata>> topics = wait(ask->topics({"any"}, soon(1s)));
  EXPECT_EQ(topics.code(), Code::kInvalid);
  EXPECT_EQ(topics.status().exit_status(), ExitStatus::kUnavailable);
  EXPECT_THAT(std::string(topics.status().message()),
              ::testing::HasSubstr(client_->options().brokers));
  const std::unique_ptr<TransactionalProducer> producer = transactional(unique("id"));
  EXPECT_EQ(wait(producer->init(soon(500ms))).code(), Code::kRetry);
  ok(wait(producer->close()));
  ok(wait(ask->close()));
}

}  // namespace sluice::kafka
