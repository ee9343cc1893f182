#pragma once

#include <sluice/engine/record.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace sluice::kafka {

/// What a serializer fills for one record. A view: the bytes live in the input batch or in the
/// arena it was given.
struct SinkRecord {
  std::string_view topic = {};  ///< empty: the sink's
  Bytes key;
  Bytes value;  ///< null: a tombstone
  std::span<const Header> headers = {};
  EventTime time = kNoEventTime;  ///< none: the batch's event time of the record, where it has one
  std::int32_t partition = -1;    ///< below 0: the partitioner's
};

}  // namespace sluice::kafka
