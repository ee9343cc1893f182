#pragma once

#include <sluice/engine/sink.h>
#include <sluice/kafka/internal/sink_core.h>
#include <sluice/kafka/internal/sink_writer.h>
#include <sluice/kafka/options.h>
#include <sluice/kafka/serde.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::kafka {

/// Writes to topics of a cluster. Exactly once: all sinks of a cluster share one transaction a
/// checkpoint, and its commit is the decision (decider.h). At least once: every record is
/// acknowledged before a checkpoint is complete. None: no wait.
///
/// Shard      the control thread, but for its writers, which hand over from their own shards.
/// Order      of each source partition is kept while the partition or the key is.
/// Errors     at the start: missing topics, rights, timeouts that do not fit, settings that break
/// the guarantee. A record that is
///            too large: options.too_large.
template <class T, class S>
requires internal::Serializer<S, T>
class KafkaSink final : public Sink<T> {
 public:
  KafkaSink(SinkOptions options, S serializer)
      : core_(std::make_shared<internal::SinkCore>(std::move(options))),
        serializer_(std::move(serializer)) {}
  std::string describe() const override { return core_->describe(); }
  asio::awaitable<Status> check(Attempt& attempt, const std::string& id) override {
    std::string mine = id;
    return core_->check(attempt, std::move(mine));
  }
  asio::awaitable<Status> start(Attempt&) override { return core_->start(); }
  std::unique_ptr<SinkWriter<T>> writer(Attempt&, ShardId shard) override {
    return std::make_unique<internal::KafkaWriter<T, S>>(core_, serializer_, shard);
  }
  bool holds() const noexcept override { return core_->transactional(); }
  asio::awaitable<Status> delivered(Attempt&) override { return core_->delivered(); }
  asio::awaitable<Status> close(Attempt&) override { return core_->close(); }

 private:
  const std::shared_ptr<internal::SinkCore> core_;
  const S serializer_;  // Each writer gets a copy.
};

/// `kafka::sink<Json>({.brokers = "127.0.0.1:9092", .topic = "events-clean"})`
template <class T, class S>
[[nodiscard]] std::shared_ptr<Sink<T>> sink(SinkOptions options, S serializer) {
  return std::make_shared<KafkaSink<T, S>>(std::move(options), std::move(serializer));
}
template <class T>
[[nodiscard]] std::shared_ptr<Sink<T>> sink(SinkOptions options) {
  using S = typename DefaultSerializer<T>::type;
  return std::make_shared<KafkaSink<T, S>>(std::move(options), S{});
}

}  // namespace sluice::kafka
