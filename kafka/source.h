#pragma once

#include <sluice/engine/source.h>
#include <sluice/kafka/internal/source_core.h>
#include <sluice/kafka/internal/source_reader.h>
#include <sluice/kafka/options.h>
#include <sluice/kafka/serde.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::kafka {

/// Reads topics of a cluster. Positions belong to the checkpoint; the user's group is told on each
/// checkpoint for lag tools.
///
/// Shard      the control thread, but for its readers: one consumer a shard, no group membership.
/// Order      of each partition is kept; event times are the records' timestamps.
/// Errors     at the start, with numbers and remedy: missing topics, rights, brokers that do not
/// answer (69 within 20 s), positions
///            that are out of range. A record that the deserializer refuses: options.on_error.
template <class T, class D>
requires internal::Deserializer<D, T>
class KafkaSource final : public Source<T> {
 public:
  KafkaSource(SourceOptions options, D deserializer)
      : core_(std::make_shared<internal::SourceCore>(std::move(options))),
        deserializer_(std::move(deserializer)) {}
  std::string describe() const override { return core_->describe(); }
  asio::awaitable<Status> check(Attempt& attempt) override { return core_->check(attempt); }
  asio::awaitable<Result<std::vector<SplitPosition>>> start(
      Attempt& attempt, const std::string& id,
      std::optional<std::vector<SplitPosition>> restored) override {
    std::string mine = id;
    return core_->start(attempt, std::move(mine), std::move(restored));
  }
  asio::awaitable<Result<std::vector<SplitPosition>>> discover(Attempt&,
                                                               const std::string&) override {
    return core_->discover();
  }
  std::chrono::nanoseconds discovery_interval() const override {
    return core_->bounded() ? std::chrono::nanoseconds(0) : core_->options().discovery_interval;
  }
  std::unique_ptr<SourceReader<T>> reader(Attempt&, ShardId) override {
    return std::make_unique<internal::KafkaReader<T, D>>(core_, deserializer_);
  }
  asio::awaitable<Status> close(Attempt&) override { return core_->close(); }

 private:
  const std::shared_ptr<internal::SourceCore> core_;
  const D deserializer_;  // Each reader gets a copy.
};

/// `kafka::source<Json>({.brokers = "127.0.0.1:9092", .topics = {"events"}, .group = "rewrite"})`
template <class T, class D>
[[nodiscard]] std::shared_ptr<Source<T>> source(SourceOptions options, D deserializer) {
  return std::make_shared<KafkaSource<T, D>>(std::move(options), std::move(deserializer));
}
template <class T>
[[nodiscard]] std::shared_ptr<Source<T>> source(SourceOptions options) {
  using D = typename DefaultDeserializer<T>::type;
  return std::make_shared<KafkaSource<T, D>>(std::move(options), D{});
}

}  // namespace sluice::kafka
