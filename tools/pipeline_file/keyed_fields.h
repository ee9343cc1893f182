#pragma once

#include <sluice/engine/internal/refusals.h>
#include <sluice/engine/on_error.h>
#include <sluice/engine/operator.h>

#include "pipeline_file/json_aggregates.h"
#include "pipeline_file/json_key.h"
#include "pipeline_file/keyed_row.h"

#include <vector>

namespace sluice::tools {

/// Reads key and fields of each record, in front of the exchange: behind it nobody parses again,
/// and a record that lacks one is refused where its origin is known.
///
/// Shard      one; a copy each.
/// Errors     governed by on_error: a value that is null or no JSON, a key that is missing, null, a
/// list or a map, and a field that
///            the aggregate cannot take. kFail: with the record's place.
/// Suspends   never.
class KeyedFields final : public SideOperator<Record, KeyedRow, Record> {
 public:
  struct Options {
    JsonKey::Options key;
    std::vector<AggregateSpec> aggregates;
    bool keep_record = false;  ///< somebody behind the exchange wants the record as it came
    OnError on_error = OnError::kFail;
  };
  explicit KeyedFields(Options options)
      : options_(std::move(options)), refusals_(options_.on_error), key_(options_.key) {}

  Status open(const Context& context) override {
    refusals_.open(context);
    return {};
  }
  Status process(const Batch<Record>& batch, Collector<KeyedRow>& out) override;

 private:
  [[nodiscard]] Status read(const Record& record, Arena& arena, KeyedRow& row);
  [[nodiscard]] Status read_field(const Record& record, const AggregateSpec& spec, Arena& arena,
                                  Field& field);

  Options options_;
  sluice::internal::Refusals refusals_;
  JsonKey key_;
};

}  // namespace sluice::tools
