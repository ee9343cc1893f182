#include "pipeline_file/json_key.h"

#include <sluice/engine/formats/json_literal.h>
#include <sluice/kafka/serde.h>

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace sluice::tools {

Status wrong_field(const JsonPointer& pointer, std::string_view what) {
  return Status(Code::kInvalid, fmt::format("the field at \"{}\" {}", pointer.text(), what));
}

Status JsonKey::open(const Record& record) {
  if (record.value.null())
    return Status(Code::kInvalid, "the value is null (a tombstone), so it has no key in a field; in a "
                                  "table by Kafka's keys, key: {table: {from: record}}, it takes one out");
  if (!reader_.open(record.value.view())) return JsonReader::why(record.value.view());
  return {};
}

Status JsonKey::find(const Record& record, const JsonPointer& pointer, JsonSpan& span) {
  switch (reader_.find(pointer, span)) {
    case JsonFound::kMalformed:
      return JsonReader::why(record.value.view());
    case JsonFound::kMissing:
      return wrong_field(pointer, "is missing");
    case JsonFound::kFound:
      break;
  }
  return {};
}

Status JsonKey::locate(const Record& record, const JsonPointer& pointer, JsonSpan& span) {
  SLUICE_TRY(find(record, pointer, span));
  if (span.type == JsonType::kNull) return wrong_field(pointer, "is null");
  return {};
}

Status JsonKey::spell(const Record& record, const JsonPointer& pointer, const JsonSpan& span,
                      Arena& arena, std::string_view& spelled) {
  SLUICE_TRY(spell_here(record, pointer, span, spelled));
  if (spelled.data() == scratch_.data()) spelled = arena.copy(spelled);
  return {};
}

/// `spelled` may lie in scratch_.
Status JsonKey::spell_here(const Record& record, const JsonPointer& pointer, const JsonSpan& span,
                           std::string_view& spelled) {
  spelled = span.in(record.value.view());
  switch (span.type) {
    case JsonType::kString:
      if (spelled.find('\\') == std::string_view::npos)
        return {};  // As it stands there is as it would be written.
      scratch_.clear();
      append_json_quoted(reader_.text(), scratch_);
      spelled = scratch_;
      return {};
    case JsonType::kNumber: {
      if (spelled == "-0") spelled = "0";
      const JsonNumber& number = reader_.number();
      if (number.kind != JsonNumber::Kind::kDouble) return {};
      // From 2^53 on a double is one for several numbers, or for none: nothing is said to be equal.
      constexpr double kExact = 9007199254740992.0;
      const double value = number.double_value;
      if (std::abs(value) >= kExact) return {};
      scratch_.clear();
      if (std::trunc(value) == value) {
        fmt::format_to(std::back_inserter(scratch_), "{}", static_cast<std::int64_t>(value));
      } else {
        fmt::format_to(std::back_inserter(scratch_), "{}", value);
      }
      spelled = scratch_;
      return {};
    }
    case JsonType::kBool:
      return {};
    case JsonType::kNull:
    case JsonType::kArray:
    case JsonType::kObject:
      break;
  }
  return wrong_field(pointer, "is a list or a map; a text, a number, true or false is needed");
}

Status JsonKey::read(const Record& record, Arena& arena, Bytes& key) {
  if (options_.from_record) return read_record(record, arena, key);
  joined_.assign(1, '[');
  std::string_view spelled;
  bool null = false;
  for (const JsonPointer& field : options_.fields) {
    JsonSpan span;
    SLUICE_TRY(find(record, field, span));
    if (span.type == JsonType::kNull) {
      if (!options_.nulls) return wrong_field(field, "is null");
      null = true;  // Of a list as a whole: what is not known equals nothing.
      continue;     // What else is wrong with it is wrong in any order of the fields.
    }
    SLUICE_TRY(spell_here(record, field, span, spelled));
    if (!options_.list) continue;  // There is one.
    if (joined_.size() > 1) joined_ += ',';
    joined_ += spelled;
  }
  if (null) {
    key = Bytes();
    return {};
  }
  joined_ += ']';
  if (options_.list) spelled = joined_;
  key = written(spelled, arena);
  return {};
}

Status JsonKey::read_record(const Record& record, Arena& arena, Bytes& key) {
  if (record.key.null()) return Status(Code::kInvalid, "the record has no key");
  SLUICE_TRY(kafka::check_utf8(record.key.view()));
  scratch_.clear();
  append_json_quoted(record.key.view(), scratch_);
  key = Bytes(arena.copy(scratch_));
  return {};
}

/// A key as it goes on: where it stands if it may, in the arena otherwise.
Bytes JsonKey::written(std::string_view key, Arena& arena) {
  if (options_.as_text && !key.starts_with('"')) {
    std::string quoted;
    append_json_quoted(key, quoted);
    return Bytes(arena.copy(quoted));
  }
  const bool ours = key.data() == scratch_.data() || key.data() == joined_.data();
  return Bytes(ours ? arena.copy(key) : key);
}

}  // namespace sluice::tools
