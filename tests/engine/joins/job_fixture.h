#pragma once

#include "../exchange_fixture.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <boost/describe/class.hpp>

namespace sluice::joins_test {

using namespace exchange_test;

struct Event {
  std::int64_t key = 0, id = 0, ms = 0;
};
BOOST_DESCRIBE_STRUCT(Event, (), (key, id, ms))

/// Gives records the event time that they name, and sends a watermark behind every batch: the least of what the shard's splits have
/// come to, less the disorder. A split that is restored begins anew: the watermark may fall behind what it was, never ahead.
template <class T>
class TimeTail final : public internal::Tail<T> {
 public:
  TimeTail(const Context& context, int splits, EventDuration disorder, std::unique_ptr<internal::Tail<T>> next)
      : disorder_(disorder), next_(std::move(next)) {
    for (int i = 0; i < splits; ++i) {
      if (context.owns(Split{"s", i})) reached_[i] = EventTime::min();
    }
  }
  asio::awaitable<Status> open() override { return next_->open(); }
  asio::awaitable<Status> push(Batch<T> batch) override {
    EventTime& reached = reached_.at(batch.split()->partition);
    for (const T& record : batch) {
      batch.times().push_back(EventTime(EventDuration(record.ms)));
      reached = std::max(reached, batch.times().back() - disorder_);
    }
    Status pushed = co_await next_->push(std::move(batch));
    if (!pushed.ok()) co_return pushed;
    EventTime lowest = EventTime::max();
    for (const auto& [split, time] : reached_) lowest = std::min(lowest, time);
    if (lowest <= watermark_) co_return Status();
    watermark_ = lowest;
    CheckpointData none;
    pushed = co_await next_->control({Control::Kind::kWatermark, Epoch{0}, lowest}, none);
    co_return pushed;
  }
  asio::awaitable<Status> control(Control control, CheckpointData& acknowledged) override { return next_->control(control, acknowledged); }
  asio::awaitable<Status> wake() override { return next_->wake(); }
  void notify(Epoch epoch, bool complete) override { next_->notify(epoch, complete); }
  asio::awaitable<Status> close() override { return next_->close(); }

 private:
  const EventDuration disorder_;
  std::map<int, EventTime> reached_;
  EventTime watermark_ = EventTime::min();
  std::unique_ptr<internal::Tail<T>> next_;
};

template <class T>
class TimeNode final : public internal::Node {
 public:
  TimeNode(std::string id, int splits, EventDuration disorder)
      : Node("time", std::move(id)), splits_(splits), disorder_(disorder) {}
  internal::Outlet<T> out;
  [[nodiscard]] std::unique_ptr<internal::Tail<T>> make_tail(internal::ShardBuild& build) const {
    return std::make_unique<TimeTail<T>>(build.context, splits_, disorder_, out.make_tail(build));
  }

 private:
  const int splits_;
  const EventDuration disorder_;
};

/// A source of given splits whose records name their event time.
template <class T>
Stream<T> timed(const Job& job, std::string id, typename Splits<T>::Options options, EventDuration disorder,
                typename Splits<T>::Make make) {
  // The job owns the graph, and outlives what is built here.
  std::shared_ptr<internal::Graph> graph(std::shared_ptr<void>(), const_cast<internal::Graph*>(&job.graph()));
  auto source = graph->add<internal::SourceNode<T>>(id, splits<T>(options, std::move(make)));
  source->named = true;
  auto time = graph->add<TimeNode<T>>(id + "-time", options.splits, disorder);
  time->inputs = {source.get()};
  source->out.add([time](internal::ShardBuild& build) { return time->make_tail(build); });
  return {graph, time, std::shared_ptr<internal::Outlet<T>>(time, &time->out)};
}

}  // namespace sluice::joins_test
