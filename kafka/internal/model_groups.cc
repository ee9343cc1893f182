#include <sluice/kafka/internal/model_groups.h>

#include <algorithm>

namespace sluice::kafka::internal {

void ModelGroups::commit(const std::string& group, const OffsetAndMetadata& offset) {
  if (offset.offset < 0) {
    groups_[group].offsets.erase(offset.partition);
  } else {
    groups_[group].offsets[offset.partition] = offset;
  }
}

ModelAnswer ModelGroups::commit(const std::string& group, std::int64_t producer, int epoch,
                                const std::vector<OffsetAndMetadata>& offsets) {
  Held& held = groups_[group].held[producer];
  if (epoch < held.epoch) return ModelAnswer::kFenced;
  if (held.marker != Marker::kNone) return ModelAnswer::kBusy;
  held.epoch = epoch;
  for (const OffsetAndMetadata& offset : offsets) held.offsets[offset.partition] = offset;
  return ModelAnswer::kOk;
}

bool ModelGroups::holds(const std::string& group, std::int64_t producer) const {
  const auto at = groups_.find(group);
  if (at == groups_.end()) return false;
  const auto held = at->second.held.find(producer);
  return held != at->second.held.end() && !held->second.offsets.empty();
}

bool ModelGroups::mark(const std::string& group, std::int64_t producer, int epoch, bool commit) {
  Held& held = groups_[group].held[producer];
  if (held.marker != Marker::kNone) return false;
  if (epoch < held.epoch) return true;
  held.epoch = epoch;
  held.marker = commit ? Marker::kCommit : Marker::kAbort;
  return true;
}

bool ModelGroups::settle() {
  bool any = false;
  for (auto& [name, group] : groups_) {
    for (auto& [producer, held] : group.held) {
      if (held.marker == Marker::kNone) continue;
      if (held.marker == Marker::kCommit) {
        for (auto& [at, offset] : held.offsets) group.offsets[at] = std::move(offset);
      }
      held.offsets.clear();
      held.marker = Marker::kNone;
      any = true;
    }
  }
  return any;
}

ModelAnswer ModelGroups::fetch(const std::string& group, std::vector<OffsetAndMetadata>& asked) const {
  for (const OffsetAndMetadata& offset : asked) {
    if (pending(group, offset.partition)) return ModelAnswer::kUnstable;
  }
  for (OffsetAndMetadata& offset : asked) offset = committed(group, offset.partition);
  return ModelAnswer::kOk;
}

OffsetAndMetadata ModelGroups::committed(const std::string& group, const TopicPartition& at) const {
  const OffsetAndMetadata none{.partition = at, .offset = -1, .metadata = {}};
  const auto found = groups_.find(group);
  if (found == groups_.end()) return none;
  const auto offset = found->second.offsets.find(at);
  return offset == found->second.offsets.end() ? none : offset->second;
}

bool ModelGroups::pending(const std::string& group, const TopicPartition& at) const {
  const auto found = groups_.find(group);
  if (found == groups_.end()) return false;
  return std::any_of(found->second.held.begin(), found->second.held.end(),
                     [&](const auto& held) { return held.second.offsets.contains(at); });
}

void ModelGroups::erase_topic(const std::string& topic) {
  const auto of_topic = [&](const auto& entry) { return entry.first.topic == topic; };
  for (auto& [name, group] : groups_) {
    std::erase_if(group.offsets, of_topic);
    for (auto& [producer, held] : group.held) std::erase_if(held.offsets, of_topic);
  }
}

}  // namespace sluice::kafka::internal
