#include "commands/history_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sluice::tools {

std::string_view HistoryCheck::name_of(Kind kind) {
  static constexpr std::array<std::string_view, kKinds> kNames{
      "lost", "duplicate", "out_of_order", "wrong_number", "unexpected", "unreadable"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string HistoryCheck::Example::to_string() const {
  std::string text(name_of(kind));
  if (!producer.empty())
    text += fmt::format(" p={} n={} s={}", producer, source_partition, sequence);
  if (!topic.empty()) text += fmt::format(" at {}[{}] offset {}", topic, partition, offset);
  if (!detail.empty()) text += fmt::format(": {}", detail);
  return text;
}

bool HistoryCheck::Verdict::clean() const noexcept {
  return std::all_of(counts.begin(), counts.end(), [](std::uint64_t count) { return count == 0; });
}

HistoryCheck::Stream& HistoryCheck::stream_of(std::string_view producer, std::int32_t partition,
                                              std::string_view source_topic) {
  const auto found = by_key_.find(Key{producer, partition});
  if (found != by_key_.end()) return *found->second;
  Stream& stream = streams_.emplace_back();
  stream.id = streams_.size() - 1;
  stream.producer = producer;
  stream.partition = partition;
  const auto source = std::find_if(sources_.begin(), sources_.end(), [&](const Source& known) {
    return known.topic == source_topic && known.partition == partition;
  });
  if (source != sources_.end()) {
    stream.source = &*source;
  } else {
    stream.source = &sources_.emplace_back();
    stream.source->id = sources_.size() - 1;
    stream.source->topic = source_topic;
    stream.source->partition = partition;
  }
  by_key_.emplace(Key{stream.producer, partition}, &stream);
  return stream;
}

void HistoryCheck::expect(std::string_view producer, std::int32_t partition, std::uint64_t records,
                          std::string_view source_topic) {
  expects_ = true;
  Stream& stream = stream_of(producer, partition, source_topic);
  stream.expected = std::max(stream.expected, records);
}

std::size_t HistoryCheck::add_lane(std::string topic, std::int32_t partition) {
  Lane& lane = lanes_.emplace_back();
  lane.topic = std::move(topic);
  lane.partition = partition;
  return lanes_.size() - 1;
}

bool HistoryCheck::wants_example(Kind kind) {
  return ++counts_[static_cast<std::size_t>(kind)] <= options_.examples_max;
}

void HistoryCheck::found(Kind kind, const Lane& lane, std::int64_t offset,
                         const RecordHeader& header, std::string detail) {
  examples_.push_back({.kind = kind,
                       .topic = lane.topic,
                       .partition = lane.partition,
                       .offset = offset,
                       .producer = std::string(header.producer),
                       .source_partition = header.partition,
                       .sequence = header.sequence,
                       .detail = std::move(detail)});
}

void HistoryCheck::unreadable(std::size_t lane, std::int64_t offset, std::string_view why) {
  ++records_;
  if (wants_example(Kind::kUnreadable))
    found(Kind::kUnreadable, lanes_[lane], offset, {}, std::string(why));
}

void HistoryCheck::record(std::size_t lane_number, std::int64_t offset,
                          const RecordHeader& header) {
  ++records_;
  Lane& lane = lanes_[lane_number];
  Stream* stream = lane.last;
  if (stream == nullptr || stream->partition != header.partition ||
      stream->producer != header.producer) {
    stream = &stream_of(header.producer, header.partition, {});
    if (lane.next_sequence.size() <= stream->id) lane.next_sequence.resize(stream->id + 1);
    lane.last = stream;
  }
  if (expects_ && header.sequence >= stream->expected) {
    if (wants_example(Kind::kUnexpected)) {
      found(Kind::kUnexpected, lane, offset, header,
            fmt::format("the source has {} records of this stream", stream->expected));
    }
  }
  std::uint64_t& next = lane.next_sequence[stream->id];
  switch (stream->seen.add(header.sequence)) {
    case SeenSet::Added::kNew:
      if (header.sequence < next && wants_example(Kind::kDisorder)) {
        found(Kind::kDisorder, lane, offset, header, fmt::format("behind s={}", next - 1));
      }
      break;
    case SeenSet::Added::kAgain:
      if (wants_example(Kind::kDuplicate)) found(Kind::kDuplicate, lane, offset, header, {});
      break;
    case SeenSet::Added::kFull:
      if (wants_example(Kind::kUnreadable)) {
        found(Kind::kUnreadable, lane, offset, header,
              "the numbers are spread too wide to be remembered");
      }
      break;
  }
  next = std::max(next, header.sequence + 1);
  stream->end = std::max(stream->end, header.sequence + 1);
  if (options_.numbers) check_number(lane, offset, *stream, header);
}

void HistoryCheck::check_number(Lane& lane, std::int64_t offset, const Stream& stream,
                                const RecordHeader& header) {
  Source& source = *stream.source;
  const auto wrong = [&](std::string detail) {
    if (wants_example(Kind::kNumber)) found(Kind::kNumber, lane, offset, header, std::move(detail));
  };
  if (!header.number) return wrong("has no number (c)");
  const std::uint64_t number = *header.number;
  if (number == 0) return wrong("c=0, but counting begins with 1");
  if (lane.next_number.size() <= source.id) lane.next_number.resize(source.id + 1, 1);
  std::uint64_t& next = lane.next_number[source.id];
  if (source.numbers.add(number - 1) != SeenSet::Added::kNew) {
    wrong(fmt::format("c={} a second time", number));
  } else if (number < next) {
    wrong(fmt::format("c={} behind c={}", number, next - 1));
  }
  next = std::max(next, number + 1);
  source.numbers_end = std::max(source.numbers_end, number);
}

HistoryCheck::Verdict HistoryCheck::finish() {
  Verdict verdict;
  const auto add_missing = [&](Kind kind, std::uint64_t missing) {
    const std::uint64_t before = counts_[static_cast<std::size_t>(kind)];
    counts_[static_cast<std::size_t>(kind)] += missing;
    return before >= options_.examples_max
               ? 0
               : std::min<std::uint64_t>(missing, options_.examples_max - before);
  };
  for (const Stream& stream : streams_) {
    const std::uint64_t end = expects_ ? stream.expected : stream.end;
    verdict.expected += end;
    const auto examples = add_missing(Kind::kLost, stream.seen.missing_below(end));
    for (const std::uint64_t sequence : stream.seen.first_missing_below(end, examples)) {
      examples_.push_back({.kind = Kind::kLost,
                           .topic = {},
                           .producer = stream.producer,
                           .source_partition = stream.partition,
                           .sequence = sequence,
                           .detail = {}});
    }
  }
  for (const Source& source : sources_) {
    const auto examples =
        add_missing(Kind::kNumber, source.numbers.missing_below(source.numbers_end));
    for (const std::uint64_t number :
         source.numbers.first_missing_below(source.numbers_end, examples)) {
      examples_.push_back(
          {.kind = Kind::kNumber,
           .topic = {},
           .producer = {},
           .detail = fmt::format("no record of source {}[{}] has c={}, though one has c={}",
                                 source.topic.empty() ? "partition " : source.topic,
                                 source.partition, number + 1, source.numbers_end)});
    }
  }
  verdict.records = records_;
  verdict.streams = streams_.size();
  verdict.knows_expected = expects_;
  verdict.counts = counts_;
  verdict.examples = std::exchange(examples_, {});
  return verdict;
}

std::vector<HistoryCheck::StreamSummary> HistoryCheck::streams() const {
  std::vector<StreamSummary> all;
  all.reserve(streams_.size());
  for (const Stream& stream : streams_)
    all.push_back({stream.producer, stream.partition, stream.end});
  return all;
}

}  // namespace sluice::tools
