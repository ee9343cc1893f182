#include "pipeline_file/keyed_fields.h"

#include <sluice/engine/formats/json_literal.h>

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace sluice::tools {
namespace {

Status wrong(const JsonPointer& pointer, std::string_view what) {
  return Status(Code::kInvalid, fmt::format("the field at \"{}\" {}", pointer.text(), what));
}

}  // namespace

Status KeyedFields::process(const Batch<Record>& batch, Collector<KeyedRow>& out) {
  Arena& arena = out.arena();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    KeyedRow row;
    const Status read_it = read(batch[i], arena, row);
    if (!read_it.ok()) [[unlikely]] {
      const auto aside = [this]() -> Collector<Record>& { return this->side(); };
      SLUICE_TRY(refusals_.refuse(batch, i, read_it, aside));
      continue;
    }
    if (out.timed()) out.set_time(batch.times()[i]);
    out.emit(row);
  }
  return {};
}

Status KeyedFields::read(const Record& record, Arena& arena, KeyedRow& row) {
  if (record.value.null())
    return Status(Code::kInvalid, "the value is null (a tombstone), so it has no key");
  if (!reader_.open(record.value.view())) return JsonReader::why(record.value.view());
  SLUICE_TRY(read_key(record, arena, row));
  if (options_.keep_record) row.record = record;
  if (options_.aggregates.empty()) return {};
  auto* const fields = array_in<Field>(arena, options_.aggregates.size());
  for (std::size_t i = 0; i < options_.aggregates.size(); ++i) {
    fields[i] = Field();
    if (options_.aggregates[i].kind == AggregateSpec::Kind::kCount) continue;
    SLUICE_TRY(read_field(record, options_.aggregates[i], arena, fields[i]));
  }
  row.fields = {fields, options_.aggregates.size()};
  return {};
}

Status KeyedFields::locate(const Record& record, const JsonPointer& pointer, JsonSpan& span) {
  switch (reader_.find(pointer, span)) {
    case JsonFound::kMalformed:
      return JsonReader::why(record.value.view());
    case JsonFound::kMissing:
      return wrong(pointer, "is missing");
    case JsonFound::kFound:
      break;
  }
  if (span.type == JsonType::kNull) return wrong(pointer, "is null");
  return {};
}

/// A scalar as JSON, spelled in one way, so that equal values are equal texts. `spelled` may lie in
/// scratch_.
Status KeyedFields::spell(std::string_view document, const JsonPointer& pointer,
                          const JsonSpan& span, std::string_view& spelled) {
  spelled = span.in(document);
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
      scratch_.clear();
      constexpr double kExact = 9007199254740992.0;  // Whole doubles below 2^53 are these numbers;
                                                     // others stay apart from integers.
      const double value = number.double_value;
      if (std::trunc(value) == value && std::abs(value) < kExact) {
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
  return wrong(pointer, "is a list or a map; a text, a number, true or false is needed");
}

Status KeyedFields::read_key(const Record& record, Arena& arena, KeyedRow& row) {
  JsonSpan span;
  std::string_view spelled;
  if (!options_.list) {
    SLUICE_TRY(locate(record, options_.key.front(), span));
    SLUICE_TRY(spell(record.value.view(), options_.key.front(), span, spelled));
    row.key = Bytes(spelled.data() == scratch_.data() ? arena.copy(spelled) : spelled);
    return {};
  }
  joined_.assign(1, '[');
  for (const JsonPointer& pointer : options_.key) {
    SLUICE_TRY(locate(record, pointer, span));
    SLUICE_TRY(spell(record.value.view(), pointer, span, spelled));
    if (joined_.size() > 1) joined_ += ',';
    joined_ += spelled;
  }
  joined_ += ']';
  row.key = Bytes(arena.copy(joined_));
  return {};
}

Status KeyedFields::read_field(const Record& record, const AggregateSpec& spec, Arena& arena,
                               Field& field) {
  JsonSpan span;
  SLUICE_TRY(locate(record, spec.field, span));
  if (spec.kind == AggregateSpec::Kind::kDistinct) {
    SLUICE_TRY(spell(record.value.view(), spec.field, span, field.text));
    if (field.text.data() == scratch_.data()) field.text = arena.copy(field.text);
    return {};
  }
  if (span.type != JsonType::kNumber)
    return wrong(spec.field, fmt::format("is no number, as \"{}\" needs", spec.name));
  const JsonNumber& number = reader_.number();
  switch (number.kind) {
    case JsonNumber::Kind::kSigned:
      field.number.integer = number.signed_value;
      break;
    case JsonNumber::Kind::kDouble:
      field.number.whole = false;
      field.number.real = number.double_value;
      break;
    case JsonNumber::Kind::kUnsigned:
    case JsonNumber::Kind::kBig:
      return wrong(spec.field, fmt::format("is {}, beyond the 64 bits of a whole number",
                                           span.in(record.value.view())));
  }
  field.text =
      spec.kind == AggregateSpec::Kind::kTop ? record.value.view() : span.in(record.value.view());
  return {};
}

}  // namespace sluice::tools
