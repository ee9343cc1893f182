#pragma once

#include <atomic>
#include <bit>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include <sluice/engine/internal/operator_tail.h>
#include <sluice/engine/internal/refusals.h>
#include <sluice/engine/internal/split_times.h>
#include <sluice/engine/internal/stage.h>
#include <sluice/engine/internal/state_saver.h>
#include <sluice/engine/internal/tail.h>
#include <sluice/engine/watermarks.h>
#include <sluice/io/base/log.h>

namespace sluice::internal {

/// Gives records their time, and those behind the watermark: the minimum over the splits of this shard, when a poll is through, and in
/// front of any record that is behind it. So a record is late, or is not, wherever batches begin: it meets the watermark that the
/// records before it made.
template <class T>
class WatermarkTail final : public Tail<T>, public SplitListener {
 public:
  WatermarkTail(Context context, const ShardBuild& build, const Watermarks<T>& watermarks, std::unique_ptr<Tail<T>> next)
      : context_(std::move(context)),
        restored_(build.restored),
        activity_(build.activity),
        options_(watermarks.options()),
        plan_(watermarks.make()),
        watch_(*build.splits),
        splits_(context_, options_, build.watermarks),
        next_(std::move(next)) {}

  asio::awaitable<Status> open() override {
    Status opened = co_await next_->open();
    if (!opened.ok()) co_return opened;
    Metrics& metrics = *context_.metrics;
    missing_ = metrics.counter("sluice_event_time_missing_total");
    skipped_ = metrics.counter("sluice_event_time_skipped_total");
    jumps_ = metrics.counter("sluice_event_time_jumps_ignored_total");
    gauge_ = metrics.counter(fmt::format("sluice_operator_watermark_timestamp_seconds{{operator=\"{}\",shard=\"{}\"}}",
                                         context_.operator_id, context_.shard));
    states_.add("splits", state_);
    saver_.watch(states_);
    for (const auto& [name, state] : states_.all()) state->open(context_);
    if (restored_ != nullptr) {
      Status restored = restore_states(states_, *restored_, context_);
      if (!restored.ok()) co_return restored;
    }
    auto add_all = [this] {
      for (const Split& split : watch_.splits()) add(split);
      return Status();
    };
    Status added = guarded(context_.operator_id, add_all);
    if (!added.ok()) co_return added;
    watch_.listen(*this);
    splits_.join(watch_);
    co_return Status();
  }

  asio::awaitable<Status> push(Batch<T> batch) override {
    const Result<std::size_t> split = split_of(batch);
    if (!split.ok()) co_return split.status();
    const bool counts = *split != kNobody;
    if (counts) splits_.spoke(*split);
    if (counts && idle_) {
      Status said = co_await say_active();
      if (!said.ok()) co_return said;
    }
    auto read = [&] { return read_times(batch); };
    Status timed = guarded(context_.operator_id, read);
    if (!timed.ok()) co_return timed;
    if (batch.empty()) co_return Status();
    std::size_t from = 0, next = batch.size();
    while (counts) {
      auto scan = [&] {
        next = run_scan(*split, batch, from);
        return Status();
      };
      Status scanned = guarded(context_.operator_id, scan);
      if (!scanned.ok()) co_return scanned;
      if (next == batch.size()) break;
      if (next > from) {
        Batch<T> piece = cut(batch, std::exchange(from, next), next);
        Status pushed = co_await next_->push(std::move(piece));
        if (!pushed.ok()) co_return pushed;
      }
      Status said = co_await announce();
      if (!said.ok()) co_return said;
    }
    Batch<T> rest = from == 0 ? std::move(batch) : cut(batch, from, next);
    Status pushed = co_await next_->push(std::move(rest));
    if (!pushed.ok() || !options_.every_record) co_return pushed;
    pushed = co_await announce();
    co_return pushed;
  }

