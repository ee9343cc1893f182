#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <sluice/engine/internal/graph.h>
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
  struct Side {
    bool at_barrier = false, idle = false, ended = false;
    EventTime watermark = EventTime::min();
  };
  std::unique_ptr<Tail<Either<L, R>>> tail;
  Side sides[2];
  EventTime watermark = EventTime::min();
  bool idle = false;

  /// What is to be passed on when one side has said `control`; nothing before the other has said it too.
  [[nodiscard]] std::optional<Control> merge(Side& side, Side& other, const Control& control) {
    switch (control.kind) {
      case Control::Kind::kBarrier:
        side.at_barrier = true;
        if (!other.at_barrier) return {};
        side.at_barrier = other.at_barrier = false;
        return control;
      case Control::Kind::kEnd:
        side.ended = true;
        if (other.ended) return control;
        break;
      case Control::Kind::kIdle:
        side.idle = true;
        break;
      case Control::Kind::kWatermark:
        side.idle = idle = false;
        side.watermark = std::max(side.watermark, control.time);
        break;
    }
    EventTime lowest = EventTime::max();
    bool active = false;
    for (const Side& one : sides) {
      if (one.idle || one.ended) continue;
      active = true;
      lowest = std::min(lowest, one.watermark);
    }
    if (!active) {  // Nobody speaks: who comes behind need not wait for us either.
      if (std::exchange(idle, true)) return {};
      return Control{Control::Kind::kIdle, Epoch{0}, kNoEventTime};
    }
    if (lowest <= watermark) return {};
    watermark = lowest;
    return Control{Control::Kind::kWatermark, Epoch{0}, lowest};
  }
};

/// One side's way in without a lane. Left stands for both in what is done once: open, wake, notify, close.
template <bool kLeft, class L, class R>
class MeetingTail final : public Tail<SideOf<kLeft, L, R>> {
 public:
  explicit MeetingTail(std::shared_ptr<Meeting<L, R>> meeting) : meeting_(std::move(meeting)) {}
  asio::awaitable<Status> open() override {
    if constexpr (kLeft) {
      return meeting_->tail->open();
    } else {
      return nothing();
    }
  }
  asio::awaitable<Status> push(Batch<SideOf<kLeft, L, R>> batch) override {
    own().idle = meeting_->idle = false;
    return meeting_->tail->push(either_of<kLeft, L, R>(std::move(batch)));
  }
  asio::awaitable<Status> control(Control control, CheckpointData& acknowledged) override {
    const std::optional<Control> merged = meeting_->merge(own(), meeting_->sides[kLeft ? 1 : 0], control);
    return merged ? meeting_->tail->control(*merged, acknowledged) : nothing();
  }
  asio::awaitable<Status> wake() override {
    if constexpr (kLeft) {
      return meeting_->tail->wake();
    } else {
      return nothing();
    }
  }
  void notify(Epoch epoch, bool complete) override {
    if (kLeft) meeting_->tail->notify(epoch, complete);
  }
  asio::awaitable<Status> close() override {
    if constexpr (kLeft) {
      return meeting_->tail->close();
    } else {
      return nothing();
    }
  }

 private:
  static asio::awaitable<Status> nothing() { co_return Status(); }
  auto& own() noexcept { return meeting_->sides[kLeft ? 0 : 1]; }
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
