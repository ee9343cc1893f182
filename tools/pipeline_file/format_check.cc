#include "pipeline_file/format_check.h"

#include <sluice/engine/internal/json_error.h>

#include <fmt/format.h>

namespace sluice::tools {

FormatCheck::FormatCheck(std::string_view format)
    : format_(format == "json"     ? Format::kJson
              : format == "string" ? Format::kString
                                   : Format::kInt64) {}

Status FormatCheck::operator()(const Record& record, Record& out) {
  out = record;
  if (record.value.null()) return {};
  switch (format_) {
    case Format::kString:
      return kafka::check_utf8(record.value.view());
    case Format::kJson:
      return json(record);
    case Format::kInt64:
      if (record.value.size() == sizeof(std::int64_t)) return {};
      return Status(Code::kCorrupt, fmt::format("an int64 of 8 bytes has {}", record.value.size()));
  }
  return {};
}

Status FormatCheck::json(const Record& record) {
  Status checked = json_.check(record.value.view());
  if (checked.ok()) [[likely]]
    return checked;
  const auto framed = sluice::internal::schema_id(record.value.view());
  if (!framed) return checked;
  return checked.with(fmt::format(
      "(it looks framed by a schema registry, schema id {}: a pipeline file cannot take "
      "the frame off yet; set the source's on_error, or read it as format: bytes)",
      *framed));
}

}  // namespace sluice::tools
