// Goal: what a record costs between the client's two ends does not grow with its number: no
// allocation a record. Method: a client that hands out prepared fetches and takes records for
// nothing, around the model's; operator new counts.
#include <sluice/kafka/sink.h>
#include <sluice/kafka/source.h>

#include "kafka_fixture.h"
#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::uint64_t> allocations{0};
}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace sluice::kafka {
namespace {

constexpr std::size_t kRecords = 4096;

class PreparedConsumer final : public Consumer {
 public:
  explicit PreparedConsumer(std::shared_ptr<const std::vector<Record>> records)
      : records_(std::move(records)) {}
  asio::awaitable<Status> assign(std::vector<Assignment>) override { co_return Status(); }
  bool out_of_range() const noexcept override { return false; }
  Result<Fetch> poll(std::size_t) override {
    Fetch fetch;
    fetch.records = *records_;
    const auto count = static_cast<std::uint32_t>(records_->size());
    for (Record& record : fetch.records) record.offset = Offset(next_++);
    fetch.runs.push_back({.assignment = 0, .first = 0, .count = count, .next = Offset(next_)});
    fetch.memory = records_;
    fetch.bytes = count * 200;
    return fetch;
  }
  void pause(std::uint32_t) override {}
  void resume(std::uint32_t) override {}
  asio::awaitable<Status> close() override { co_return Status(); }

 private:
  std::shared_ptr<const std::vector<Record>> records_;
  std::int64_t next_ = 0;
};

class SwallowingProducer final : public Producer {
 public:
  explicit SwallowingProducer(std::atomic<std::uint64_t>& taken) : taken_(taken) {}
  asio::awaitable<Result<TopicInfo>> topic(std::string) override {
    co_return TopicInfo{0, 4, 1'000'000};
  }
  asio::awaitable<Status> produce(std::span<const OutRecord> records, std::size_t*) override {
    taken_ += records.size();
    co_return Status();
  }
  asio::awaitable<Status> delivered(io::Monotonic) override { co_return Status(); }
  std::size_t outstanding() const noexcept override { return 0; }
  asio::awaitable<Status> close() override { co_return Status(); }

 private:
  std::atomic<std::uint64_t>& taken_;
};

class PreparedClient final : public Client {
 public:
  PreparedClient(std::shared_ptr<Client> model, std::shared_ptr<const std::vector<Record>> records)
      : model_(std::move(model)), records_(std::move(records)) {}
  Result<std::unique_ptr<Consumer>> consumer(io::Executor, io::Event&, ConsumerOptions,
                                             Metrics&) override {
    return std::unique_ptr<Consumer>(std::make_unique<PreparedConsumer>(records_));
  }
  Result<std::unique_ptr<Producer>> producer(io::Executor, ProducerOptions, Metrics&) override {
    return std::unique_ptr<Producer>(std::make_unique<SwallowingProducer>(taken));
  }
  Result<std::unique_ptr<TransactionalProducer>> transactional_producer(io::Executor executor,
                                                                        ProducerOptions options,
                                                                        Metrics& metrics) override {
    return model_->transactional_producer(std::move(executor), std::move(options), metrics);
  }
  Result<std::unique_ptr<Admin>> admin(io::Executor executor) override {
    return model_->admin(std::move(executor));
  }
  const ClientOptions& options() const noexcept override { return model_->options(); }
  std::atomic<std::uint64_t> taken{0};

 private:
  std::shared_ptr<Client> model_;
  std::shared_ptr<const std::vector<Record>> records_;
};

template <class T>
class HotPath : public KafkaTest {
 protected:
  void SetUp() override {
    broker_.create_topic("in", 1);
    broker_.create_topic("out", 4);
    auto records = std::make_shared<std::vector<Record>>(kRecords);
    for (std::size_t i = 0; i < kRecords; ++i) {
      (*records)[i].key = Bytes(std::string_view("key-0123"));
      (*records)[i].value =
          Bytes(std::string_view("{\"id\":1234567890,\"text\":\"a hundred bytes or so\"}"));
      (*records)[i].time = EventTime(EventDuration(1));
    }
    client_ = prepared_ = std::make_shared<PreparedClient>(client_of(broker_), std::move(records));
  }
  std::shared_ptr<PreparedClient> prepared_;
};
using Types = ::testing::Types<Record, std::string_view, Bytes, Utf8, Json>;
TYPED_TEST_SUITE(HotPath, Types);

template <class T>
asio::awaitable<Status> pump(SourceReader<T>* reader, SinkWriter<T>* writer, int rounds) {
  SourceOutput<T> out;
  std::vector<Batch<Record>> rejected;
  for (int i = 0; i < rounds; ++i) {
    Result<Polled> polled = co_await reader->poll(out);
    if (!polled.ok()) co_return polled.status();
    for (Batch<T>& batch : out.batches) {
      Status written = co_await writer->write(std::move(batch), rejected);
      if (!written.ok()) co_return written;
    }
    out.batches.clear();
  }
  co_return Status();
}

TYPED_TEST(HotPath, AllocatesForBatchesAndNotForRecords) {
  SourceOptions from;
  from.topics = {"in"};
  from.group = "g";
  from.client = this->prepared_;
  SinkOptions to;
  to.topic = "out";
  to.delivery = Delivery::kAtLeastOnce;
  to.partitioner = hash_murmur2();
  to.client = this->prepared_;
  const auto source = kafka::source<TypeParam>(from);
  const auto sink = kafka::sink<TypeParam>(to);
  const auto attempt = this->attempt();
  ASSERT_TRUE(this->wait(source->check(*attempt)).ok());
  ASSERT_TRUE(this->wait(sink->check(*attempt, "out")).ok());
  Result<std::vector<SplitPosition>> starts = this->wait(source->start(*attempt, "in", {}));
  ASSERT_TRUE(starts.ok());
  ASSERT_TRUE(this->wait(sink->start(*attempt)).ok());
  const Context here = this->context("x");
  io::Event arrival(here.executor);
  const auto reader = source->reader(*attempt, ShardId(0));
  const auto writer = sink->writer(*attempt, ShardId(0));
  ASSERT_TRUE(this->wait_on_shard(reader->open(here, *starts, arrival)).ok());
  ASSERT_TRUE(this->wait_on_shard(writer->open(here)).ok());
  ASSERT_TRUE(
      this->wait_on_shard(pump(reader.get(), writer.get(), 4)).ok());  // Spans grow to their size.

  constexpr int kRounds = 50;
  const std::uint64_t before = allocations, taken = this->prepared_->taken;
  const auto started = std::chrono::steady_clock::now();
  ASSERT_TRUE(this->wait_on_shard(pump(reader.get(), writer.get(), kRounds)).ok());
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - started;
  const std::uint64_t made = allocations - before, records = this->prepared_->taken - taken;
  EXPECT_EQ(records, kRounds * kRecords);
  EXPECT_LT(made, records / 20);  // Some twenty a batch of several hundred.
  std::printf("%.1f ns and %.4f allocations a record\n",
              took.count() / static_cast<double>(records),
              static_cast<double>(made) / static_cast<double>(records));
  static_cast<void>(this->wait_on_shard(reader->close()).ok());
  static_cast<void>(this->wait_on_shard(writer->close()).ok());
  static_cast<void>(this->wait(source->close(*attempt)).ok());
  static_cast<void>(this->wait(sink->close(*attempt)).ok());
}

}  // namespace
}  // namespace sluice::kafka
