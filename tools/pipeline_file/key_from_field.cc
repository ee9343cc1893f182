#include "pipeline_file/key_from_field.h"

#include <sluice/kafka/serde.h>

#include <string_view>

namespace sluice::tools {

Status KeyFromField::operator()(const Record& record, Arena& arena, kafka::SinkRecord& out) {
  kafka::RecordSerializer()(record, out);
  if (record.value.null()) return {};
  out.key = Bytes();
  JsonSpan span;
  switch (reader_.locate(record.value.view(), field_, span)) {
    case JsonFound::kMalformed:
      return JsonReader::why(record.value.view());
    case JsonFound::kMissing:
      return {};
    case JsonFound::kFound:
      break;
  }
  if (span.type == JsonType::kNull) return {};
  std::string_view text = span.in(record.value.view());
  // The reader's own buffer is gone with the next record.
  if (span.type == JsonType::kString) text = arena.copy(reader_.text());
  out.key = Bytes(text);
  return {};
}

}  // namespace sluice::tools
