#include "pipeline_file/keyed_results.h"

#include <utility>

namespace sluice::tools {

Status KeyedResults::process(const Batch<Windowed<Bytes, RowText>>& batch, Collector<Record>& out) {
  Arena& arena = out.arena();
  const JsonPointer whole;
  bool kept = false;
  for (const Windowed<Bytes, RowText>& row : batch) {
    Record record;
    record.value = Bytes(arena.copy(row.value.json));
    JsonSpan span;
    const bool text = reader_.locate(row.key.view(), whole, span) == JsonFound::kFound &&
                      span.type == JsonType::kString;
    record.key = Bytes(arena.copy(text ? reader_.text() : row.key.view()));
    record.time = row.window.end - EventDuration(1);
    record.time_type = TimestampType::kCreate;
    if (row.value.error.empty()) {
      out.emit(record, record.time);
      continue;
    }
    Batch<Record> one;
    one.records().push_back(record);
    one.times().push_back(record.time);
    const auto aside = [&]() -> Collector<Record>& {
      if (!std::exchange(kept, true)) this->side().own(out.shared_arena());
      return this->side();
    };
    SLUICE_TRY(refusals_.refuse(one, 0, Status(Code::kInvalid, row.value.error), aside));
  }
  return {};
}

}  // namespace sluice::tools
