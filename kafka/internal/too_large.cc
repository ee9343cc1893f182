#include <sluice/io/base/log.h>
#include <sluice/engine/internal/reject.h>
#include <sluice/kafka/internal/too_large.h>

#include <bit>

namespace sluice::kafka::internal {

std::string origin_text(const Split* split, const Record* source) {
  if (split == nullptr) return "source unknown behind an exchange";
  if (source == nullptr || source->offset < Offset(0)) {
    return fmt::format("from {} partition {}, offset not known to this type", split->name,
                       split->partition);
  }
  return fmt::format("from {} partition {} offset {}", split->name, split->partition,
                     source->offset);
}

Status refuse_too_large(const std::string& sink, kafka::TooLarge policy,
                        const std::shared_ptr<const Split>& split, const Record* source,
                        const SinkRecord& record, std::size_t limit, std::uint64_t count,
                        std::vector<Batch<Record>>& rejected) {
  const std::string what = fmt::format(
      "a record of {} bytes is over the limit of {} (the topic's max.message.bytes or the client's "
      "message.max.bytes, less overhead)",
      size_of(record), limit);
  if (policy == kafka::TooLarge::kFail) {
    return Status(Code::kExhausted,
                  fmt::format("sink {}: {}, {}; raise the limit, or set too_large = reject", sink,
                              what, origin_text(split.get(), source)));
  }
  if (std::has_single_bit(count)) {
    log().warn("sink {}: {}, {}; rejected ({} so far)", sink, what, origin_text(split.get(), source),
               count);
  }
  const auto arena = std::make_shared<Arena>();
  const auto copied = [&](Bytes bytes) {
    return bytes.null() ? Bytes() : Bytes(arena->copy(bytes.view()));
  };
  std::vector<Header> headers;
  for (const Header& header : record.headers)
    headers.push_back({arena->copy(header.name), copied(header.value)});
  Record original;
  original.key = copied(record.key);
  original.value = copied(record.value);
  original.headers = headers;
  original.time = record.time;
  sluice::internal::Origin origin;
  if (split) {
    origin.topic = split->name;
    origin.partition = split->partition;
  }
  if (source != nullptr) {
    original.offset = origin.offset = source->offset;
    origin.time = source->time;
  }
  Batch<Record> batch;
  batch.records().push_back(sluice::internal::rejected_record(original, what, origin, *arena));
  batch.times().push_back(record.time);
  batch.set_split(split);
  batch.own(arena, arena->bytes());
  rejected.push_back(std::move(batch));
  return {};
}

}  // namespace sluice::kafka::internal
