#pragma once

#include <sluice/engine/formats/json_reader.h>
#include <sluice/engine/internal/refusals.h>
#include <sluice/engine/on_error.h>
#include <sluice/engine/operator.h>
#include <sluice/engine/windows/window.h>

#include "pipeline_file/json_aggregates.h"

namespace sluice::tools {

/// What windows say, as records: the JSON row is the value, the window's key the key (a text as it
/// is meant, anything else as JSON), and the last millisecond of the window the time.
///
/// Errors     governed by on_error: a row with a number that cannot be written. Refused rows have
/// null in its place. Shard      one.
class KeyedResults final : public SideOperator<Windowed<Bytes, RowText>, Record, Record> {
 public:
  explicit KeyedResults(OnError on_error) : refusals_(on_error) {}
  Status open(const Context& context) override {
    refusals_.open(context);
    return {};
  }
  Status process(const Batch<Windowed<Bytes, RowText>>& batch, Collector<Record>& out) override;

 private:
  sluice::internal::Refusals refusals_;
  JsonReader reader_;
};

}  // namespace sluice::tools
