#include <sluice/engine/watermark_status.h>

#include <algorithm>

#include <sluice/engine/internal/drift.h>

namespace sluice {
namespace {

bool waited_for(const SplitWatermark& one) noexcept {
  return one.state == SplitWatermark::State::kActive || one.state == SplitWatermark::State::kPaused;
}

WatermarkStatus summed_up(std::vector<SplitWatermark> splits) {
  WatermarkStatus status;
  status.operator_id = splits.front().operator_id;
  EventTime foremost = EventTime::min(), largest = EventTime::min();
  for (const SplitWatermark& one : splits) {
    largest = std::max(largest, one.watermark);
    switch (one.state) {
      case SplitWatermark::State::kActive: ++status.active; break;
      case SplitWatermark::State::kIdle: ++status.idle; break;
      case SplitWatermark::State::kPaused: ++status.paused; break;
      case SplitWatermark::State::kEnded: ++status.ended; break;
    }
    if (!waited_for(one)) continue;
    foremost = std::max(foremost, one.watermark);
    if (!status.holder || one.watermark < status.holder->watermark) status.holder = one;
  }
  status.watermark = status.holder ? status.holder->watermark : largest;
  if (status.holder && status.holder->watermark != EventTime::min()) status.drift = foremost - status.holder->watermark;
  status.splits = std::move(splits);
  return status;
}

}  // namespace

std::optional<SplitWatermark> WatermarkBoard::holder(const std::string& operator_id) const {
  for (WatermarkStatus& one : status()) {
    if (one.operator_id == operator_id) return std::move(one.holder);
  }
  return {};
}

std::vector<WatermarkStatus> WatermarkBoard::status() const {
  std::map<std::string, std::vector<SplitWatermark>> by_operator;
  for (SplitWatermark& one : all()) by_operator[one.operator_id].push_back(std::move(one));
  std::vector<WatermarkStatus> found;
  for (auto& [id, splits] : by_operator) found.push_back(summed_up(std::move(splits)));
  const std::lock_guard lock(mutex_);
  for (WatermarkStatus& one : found) {
    if (const auto bound = bounds_.find(one.operator_id); bound != bounds_.end()) one.drift_max = bound->second.max;
  }
  return found;
}

std::shared_ptr<internal::Drift> WatermarkBoard::drift(const std::string& operator_id, EventDuration bound, std::size_t shards) {
  const std::lock_guard lock(mutex_);
  Bound& mine = bounds_[operator_id];
  if (!mine.shared) mine = {bound, std::make_shared<internal::Drift>(shards)};
  return mine.shared;
}

}  // namespace sluice
