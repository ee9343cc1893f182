#pragma once

#include <sluice/engine/context.h>
#include <sluice/io/shards.h>
#include <sluice/kafka/decider.h>
#include <sluice/kafka/internal/cluster.h>
#include <sluice/kafka/internal/inputs.h>
#include <sluice/kafka/model.h>

#include <boost/asio/co_spawn.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::kafka {

using namespace std::chrono_literals;

/// A broker in memory, one shard and a control thread; coroutines are awaited from the test's own
/// thread.
class KafkaTest : public ::testing::Test {
 protected:
  KafkaTest() : shards_(start()) {}
  ~KafkaTest() override { shards_->stop(); }
  static std::unique_ptr<io::Shards> start() {
    io::Shards::Options options;
    options.count = 1;
    return *io::Shards::start(std::move(options));
  }

  template <class T>
  T wait(asio::awaitable<T> work) {
    return wait_on(shards_->control().executor(), std::move(work));
  }
  template <class T>
  T wait_on_shard(asio::awaitable<T> work) {
    return wait_on(shards_->shard(ShardId(0)).executor(), std::move(work));
  }
  template <class T>
  static T wait_on(io::Executor where, asio::awaitable<T> work) {
    std::promise<T> done;
    auto body = [](asio::awaitable<T> inner, std::promise<T>* into) -> asio::awaitable<void> {
      T value = co_await std::move(inner);
      into->set_value(std::move(value));
    };
    asio::co_spawn(where, body(std::move(work), &done), [&](std::exception_ptr thrown) {
      if (thrown) done.set_exception(thrown);
    });
    return done.get_future().get();
  }
  io::Clock& clock() { return io::system_clock(); }
  Context context(const std::string& id) {
    Context here;
    here.operator_id = id;
    here.shard = ShardId(0);
    here.parallelism = 1;
    here.metrics = &metrics_;
    here.clock = &clock();
    here.executor = shards_->shard(ShardId(0)).executor();
    return here;
  }
  std::shared_ptr<Client> client() {
    if (!client_) client_ = client_of(broker_);
    return client_;
  }
  static std::shared_ptr<Client> client_of(ModelBroker& broker) {
    ClientOptions options;
    options.brokers = "model:9092";
    return broker.client(std::move(options));
  }
  std::unique_ptr<Attempt> attempt(const std::string& job = "rides") { return attempt(job, job); }
  std::unique_ptr<Attempt> attempt(const std::string& id, const std::string& job) {
    return std::make_unique<Attempt>(id, job, *shards_, clock(), metrics_);
  }
  std::vector<std::string> values(const std::string& topic, std::int32_t partition = 0,
                                  bool read_committed = true) {
    std::vector<std::string> found;
    for (const ModelRecord& record : broker_.records({topic, partition}, read_committed))
      found.push_back(record.value.value_or("(null)"));
    return found;
  }

  ModelBroker broker_;
  Metrics metrics_;
  std::unique_ptr<io::Shards> shards_;
  std::shared_ptr<Client> client_;
};

}  // namespace sluice::kafka
