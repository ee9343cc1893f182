#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sluice/engine/sink.h>

namespace sluice {

/// A sink that keeps what reaches it; see TestDriver. The order is that of arrival: a pipeline of several shards promises none between
/// keys, so sort before you compare.
///
/// Shard      the test's thread, which is that of all shards.
/// Ownership  a handle; keeps the memory that views among the records point into as long as it lives.
///
///     TestOutput<Row> out;
///     ….to(out.sink());
///     EXPECT_EQ(out.take(), …);
template <class T>
class TestOutput {
 public:
  struct Arrived {
    T value;
    EventTime time;  ///< kNoEventTime in a stream without
    ShardId shard;
  };
  TestOutput() : kept_(std::make_shared<Kept>()) {}
  [[nodiscard]] std::shared_ptr<Sink<T>> sink() const { return std::make_shared<To>(kept_); }

  /// What came since the last take.
  [[nodiscard]] std::vector<T> take() {
    std::vector<T> values;
    for (Arrived& one : kept_->arrived) values.push_back(std::move(one.value));
    kept_->arrived.clear();
    return values;
  }
  [[nodiscard]] std::vector<Arrived> take_arrived() { return std::exchange(kept_->arrived, {}); }

 private:
  struct Kept {
    std::vector<Arrived> arrived;
    std::vector<Memory> memory;
  };
  class Writer final : public SinkWriter<T> {
   public:
    explicit Writer(std::shared_ptr<Kept> kept) : kept_(std::move(kept)) {}
    asio::awaitable<Status> open(const Context& context) override {
      shard_ = context.shard;
      co_return Status();
    }
    asio::awaitable<Status> write(Batch<T> batch, std::vector<Batch<Record>>&) override {
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const EventTime time = batch.times().empty() ? kNoEventTime : batch.times()[i];
        kept_->arrived.push_back({std::move(batch.records()[i]), time, shard_});
      }
      kept_->memory.insert(kept_->memory.end(), batch.memory().begin(), batch.memory().end());
      co_return Status();
    }

   private:
    const std::shared_ptr<Kept> kept_;
    ShardId shard_;
  };
  class To final : public Sink<T> {
   public:
    explicit To(std::shared_ptr<Kept> kept) : kept_(std::move(kept)) {}
    std::string describe() const override { return "kept by a test"; }
    asio::awaitable<Status> check(Attempt&, const std::string&) override { co_return Status(); }
    std::unique_ptr<SinkWriter<T>> writer(Attempt&, ShardId) override { return std::make_unique<Writer>(kept_); }

   private:
    const std::shared_ptr<Kept> kept_;
  };
  std::shared_ptr<Kept> kept_;
};

}  // namespace sluice
