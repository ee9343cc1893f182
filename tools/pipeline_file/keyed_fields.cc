#include "pipeline_file/keyed_fields.h"

#include <fmt/format.h>

namespace sluice::tools {

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
  SLUICE_TRY(key_.open(record));
  SLUICE_TRY(key_.read(record, arena, row.key));
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

Status KeyedFields::read_field(const Record& record, const AggregateSpec& spec, Arena& arena,
                               Field& field) {
  JsonSpan span;
  SLUICE_TRY(key_.locate(record, spec.field, span));
  if (spec.kind == AggregateSpec::Kind::kDistinct)
    return key_.spell(record, spec.field, span, arena, field.text);
  if (span.type != JsonType::kNumber)
    return wrong_field(spec.field, fmt::format("is no number, as \"{}\" needs", spec.name));
  const JsonNumber& number = key_.number();
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
      return wrong_field(spec.field, fmt::format("is {}, beyond the 64 bits of a whole number",
                                                 span.in(record.value.view())));
  }
  field.text =
      spec.kind == AggregateSpec::Kind::kTop ? record.value.view() : span.in(record.value.view());
  return {};
}

}  // namespace sluice::tools