  asio::awaitable<Status> control(Control control, CheckpointData& acknowledged) override {
    switch (control.kind) {
      case Control::Kind::kBarrier:
        splits_.lift(announced_);
        saver_.save(control.epoch, context_, acknowledged);
        break;
      case Control::Kind::kEnd: {
        splits_.leave();
        Status said = co_await say_watermark(EventTime::max());
        if (!said.ok()) co_return said;
        break;
      }
      case Control::Kind::kWatermark:
        // What operators in front of this one still hand out at the end of input has a time too, and comes before the end of time.
        ending_ = ending_ || control.time == EventTime::max();
        co_return Status();
      case Control::Kind::kIdle:
      case Control::Kind::kActive:
        co_return Status();  // What time it is, is said here.
    }
    Status passed = co_await next_->control(control, acknowledged);
    co_return passed;
  }
  asio::awaitable<Status> wake() override { return next_->wake(); }
  io::Monotonic deadline() override { return next_->deadline(); }
  asio::awaitable<Status> tick(io::Monotonic now) override { return next_->tick(now); }
  void notify(Epoch epoch, bool complete) override { next_->notify(epoch, complete); }
  asio::awaitable<Status> close() override {
    if (gauge_) gauge_->set(0);  // The next attempt has one of its own.
    return next_->close();
  }

  // ---- of the stage's splits ----

  void split_added(const Split& split) override {
    if (!splits_.find(split)) add(split);
  }
  void split_ended(const Split& split) override {
    if (const auto i = splits_.find(split)) splits_.ended(*i);
  }
  void starting() override {
    splits_.align(watch_);  // Who was too far ahead before a restart still is.
    splits_.publish();
  }
  asio::awaitable<Status> polled(io::Monotonic began) override {
    splits_.polled(began, context_.clock->now(), announced_);
    Status said = co_await announce();
    if (!said.ok()) co_return said;
    const bool idle = splits_.merged().idle;
    if (idle != idle_) {
      if (idle) {
        idle_ = true;
        said = co_await say({Control::Kind::kIdle, Epoch{0}, kNoEventTime});
      } else {
        said = co_await say_active();
      }
      if (!said.ok()) co_return said;
    }
    splits_.align(watch_);
    splits_.publish();
    co_return Status();
  }
  io::Monotonic wake_at() const override { return splits_.wake_at(); }

 private:
  static constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

  std::size_t add(const Split& split) {
    SplitTime& time = state_[split];
    scans_.push_back(plan_->split());
    if (time.largest != kNoEventTime) scans_.back()->restore(time);
    return splits_.add(split, time);
  }
  [[nodiscard]] Result<std::size_t> split_of(const Batch<T>& batch) {
    if (const Split* split = batch.split()) {
      if (const auto found = splits_.find(*split)) return *found;
      return add(*split);
    }
    if (splits_.size() == 1) return std::size_t{0};
    if (ending_) return std::size_t{kNobody};
    return Status(Code::kInvalid, fmt::format("operator \"{}\" got records whose batch does not say which of {} splits they come from "
                                              "(Batch::set_split), so there is no watermark to be made of them",
                                              context_.operator_id, splits_.size()));
  }

  Status read_times(Batch<T>& batch) {
    const std::size_t missing = plan_->read(batch);
    if (missing == 0) [[likely]] return {};
    const std::vector<EventTime>& times = batch.times();
    const auto first = static_cast<std::size_t>(std::ranges::find(times, kNoEventTime) - times.begin());
    const Record* record = nullptr;
    if constexpr (std::same_as<T, Record>) record = &batch[first];
    const Status why = refused_at(context_.operator_id, batch.split(), record, plan_->why(batch, first));
    if (options_.missing == MissingTime::kFail) {
      return why.with("(on_missing: MissingTime::kSkip, in a pipeline file skip, leaves such records out; "
                      "kArrival, in a file arrival, gives them the time of their arrival)");
    }
    missing_->add(missing);
    const bool skip = options_.missing == MissingTime::kSkip;
    // Now and then: the first one is of interest, a million of them are not.
    if (std::bit_width(missing_->value()) != std::bit_width(missing_->value() - missing)) {
      log().warn("{} ({} on this shard so far, {})", why.message(), missing_->value(), skip ? "left out" : "given the time of arrival");
    }
    if (!skip) {
      const EventTime now(std::chrono::floor<EventDuration>(context_.clock->wall()));
      std::ranges::replace(batch.times(), kNoEventTime, now);
      return {};
    }
    skipped_->add(missing);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (times[i] == kNoEventTime) continue;
      if (kept != i) {
        batch.records()[kept] = std::move(batch.records()[i]);
        batch.times()[kept] = times[i];
      }
      ++kept;
    }
    batch.records().erase(batch.records().begin() + static_cast<std::ptrdiff_t>(kept), batch.records().end());
    batch.times().resize(kept);
    return {};
  }

