#pragma once

#include <sluice/engine/batch.h>
#include <sluice/engine/formats/json_pointer.h>
#include <sluice/engine/formats/json_reader.h>
#include <sluice/engine/record.h>
#include <sluice/kafka/sink_record.h>

#include <utility>

namespace sluice::tools {

/// A serializer that makes the key of a field of the JSON value: a text as it is meant, anything
/// else as it stands there. Without the field, or with a null in it, there is no key. A null value
/// (tombstone) has no fields and keeps the key that it came with.
class KeyFromField {
 public:
  explicit KeyFromField(JsonPointer field) : field_(std::move(field)) {}
  /// kCorrupt: the value is not JSON.
  [[nodiscard]] Status operator()(const Record& record, Arena& arena, kafka::SinkRecord& out);

 private:
  JsonPointer field_;
  JsonReader reader_;
};

}  // namespace sluice::tools
