#pragma once

#include <sluice/engine/event_time_text.h>
#include <sluice/engine/formats/json_pointer.h>
#include <sluice/engine/formats/json_reader.h>
#include <sluice/engine/record.h>
#include <sluice/engine/watermarks.h>
#include <sluice/io/base/result.h>

#include "pipeline_file/node.h"

#include <utility>

/// From what the file says of a source's event time to the engine's watermarks.
namespace sluice::tools {

/// Reads the event time of a JSON document: a whole number of the unit since 1970, or a text of ISO
/// 8601 with its offset from UTC. A tombstone, which has no document, has the time that Kafka has of
/// it. What is wrong with a time is the status that on_missing goes by.
class TimeFromField {
 public:
  TimeFromField(JsonPointer field, TimeUnit unit) : field_(std::move(field)), unit_(unit) {}
  [[nodiscard]] Result<EventTime> operator()(const Record& record);

 private:
  JsonPointer field_;
  TimeUnit unit_;
  JsonReader reader_;
};

/// Of `time:` of a source. kInvalid: a setting that cannot be.
[[nodiscard]] Result<Watermarks<Record>> make_watermarks(const Node& time);

}  // namespace sluice::tools