  std::size_t run_scan(std::size_t split, const Batch<T>& batch, std::size_t from) {
    SplitTimes::Entry& entry = splits_[split];
    Scan scan{.others = splits_.others(split), .announced = announced_, .at = entry.time};
    scan.every_record = options_.every_record;
    scan.jumps_in_a_row = &entry.jumps_in_a_row;
    if (options_.guards_jumps) {
      scan.jump_max = options_.jump_max;
      scan.jumps_confirmed = options_.jumps_confirmed;
      if (entry.time->largest == kNoEventTime) scan.wall = EventTime(std::chrono::floor<EventDuration>(context_.clock->wall()));
    }
    const std::size_t next = scans_[split]->run(batch, from, scan);
    if (scan.jumps != 0) [[unlikely]] {
      jumps_->add(scan.jumps);
      if (std::bit_width(jumps_->value()) != std::bit_width(jumps_->value() - scan.jumps)) {
        log().warn("watermarks \"{}\": a record of {} partition {} is at {}, more than {} ms ahead of its split (at {}): the "
                   "watermark does not follow it ({} such records on this shard so far)",
                   context_.operator_id, entry.split.name, entry.split.partition, to_text(batch.times()[scan.last_jump]),
                   options_.jump_max.count(), to_text(entry.time->largest), jumps_->value());
      }
    }
    return next;
  }
  /// Records [from, to) as a batch of their own.
  [[nodiscard]] static Batch<T> cut(Batch<T>& batch, std::size_t from, std::size_t to) {
    Batch<T> piece;
    piece.set_split(batch.split_ref());
    // What it weighs is counted with the first piece: it is there once.
    for (const Memory& memory : batch.memory()) piece.own(memory, 0);
    if (from == 0) piece.own(nullptr, batch.memory_bytes());
    const auto first = batch.records().begin() + static_cast<std::ptrdiff_t>(from);
    const auto times = batch.times().begin() + static_cast<std::ptrdiff_t>(from);
    const auto count = static_cast<std::ptrdiff_t>(to - from);
    piece.records().assign(std::make_move_iterator(first), std::make_move_iterator(first + count));
    piece.times().assign(times, times + count);
    return piece;
  }

  asio::awaitable<Status> announce() {
    const EventTime watermark = splits_.merged().watermark;
    if (watermark <= announced_) co_return Status();
    Status said = co_await say_watermark(watermark);
    co_return said;
  }
  asio::awaitable<Status> say_watermark(EventTime watermark) {
    announced_ = watermark;
    activity_->fetch_add(1, std::memory_order_relaxed);  // A silence may close windows: what they say is to be committed.
    const auto seconds = std::chrono::floor<std::chrono::seconds>(watermark.time_since_epoch()).count();
    gauge_->set(seconds > 0 ? static_cast<std::uint64_t>(seconds) : 0);
    return say({Control::Kind::kWatermark, Epoch{0}, watermark});
  }
  asio::awaitable<Status> say_active() {
    idle_ = false;
    return say({Control::Kind::kActive, Epoch{0}, kNoEventTime});
  }
  asio::awaitable<Status> say(Control control) {
    CheckpointData none;
    Status passed = co_await next_->control(control, none);
    co_return passed;
  }

  const Context context_;
  const CheckpointData* restored_;  // Lives until all shards are open.
  const std::shared_ptr<std::atomic<std::uint64_t>> activity_;
  const TimeOptions options_;
  const std::unique_ptr<TimePlan<T>> plan_;
  SplitWatch& watch_;
  StateSet states_;
  StateSaver saver_;
  SplitState<SplitTime> state_;
  SplitTimes splits_;  // Points into the state.
  std::vector<std::unique_ptr<SplitScan<T>>> scans_;  // As splits_.
  const std::unique_ptr<Tail<T>> next_;
  EventTime announced_ = EventTime::min();
  bool idle_ = false;
  bool ending_ = false;
  std::shared_ptr<Counter> missing_, skipped_, jumps_, gauge_;
};

}  // namespace sluice::internal
