#pragma once

#include <sluice/engine/batch.h>
#include <sluice/kafka/options.h>
#include <sluice/kafka/sink_record.h>

#include <memory>
#include <string>
#include <vector>

namespace sluice::kafka::internal {

using kafka::SinkRecord;

/// Bytes of a record as the broker counts them, but for a few of varints that
/// TopicInfo::record_bytes_max leaves room for.
[[nodiscard]] inline std::size_t size_of(const SinkRecord& record) noexcept {
  std::size_t bytes = record.key.size() + record.value.size();
  for (const Header& header : record.headers) bytes += header.name.size() + header.value.size() + 8;
  return bytes;
}

/// "topic in partition 3 offset 17", as far as it is known.
[[nodiscard]] std::string origin_text(const Split* split, const Record* source);

/// By policy: kExhausted with place, size and limit, or one more batch in `rejected`, with headers
/// that say why and where. Bytes are copied. `source`: the record as it was read, where the value
/// still knows it.
[[nodiscard]] Status refuse_too_large(const std::string& sink, kafka::TooLarge policy,
                                      const std::shared_ptr<const Split>& split,
                                      const Record* source, const SinkRecord& record,
                                      std::size_t limit, std::uint64_t count,
                                      std::vector<Batch<Record>>& rejected);

}  // namespace sluice::kafka::internal
