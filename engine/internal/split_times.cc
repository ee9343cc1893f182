#include <sluice/engine/internal/graph.h>
#include <sluice/engine/internal/split_times.h>
#include <sluice/io/base/log.h>

#include <algorithm>
#include <utility>

namespace sluice::internal {
namespace {

/// After so long somebody wants to know.
constexpr std::chrono::seconds kStandstill{60};

}  // namespace

Status TimeOptions::check() const {
  using std::chrono::milliseconds;
  if (idle_after.count() != 0 && (idle_after < milliseconds(1) || idle_after > std::chrono::hours(24 * 366))) {
    return Status(Code::kInvalid, fmt::format("idle_after({} ns): give 1 ms to 366 days, or leave it out", idle_after.count()));
  }
  if (guards_jumps && (jump_max < milliseconds(1) || jump_max > std::chrono::days(3660))) {
    return Status(Code::kInvalid, fmt::format("ignore_jumps_over({} ms): give 1 ms to 3,660 days", jump_max.count()));
  }
  if (guards_jumps && jumps_confirmed < 2) {
    return Status(Code::kInvalid, "ignore_jumps_over: a jump that one record confirms is never ignored; confirmed_by is 2 or more");
  }
  if (aligns && (drift_max < milliseconds(1) || drift_max > std::chrono::days(3660))) {
    return Status(Code::kInvalid, fmt::format("max_drift({} ms): give 1 ms to 3,660 days", drift_max.count()));
  }
  return {};
}

SplitTimes::SplitTimes(const Context& context, TimeOptions options, std::shared_ptr<WatermarkBoard> board)
    : id_(context.operator_id), shard_(context.shard.value()), options_(options), board_(std::move(board)),
      drift_(options_.aligns ? board_->drift(id_, options_.drift_max, context.parallelism) : nullptr) {}

std::size_t SplitTimes::add(const Split& split, SplitTime& time) {
  auto entry = std::make_unique<Entry>();
  entry->split = split;
  entry->time = &time;
  entry->line = board_->add(id_, split);
  entries_.push_back(std::move(entry));
  by_split_[split] = entries_.size() - 1;
  return entries_.size() - 1;
}

std::optional<std::size_t> SplitTimes::find(const Split& split) const {
  const auto found = by_split_.find(split);
  if (found == by_split_.end()) return {};
  return found->second;
}

EventTime SplitTimes::others(std::size_t i) const noexcept {
  EventTime least = EventTime::max();
  for (std::size_t k = 0; k < entries_.size(); ++k) {
    if (k != i && !entries_[k]->idle && !entries_[k]->ended) least = std::min(least, entries_[k]->time->watermark);
  }
  return least;
}

SplitTimes::Merged SplitTimes::merged() const noexcept {
  EventTime least = EventTime::max(), most = EventTime::min();
  bool active = false;
  for (const auto& entry : entries_) {
    most = std::max(most, entry->time->watermark);
    if (entry->idle || entry->ended) continue;
    active = true;
    least = std::min(least, entry->time->watermark);
  }
  return {active ? least : most, !active};
}

void SplitTimes::polled(io::Monotonic began, io::Monotonic now, EventTime announced) {
  // While those behind were slow, nobody asked the splits. A part of it counts nevertheless: else one that is silent would never be idle
  // beside others that keep the shard busy.
  const auto excused = std::max<std::chrono::nanoseconds>(now - began - options_.idle_after / 4, std::chrono::nanoseconds(0));
  for (const auto& entry : entries_) {
    const bool spoke = std::exchange(entry->spoke, false);
    if (!entry->heard) entry->heard = began;
    // A split that is held back is not silent.
    if (spoke || entry->paused) entry->heard = now;
    if (options_.idle_after.count() == 0 || entry->idle || entry->ended) continue;
    if (began - *entry->heard >= options_.idle_after) entry->idle = true;
    else if (!spoke && !entry->paused) *entry->heard += excused;
  }
  warn_of_standstill(began, announced);
}

void SplitTimes::warn_of_standstill(io::Monotonic began, EventTime announced) {
  if (announced != stands_at_ || !stands_since_) {
    stands_at_ = announced;
    stands_since_ = began;
    warned_ = false;
  }
  if (warned_ || began - *stands_since_ < kStandstill) return;
  const Entry* last = nullptr;
  bool ahead = false;
  for (const auto& entry : entries_) {
    if (entry->ended || entry->idle) continue;
    if (last == nullptr || entry->time->watermark < last->time->watermark) last = entry.get();
    ahead = ahead || entry->time->watermark > announced;
  }
  if (last == nullptr || last->paused || !ahead) return;  // It does not hold anybody.
  warned_ = true;
  log().warn("watermarks \"{}\": event time stands still at {} for a minute, held by {} partition {}{}", id_, to_text(announced),
             last->split.name, last->split.partition,
             options_.idle_after.count() == 0 ? "; idle_after(…) leaves splits out that send nothing" : "");
}

void SplitTimes::join(SplitWatch& watch) {
  if (!drift_) return;
  drift_->join(shard_, watch.doorbell());
  drift_->say(shard_, merged().idle ? Drift::kNobody : merged().watermark);
}

void SplitTimes::align(SplitWatch& watch) {
  if (!drift_) return;
  const Merged mine = merged();
  EventTime least = drift_->say(shard_, mine.idle ? Drift::kNobody : mine.watermark);
  for (;;) {
    const EventTime seen = least;
    least = drift_->wait_for(shard_, hold_back(least, watch));
    if (least == seen) return;  // Otherwise another shard has moved, and may have looked before it was asked to ring.
  }
}

EventTime SplitTimes::hold_back(EventTime least, SplitWatch& watch) {
  EventTime until = Drift::kNobody;
  for (const auto& entry : entries_) {
    const EventTime at = entry->time->watermark;
    // While one has said nothing, all that have wait for it.
    const bool ahead = at > least && (least == EventTime::min() || at > least + options_.drift_max);
    const bool pause = ahead && !entry->ended && !entry->idle && least != Drift::kNobody;
    if (pause) until = std::min(until, std::max(at - options_.drift_max, EventTime::min() + EventDuration(1)));
    if (pause == entry->paused) continue;
    entry->paused = pause;
    watch.pause(entry->split, pause);
  }
  return until;
}

void SplitTimes::leave() {
  for (const auto& entry : entries_) entry->ended = true;
  publish();
  if (drift_) drift_->say(shard_, Drift::kNobody);
}

io::Monotonic SplitTimes::wake_at() const noexcept {
  io::Monotonic first = io::Monotonic::max();
  if (options_.idle_after.count() == 0) return first;
  for (const auto& entry : entries_) {
    if (entry->idle || entry->ended || entry->paused || !entry->heard) continue;
    first = std::min(first, *entry->heard + options_.idle_after);
  }
  return first;
}

void SplitTimes::lift(EventTime announced) noexcept {
  if (announced == EventTime::max()) return;  // The end is this run's: a later one may find more in these splits.
  for (const auto& entry : entries_) entry->time->watermark = std::max(entry->time->watermark, announced);
}

void SplitTimes::publish() noexcept {
  using State = SplitWatermark::State;
  for (const auto& entry : entries_) {
    const State state = entry->ended ? State::kEnded : entry->paused ? State::kPaused : entry->idle ? State::kIdle : State::kActive;
    entry->line->set(entry->time->watermark, state);
  }
}

std::string to_text(EventTime time) {
  if (time == EventTime::min()) return "none yet";
  if (time == EventTime::max()) return "the end";
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()), clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

Status has_splits(const Node& node) {
  for (const Node* at = &node; !at->inputs.empty();) {
    at = at->inputs.front();
    if (!at->starts_stage() || at->inputs.empty()) continue;
    return Status(Code::kInvalid, fmt::format("behind {} \"{}\" records no longer know the source split that they come from, and a "
                                              "watermark is made for each split: call .watermarks(…) in front of it",
                                              at->kind(), at->id()));
  }
  return {};
}

}  // namespace sluice::internal
