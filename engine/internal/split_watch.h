#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <sluice/engine/split.h>
#include <sluice/io/base/status.h>
#include <sluice/io/clock.h>
#include <sluice/io/event.h>
#include <sluice/io/executor.h>

namespace sluice::internal {

/// Who must know of a shard's splits even when they say nothing: what gives a stream its time.
class SplitListener {
 public:
  virtual ~SplitListener() = default;
  virtual void split_added(const Split& split) = 0;
  virtual void split_ended(const Split& split) = 0;
  /// Before the first poll, when every shard knows its splits.
  virtual void starting() = 0;
  /// A poll that began at `began` is through: all that it brought has been pushed.
  [[nodiscard]] virtual asio::awaitable<Status> polled(io::Monotonic began) = 0;
  /// When polled() is worth a call though nothing comes; Monotonic::max(): never.
  [[nodiscard]] virtual io::Monotonic wake_at() const = 0;
};

/// Between a source's stage and those behind it that follow its splits. One shard.
class SplitWatch {
 public:
  explicit SplitWatch(std::vector<Split> splits) : splits_(std::move(splits)) {}
  [[nodiscard]] const std::vector<Split>& splits() const noexcept { return splits_; }

  // ---- for listeners ----

  void listen(SplitListener& listener) { listeners_.push_back(&listener); }
  /// Lets the stage poll again, from any thread; null where there is none. Known when listeners are opened.
  [[nodiscard]] io::Event* doorbell() const noexcept { return doorbell_; }
  /// The reader holds a split back while anybody asks for it.
  void pause(const Split& split, bool on) {
    int& asked = pausing_[split];
    asked += on ? 1 : -1;
    if (asked == (on ? 1 : 0)) changes_.emplace_back(split, on);
  }

  // ---- for the stage ----

  void ring_with(io::Event& doorbell) noexcept { doorbell_ = &doorbell; }
  [[nodiscard]] bool watched() const noexcept { return !listeners_.empty(); }
  void added(const Split& split) {
    if (std::ranges::find(splits_, split) != splits_.end()) return;
    splits_.push_back(split);
    for (SplitListener* listener : listeners_) listener->split_added(split);
  }
  void ended(const Split& split) {
    for (SplitListener* listener : listeners_) listener->split_ended(split);
  }
  void starting() {
    for (SplitListener* listener : listeners_) listener->starting();
  }
  [[nodiscard]] asio::awaitable<Status> polled(io::Monotonic began) {
    for (std::size_t i = 0; i < listeners_.size(); ++i) {
      Status passed = co_await listeners_[i]->polled(began);
      if (!passed.ok()) co_return passed;
    }
    co_return Status();
  }
  [[nodiscard]] io::Monotonic wake_at() const {
    io::Monotonic first = io::Monotonic::max();
    for (const SplitListener* listener : listeners_) first = std::min(first, listener->wake_at());
    return first;
  }
  /// Splits to be paused (true) or to go on.
  [[nodiscard]] std::vector<std::pair<Split, bool>> take_changes() { return std::exchange(changes_, {}); }

 private:
  std::vector<Split> splits_;
  std::vector<SplitListener*> listeners_;  // Tails of the stage that owns this: they live as long.
  std::map<Split, int> pausing_;
  std::vector<std::pair<Split, bool>> changes_;
  io::Event* doorbell_ = nullptr;
};

}  // namespace sluice::internal
