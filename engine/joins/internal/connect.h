#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <sluice/engine/internal/graph.h>
#include <sluice/engine/internal/merged_watermark.h>
#include <sluice/engine/joins/either.h>

namespace sluice::internal {

template <bool kLeft, class L, class R>
using SideOf = std::conditional_t<kLeft, L, R>;
template <bool kLeft, class L, class R>
[[nodiscard]] Batch<Either<L, R>> either_of(Batch<SideOf<kLeft, L, R>> batch) {
  if constexpr (kLeft) {
    return Batch<Either<L, R>>::of_left(std::move(batch));
  } else {
    return Batch<Either<L, R>>::of_right(std::move(batch));
  }
}

/// The sending end of a lane into a two-input inbox, for one side of it.
template <bool kLeft, class L, class R>
class SideLaneTail final : public Tail<SideOf<kLeft, L, R>> {
 public:
  explicit SideLaneTail(LaneTail<Either<L, R>> lane) : lane_(std::move(lane)) {}
  asio::awaitable<Status> open() override { return lane_.open(); }
  asio::awaitable<Status> push(Batch<SideOf<kLeft, L, R>> batch) override { return lane_.push(either_of<kLeft, L, R>(std::move(batch))); }
  asio::awaitable<Status> control(Control control, CheckpointData& acknowledged) override {
    return lane_.control(control, acknowledged);
  }
  asio::awaitable<Status> wake() override { return lane_.wake(); }
  void notify(Epoch, bool) override {}
  asio::awaitable<Status> close() override { return lane_.close(); }

 private:
  LaneTail<Either<L, R>> lane_;
};

/// What two sides have in common that are called by one coroutine: what comes behind them, and what each has said.
template <class L, class R>
struct Meeting {
  Meeting() {
    time.add_input();
    time.add_input();
  }
  std::unique_ptr<Tail<Either<L, R>>> tail;
  bool at_barrier[2] = {}, ended[2] = {};
  MergedWatermark time;

  /// What one side says: passed on when the other has said it too.
  asio::awaitable<Status> control(std::size_t side, Control said, CheckpointData& acknowledged) {
    if (said.kind == Control::Kind::kBarrier) {
      at_barrier[side] = true;
      if (!at_barrier[1 - side]) co_return Status();
      Status passed = co_await tail->control(said, acknowledged);
      at_barrier[0] = at_barrier[1] = false;
      time.pass_barrier();
      co_return passed;
    }
    const MergedWatermark::Said merged = time.take(side, said);
    if (merged.watermark) {
      const Control watermark{Control::Kind::kWatermark, Epoch{0}, *merged.watermark};
      Status passed = co_await tail->control(watermark, acknowledged);
      if (!passed.ok()) co_return passed;
    }
    if (merged.idle) {
      const Control state{*merged.idle ? Control::Kind::kIdle : Control::Kind::kActive, Epoch{0}, kNoEventTime};
      Status passed = co_await tail->control(state, acknowledged);
      if (!passed.ok()) co_return passed;
    }
    if (said.kind != Control::Kind::kEnd) co_return Status();
    ended[side] = true;
    if (!ended[1 - side]) co_return Status();
    Status passed = co_await tail->control(said, acknowledged);
    co_return passed;
  }
};

/// One side's way in without a lane. Left stands for both in what is done once: open, wake, deadlines, notify, close.
template <bool kLeft, class L, class R>
class MeetingTail final : public Tail<SideOf<kLeft, L, R>> {
 public:
  explicit MeetingTail(std::shared_ptr<Meeting<L, R>> meeting) : meeting_(std::move(meeting)) {}
  asio::awaitable<Status> open() override { return kLeft ? meeting_->tail->open() : nothing(); }
  asio::awaitable<Status> push(Batch<SideOf<kLeft, L, R>> batch) override {
    return meeting_->tail->push(either_of<kLeft, L, R>(std::move(batch)));
  }
  asio::awaitable<Status> control(Control control, CheckpointData& acknowledged) override {
    return meeting_->control(kLeft ? 0 : 1, control, acknowledged);
  }
  asio::awaitable<Status> wake() override { return kLeft ? meeting_->tail->wake() : nothing(); }
  io::Monotonic deadline() override { return kLeft ? meeting_->tail->deadline() : kNoDeadline; }
  asio::awaitable<Status> tick(io::Monotonic now) override { return kLeft ? meeting_->tail->tick(now) : nothing(); }
  void notify(Epoch epoch, bool complete) override {
    if (kLeft) meeting_->tail->notify(epoch, complete);
  }
  asio::awaitable<Status> close() override { return kLeft ? meeting_->tail->close() : nothing(); }

 private:
  static asio::awaitable<Status> nothing() { co_return Status(); }
  std::shared_ptr<Meeting<L, R>> meeting_;
};

/// Two streams into one inbox a shard: barriers aligned over all lanes of both, the watermark the lowest of them. On one shard too, if
/// they come from two stages: an operator must not meet itself half done. If one stage has both, they are called without a hop.
template <class L, class R>
class ConnectNode final : public Node {
 public:
  explicit ConnectNode(std::string id) : Node("connect", std::move(id)) {}
  Outlet<Either<L, R>> out;

  bool starts_stage() const noexcept override { return true; }
  const Node* stage(std::uint16_t shards) const override { return meets(shards) ? inputs.front()->stage(shards) : this; }
  void build_inbox(ShardBuild& build) override {
    meeting_.reset();
    if (!meets(build.context.parallelism)) add_inbox<Either<L, R>>(build, *this);
  }
  void build_stage(ShardBuild& build) override {
    if (meets(build.context.parallelism)) return;
    inbox_of<Either<L, R>>(build, *this, build.context.shard).set_tail(out.make_tail(build));
  }
  /// A side's way from this shard to `to`.
  template <bool kLeft>
  [[nodiscard]] std::unique_ptr<Tail<SideOf<kLeft, L, R>>> make_way(ShardBuild& build, ShardId to) const {
    if (!meets(build.context.parallelism)) {
      LaneTail<Either<L, R>> lane(inbox_of<Either<L, R>>(build, *this, to).add_lane(build.context.executor));
      return std::make_unique<SideLaneTail<kLeft, L, R>>(std::move(lane));
    }
    std::shared_ptr<Meeting<L, R>> meeting = meeting_.lock();
    if (!meeting) {
      meeting = std::make_shared<Meeting<L, R>>();
      meeting->tail = out.make_tail(build);
      meeting_ = meeting;
    }
    return std::make_unique<MeetingTail<kLeft, L, R>>(std::move(meeting));
  }

 private:
  [[nodiscard]] bool meets(std::uint16_t shards) const {
    return shards == 1 && inputs[0]->stage(shards) == inputs[1]->stage(shards);
  }
  mutable std::weak_ptr<Meeting<L, R>> meeting_;  // Of the shard that is being built: the other side's way finds it.
};

/// What stands in front of a side: an exchange, whose lanes then go straight into the inbox, or a stream of this shard.
template <bool kLeft, class L, class R, class T>
void feed(ExchangeNode<T>& from, const ConnectNode<L, R>* into) {
  from.add_reader_by_lane([into](ShardBuild& build, ShardId to) { return into->template make_way<kLeft>(build, to); });
}
template <bool kLeft, class L, class R, class T>
void feed(Outlet<T>& from, const ConnectNode<L, R>* into) {
  from.add([into](ShardBuild& build) { return into->template make_way<kLeft>(build, build.context.shard); });
}

}  // namespace sluice::internal
