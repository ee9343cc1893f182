#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sluice/engine/internal/alarm.h>
#include <sluice/engine/internal/split_watch.h>
#include <sluice/engine/internal/stage.h>
#include <sluice/engine/internal/tail.h>
#include <sluice/engine/source.h>
#include <sluice/io/base/kill_point.h>
#include <sluice/io/base/log.h>

namespace sluice::internal {

/// Polls a source's reader and pushes what comes; begins barriers between two polls.
template <class T>
class SourceStage final : public Stage {
 public:
  SourceStage(const ShardBuild& build, std::string id, std::vector<SplitPosition> starts,
              std::unique_ptr<SourceReader<T>> reader, std::unique_ptr<Tail<T>> tail,
              std::unique_ptr<Tail<Record>> rejected, std::unique_ptr<SplitWatch> watch)
      : Stage(std::move(id), build.context.executor, build.context.clock, build.activity),
        context_(build.context),
        starts_(std::move(starts)),
        acknowledge_(build.acknowledge),
        input_ended_(build.input_ended),
        activity_(build.activity),
        reader_(std::move(reader)),
        tail_(std::move(tail)),
        rejected_(std::move(rejected)),
        watch_(std::move(watch)),
        records_(context_.metrics->counter("sluice_source_records_total")) {
    context_.operator_id = id_;
    watch_->ring_with(doorbell_);
  }

  asio::awaitable<Status> open() override {
    Status opened = co_await tail_->open();
    if (!opened.ok()) co_return opened;
    opened = co_await rejected_->open();
    if (!opened.ok()) co_return opened;
    opened = co_await reader_->open(context_, std::move(starts_), doorbell_);
    co_return opened;
  }

  asio::awaitable<Status> run() override {
    watch_->starting();
    hold_back();
    for (;;) {
      Status served = co_await serve_requests();
      if (!served.ok()) co_return served;
      bool wait = stopped_ || ended_;
      if (!wait) {
        const bool watched = watch_->watched();
        const io::Monotonic began = watched ? context_.clock->now() : io::Monotonic{};
        Result<Polled> polled = co_await reader_->poll(output_);
        if (!polled.ok()) co_return polled.status();
        Status pushed = co_await push_output();
        if (!pushed.ok()) co_return pushed;
        if (watched) {
          Status told = co_await tell_time(began);
          if (!told.ok()) co_return told;
        }
        if (*polled == Polled::kEnd) {
          ended_ = true;
          activity_->fetch_add(1, std::memory_order_relaxed);
          Status passed = co_await end();
          if (!passed.ok()) co_return passed;
          input_ended_();
        }
        wait = *polled != Polled::kData;
        // A source that always has something must not keep the shard's loop from barriers and other stages.
        if (!wait && ++polls_ % kPollsBetweenTurns == 0) {
          co_await asio::post(context_.executor, asio::use_awaitable);
          // It never waits, so nothing else would tell it that it is to end.
          const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
          if (state.cancelled() != asio::cancellation_type::none) co_return Status(Code::kCancelled, "stopped");
        }
      }
      if (wait) {
        const io::Monotonic due = std::min(tail_->deadline(), rejected_->deadline());
        Status rung = co_await rest(stopped_ || ended_ ? due : std::min(due, watch_->wake_at()));
        if (!rung.ok()) co_return rung;
      }
    }
  }

  asio::awaitable<Status> close() override {
    Status first = co_await reader_->close();
    Status closed = co_await tail_->close();
    if (first.ok()) first = std::move(closed);
    closed = co_await rejected_->close();
    co_return first.ok() ? closed : first;
  }

  void deliver_notices() override { Stage::deliver_notices(*tail_); }

  void request_barrier(Epoch epoch) override {
    barrier_ = epoch;
    doorbell_.set();
  }
  void request_stop() override {
    stopped_ = true;
    doorbell_.set();
  }
  void add_split(const SplitPosition& start) override {
    added_.push_back(start);
    doorbell_.set();
  }

