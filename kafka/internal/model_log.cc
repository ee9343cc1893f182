#include <sluice/kafka/internal/model_log.h>

#include <algorithm>

#include <sluice/io/base/assert.h>

namespace sluice::kafka::internal {
namespace {

constexpr std::size_t kHeaderOverhead_bytes = 10;

}  // namespace

std::size_t model_bytes_of(const OutRecord& record) noexcept {
  std::size_t bytes = record.key.size() + record.value.size();
  for (const Header& header : record.headers) bytes += header.name.size() + header.value.size() + kHeaderOverhead_bytes;
  return bytes;
}

ModelSegment::ModelSegment(std::span<const OutRecord* const> records) {
  std::size_t bytes = 0, headers = 0;
  for (const OutRecord* record : records) {
    bytes += model_bytes_of(*record);
    headers += record->headers.size();
  }
  text_.reserve(bytes);  // Views point into all three, so none of them may move.
  headers_.reserve(headers);
  records_.reserve(records.size());
  for (const OutRecord* from : records) {
    Record& record = records_.emplace_back();
    record.key = copy(from->key);
    record.value = copy(from->value);
    record.time = from->time;
    const std::size_t first = headers_.size();
    for (const Header& header : from->headers) {
      const std::string_view name = copy(header.name).view();
      headers_.push_back({.name = name, .value = copy(header.value)});
    }
    record.headers = std::span(headers_).subspan(first);
  }
}

Bytes ModelSegment::copy(Bytes from) {
  if (from.null()) return {};
  const std::size_t at = text_.size();
  text_ += from.view();
  return {text_.data() + at, from.size()};
}

ModelAnswer ModelLog::append(const ModelStamp& stamp, const ModelSegmentPtr& segment, EventTime now, bool log_append) {
  const auto count = static_cast<std::int64_t>(segment->records().size());
  if (stamp.producer >= 0) {
    Writer& writer = writers_[stamp.producer];
    if (stamp.epoch < writer.epoch) return ModelAnswer::kFenced;
    const std::int64_t expected = stamp.epoch == writer.epoch ? writer.next_sequence : 0;
    if (stamp.sequence + count <= expected) return ModelAnswer::kOk;  // Written before; a repetition is dropped.
    if (stamp.sequence != expected) return ModelAnswer::kOutOfOrder;
    writer = {.epoch = stamp.epoch, .next_sequence = expected + count};
    if (stamp.transactional) open_.try_emplace(stamp.producer, end_);
  }
  for (const Record& record : segment->records()) {
    Entry& entry = entries_.emplace_back();
    entry.record = record;
    entry.record.offset = Offset(end_++);
    entry.record.time_type = log_append ? TimestampType::kLogAppend : TimestampType::kCreate;
    if (log_append || record.time == kNoEventTime) entry.record.time = now;
    entry.segment = segment;
    entry.producer = stamp.producer;
    entry.part = stamp.transactional ? Part::kOpen : Part::kPlain;
  }
  return ModelAnswer::kOk;
}

void ModelLog::mark(std::int64_t producer, int epoch, bool commit, EventTime now) {
  Writer& writer = writers_[producer];
  if (epoch < writer.epoch) return;
  if (epoch > writer.epoch) writer = {.epoch = epoch, .next_sequence = 0};
  if (const auto first = open_.find(producer); first != open_.end()) {
    for (auto at = entries_.begin() + (from(first->second) - entries_.cbegin()); at != entries_.end(); ++at) {
      if (at->producer == producer && at->part == Part::kOpen) at->part = commit ? Part::kCommitted : Part::kAborted;
    }
    open_.erase(first);
  }
  Entry& control = entries_.emplace_back();
  control.record.offset = Offset(end_++);
  control.record.time = now;
  control.producer = producer;
  control.part = Part::kControl;
}

std::int64_t ModelLog::last_stable() const noexcept {
  std::int64_t first = end_;
  for (const auto& [producer, offset] : open_) first = std::min(first, offset);
  return first;
}

std::deque<ModelLog::Entry>::const_iterator ModelLog::from(std::int64_t offset) const {
  return std::lower_bound(entries_.begin(), entries_.end(), offset,
                          [](const Entry& entry, std::int64_t wanted) { return entry.record.offset.value() < wanted; });
}

std::int64_t ModelLog::read(std::int64_t position, bool read_committed, std::size_t records_max,
                            std::vector<const Entry*>& into) const {
  const std::int64_t stop = readable_end(read_committed);
  std::size_t taken = 0;
  for (auto at = from(position); at != entries_.end() && at->record.offset.value() < stop; ++at) {
    if (at->part == Part::kControl || (read_committed && at->part == Part::kAborted)) continue;
    if (taken++ == records_max) return std::max(position, at->record.offset.value());
    into.push_back(&*at);
  }
  return std::max(position, stop);
}

std::int64_t ModelLog::at_time(EventTime time, bool read_committed) const {
  const std::int64_t stop = readable_end(read_committed);
  for (const Entry& entry : entries_) {
    if (entry.record.offset.value() >= stop) break;
    if (entry.part != Part::kControl && entry.record.time >= time) return entry.record.offset.value();
  }
  return stop;
}

void ModelLog::delete_before(std::int64_t offset) {
  start_ = std::max(start_, std::min(offset, end_));
  entries_.erase(entries_.begin(), from(start_));
  for (auto& [producer, first] : open_) first = std::max(first, start_);
}

void ModelLog::compact(const std::vector<Offset>& offsets) {
  for (const Offset offset : offsets) {
    SLUICE_ASSERT(offset.value() < last_stable());  // Kafka never cleans what is still open.
    const auto at = from(offset.value());
    if (at != entries_.end() && at->record.offset == offset) entries_.erase(at);
  }
}

}  // namespace sluice::kafka::internal
