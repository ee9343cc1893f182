#pragma once

#include <memory>
#include <string>
#include <type_traits>
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

/// Two streams into one inbox a shard: barriers aligned over all lanes of both, the watermark the lowest of them. On one shard too, as
/// the two may come from two stages, and an operator must not meet itself half done.
template <class L, class R>
class ConnectNode final : public Node {
 public:
  explicit ConnectNode(std::string id) : Node("connect", std::move(id)) {}
  Outlet<Either<L, R>> out;

  bool starts_stage() const noexcept override { return true; }
  void build_inbox(ShardBuild& build) override { add_inbox<Either<L, R>>(build, *this); }
  void build_stage(ShardBuild& build) override {
    inbox_of<Either<L, R>>(build, *this, build.context.shard).set_tail(out.make_tail(build));
  }
  /// A side's way from this shard to `to`.
  template <bool kLeft>
  [[nodiscard]] std::unique_ptr<Tail<SideOf<kLeft, L, R>>> make_lane(ShardBuild& build, ShardId to) const {
    LaneTail<Either<L, R>> lane(inbox_of<Either<L, R>>(build, *this, to).add_lane(build.context.executor));
    return std::make_unique<SideLaneTail<kLeft, L, R>>(std::move(lane));
  }
};

/// What stands in front of a side: an exchange, whose lanes then go straight into the inbox, or a stream of this shard.
template <bool kLeft, class L, class R, class T>
void feed(ExchangeNode<T>& from, const ConnectNode<L, R>* into) {
  from.add_reader_by_lane([into](ShardBuild& build, ShardId to) { return into->template make_lane<kLeft>(build, to); });
}
template <bool kLeft, class L, class R, class T>
void feed(Outlet<T>& from, const ConnectNode<L, R>* into) {
  from.add([into](ShardBuild& build) { return into->template make_lane<kLeft>(build, build.context.shard); });
}

}  // namespace sluice::internal