 private:
  asio::awaitable<Status> serve_requests() {
    Status served = co_await serve(*tail_);
    if (!served.ok()) co_return served;
    served = co_await attend(*rejected_);
    if (!served.ok()) co_return served;
    while (!added_.empty()) {
      SplitPosition start = std::move(added_.front());
      added_.pop_front();
      Split split = start.split;
      Status added = co_await reader_->add(std::move(start));
      if (!added.ok()) co_return added;
      watch_->added(split);
    }
    if (barrier_) {
      const Control barrier{Control::Kind::kBarrier, *barrier_, kNoEventTime};
      barrier_.reset();
      CheckpointData acknowledged;
      acknowledged.positions = reader_->positions();
      Status passed = co_await tail_->control(barrier, acknowledged);
      if (!passed.ok()) co_return passed;
      passed = co_await rejected_->control(barrier, acknowledged);
      if (!passed.ok()) co_return passed;
      acknowledge_(barrier.epoch, std::move(acknowledged));
    }
    co_return Status();
  }
  asio::awaitable<Status> push_output() {
    // Indexes, not iterators: nothing may point into a container across a suspension.
    for (std::size_t i = 0; i < output_.rejected.size(); ++i) {
      Batch<Record> batch = std::move(output_.rejected[i]);
      activity_->fetch_add(1, std::memory_order_relaxed);  // It opens the transaction as any other record does.
      Status pushed = co_await rejected_->push(std::move(batch));
      if (!pushed.ok()) co_return pushed;
    }
    for (std::size_t i = 0; i < output_.batches.size(); ++i) {
      Batch<T> batch = std::move(output_.batches[i]);
      records_->add(batch.size());
      activity_->fetch_add(1, std::memory_order_relaxed);
      Status pushed = co_await tail_->push(std::move(batch));
      if (!pushed.ok()) co_return pushed;
    }
    output_.rejected.clear();
    output_.batches.clear();
    for (const Split& split : output_.ended) watch_->ended(split);
    output_.ended.clear();
    co_return Status();
  }
  /// A poll is through: whose splits are silent, and which are too far ahead.
  asio::awaitable<Status> tell_time(io::Monotonic began) {
    Status told = co_await watch_->polled(began);
    if (told.ok()) hold_back();
    co_return told;
  }
  void hold_back() {
    for (const auto& [split, on] : watch_->take_changes()) {
      if (reader_->pause(split, on)) {
        if (!on) doorbell_.set();  // There may be something now.
      } else if (!std::exchange(pause_warned_, true)) {
        log().warn("source \"{}\" cannot hold single splits back: max_drift has no effect", id_);
      }
    }
  }
  asio::awaitable<Status> end() {
    CheckpointData none;
    const Control end_of_time{Control::Kind::kWatermark, Epoch{0}, EventTime::max()};
    const Control end_of_input{Control::Kind::kEnd, Epoch{0}, kNoEventTime};
    TailBase* const tails[] = {tail_.get(), rejected_.get()};
    for (TailBase* tail : tails) {
      Status passed = co_await tail->control(end_of_time, none);
      if (!passed.ok()) co_return passed;
      passed = co_await tail->control(end_of_input, none);
      if (!passed.ok()) co_return passed;
    }
    co_return Status();
  }
  void noticed(Epoch epoch, bool complete) override {
    rejected_->notify(epoch, complete);
    if (complete) reader_->checkpoint_complete(epoch);
  }

  static constexpr std::uint32_t kPollsBetweenTurns = 4;  // A turn costs about half a microsecond.

  Context context_;
  std::vector<SplitPosition> starts_;
  std::function<void(Epoch, CheckpointData)> acknowledge_;
  std::function<void()> input_ended_;
  std::shared_ptr<std::atomic<std::uint64_t>> activity_;
  std::unique_ptr<SourceReader<T>> reader_;
  std::unique_ptr<Tail<T>> tail_;
  std::unique_ptr<Tail<Record>> rejected_;
  std::unique_ptr<SplitWatch> watch_;  // Tails listen.
  SourceOutput<T> output_;
  std::optional<Epoch> barrier_;
  std::deque<SplitPosition> added_;
  std::uint32_t polls_ = 0;
  bool stopped_ = false;
  bool ended_ = false;
  bool pause_warned_ = false;
  std::shared_ptr<Counter> records_;
};

}  // namespace sluice::internal
