#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sluice/engine/internal/merged_watermark.h>
#include <sluice/engine/internal/stage.h>
#include <sluice/engine/internal/tail.h>
#include <sluice/io/mailbox.h>

namespace sluice::internal {

/// Several inputs into one stage, from this shard or from all: barriers are aligned, watermarks are merged to the minimum, the end comes when all have ended.
template <class T>
class InboxStage final : public Stage {
 public:
  using Lane = io::Mailbox<Element<T>>;
  static constexpr std::uint32_t kLaneBatches = 16;
  static constexpr std::size_t kTakenATurn = 16;  // A turn of the shard's loop costs as much as a hundred records.

  InboxStage(const ShardBuild& build, std::string id)
      : Stage(std::move(id), build.context.executor, build.context.clock, build.activity), executor_(build.context.executor), acknowledge_(build.acknowledge) {}
  void set_tail(std::unique_ptr<Tail<T>> tail) { tail_ = std::move(tail); }

  /// A lane for one more input from `from`; before open().
  std::shared_ptr<Lane> add_lane(io::Executor from) {
    typename Lane::Options options{.from = std::move(from), .to = executor_, .capacity_messages = kLaneBatches, .arrival = &doorbell_};
    auto lane = std::make_shared<Lane>(std::move(options));
    inputs_.push_back(Input{lane});
    time_.add_input();
    return lane;
  }

  asio::awaitable<Status> open() override { return tail_->open(); }
  asio::awaitable<Status> run() override {
    for (;;) {
      Status served = co_await serve(*tail_);
      if (!served.ok()) co_return served;
      bool any = false;
      bool more = true;
      for (std::size_t taken = 0; taken < kTakenATurn && more;) {
        more = false;
        for (std::size_t i = 0; i < inputs_.size(); ++i) {  // One of each: none gets ahead of the others' time.
          Element<T> element;
          if (inputs_[i].blocked || !inputs_[i].lane->try_receive(element)) continue;
          any = more = true;
          ++taken;
          Status done = co_await take(i, std::move(element));
          if (!done.ok()) co_return done;
        }
      }
      if (!any) {
        Status rung = co_await rest(tail_->deadline());
        if (!rung.ok()) co_return rung;
      } else {
        co_await asio::post(executor_, asio::use_awaitable);  // The senders' turn, where they are on this shard.
        // While something comes it never waits, so nothing else would tell it that it is to end.
        const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
        if (state.cancelled() != asio::cancellation_type::none) co_return Status(Code::kCancelled, "stopped");
      }
    }
  }
  void deliver_notices() override {
    if (tail_) Stage::deliver_notices(*tail_);
  }
  asio::awaitable<Status> close() override {
    for (Input& input : inputs_) input.lane->close();
    if (!tail_) co_return Status();  // Building what follows failed.
    Status closed = co_await tail_->close();
    co_return closed;
  }

 private:
  struct Input {
    std::shared_ptr<Lane> lane;
    bool blocked = false;  // Its barrier is here, the others' are not: what follows waits in the lane.
    bool ended = false;
  };

  asio::awaitable<Status> take(std::size_t i, Element<T> element) {
    if (auto* batch = std::get_if<Batch<T>>(&element)) {
      Status pushed = co_await tail_->push(std::move(*batch));
      co_return pushed;
    }
    const Control control = std::get<Control>(element);
    CheckpointData acknowledged;
    switch (control.kind) {
      case Control::Kind::kBarrier: {
        inputs_[i].blocked = true;
        if (!std::ranges::all_of(inputs_, &Input::blocked)) co_return Status();
        Status passed = co_await tail_->control(control, acknowledged);
        if (!passed.ok()) co_return passed;
        for (Input& input : inputs_) input.blocked = false;
        time_.pass_barrier();
        acknowledge_(control.epoch, std::move(acknowledged));
        co_return Status();
      }
      case Control::Kind::kEnd: {
        inputs_[i].ended = true;
        Status said = co_await say(time_.take(i, control));
        if (!said.ok() || !std::ranges::all_of(inputs_, &Input::ended)) co_return said;
        said = co_await tail_->control(control, acknowledged);
        co_return said;
      }
      case Control::Kind::kIdle:
      case Control::Kind::kActive:
      case Control::Kind::kWatermark: {
        Status said = co_await say(time_.take(i, control));
        co_return said;
      }
    }
    co_return Status();
  }
  asio::awaitable<Status> say(MergedWatermark::Said said) {
    CheckpointData none;
    if (said.watermark) {
      const Control watermark{Control::Kind::kWatermark, Epoch{0}, *said.watermark};
      Status passed = co_await tail_->control(watermark, none);
      if (!passed.ok()) co_return passed;
    }
    if (!said.idle) co_return Status();
    const Control state{*said.idle ? Control::Kind::kIdle : Control::Kind::kActive, Epoch{0}, kNoEventTime};
    Status passed = co_await tail_->control(state, none);
    co_return passed;
  }

  io::Executor executor_;
  std::function<void(Epoch, CheckpointData)> acknowledge_;
  std::unique_ptr<Tail<T>> tail_;
  std::vector<Input> inputs_;
  MergedWatermark time_;
};

/// The sending end of a lane.
template <class T>
class LaneTail final : public Tail<T> {
 public:
  using Lane = io::Mailbox<Element<T>>;
  explicit LaneTail(std::shared_ptr<Lane> lane) : lane_(std::move(lane)) {}
  asio::awaitable<Status> open() override { co_return Status(); }
  asio::awaitable<Status> push(Batch<T> batch) override {
    Element<T> element = std::move(batch);
    return send(std::move(element));
  }
  asio::awaitable<Status> control(Control control, CheckpointData&) override {
    Element<T> element = control;
    return send(std::move(element));
  }
  asio::awaitable<Status> wake() override { co_return Status(); }
  void notify(Epoch, bool) override {}
  asio::awaitable<Status> close() override { co_return Status(); }

 private:
  asio::awaitable<Status> send(Element<T> element) {
    if (lane_->try_send(element)) co_return Status();
    Status sent = co_await lane_->send(std::move(element));
    co_return sent;
  }
  std::shared_ptr<Lane> lane_;
};

}  // namespace sluice::internal
