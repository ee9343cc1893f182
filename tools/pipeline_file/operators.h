#pragma once

#include <sluice/engine/formats/json_filter.h>
#include <sluice/engine/formats/json_replace.h>
#include <sluice/engine/formats/json_select.h>
#include <sluice/engine/formats/json_set.h>
#include <sluice/engine/operator.h>

#include "pipeline_file/pipeline.h"

#include <functional>
#include <memory>
#include <string>
#include <variant>

/// From what the file says of an operator to what the engine runs.
namespace sluice::tools {

/// Writes each value as a line to stdout. Lines of several shards do not mix.
class PrintStep {
 public:
  explicit PrintStep(std::string label) : label_(std::move(label)) {}
  [[nodiscard]] Outcome apply(const Record& in, Arena& arena, Record& out) const;
  [[nodiscard]] Status why(const Record&) const { return {}; }

 private:
  std::string label_;
};

/// Writes the number of a record into it.
class NumberWriter {
 public:
  enum class Place : std::uint8_t { kPrefix, kHeader };
  NumberWriter(Place place, std::string name) : place_(place), name_(std::move(name)) {}
  [[nodiscard]] Record operator()(const Record& in, std::uint64_t number, Arena& arena) const;

 private:
  Place place_;
  std::string name_;
};

/// What an operator does to one record after another.
using Step = std::variant<JsonReplace, JsonSelect, JsonSet, JsonFilter, PrintStep, NumberWriter>;

/// Requires: a kind and options. kInvalid: what is wrong with the options.
[[nodiscard]] Result<Step> make_step(const OperatorSpec& spec);

/// Whether a record can be refused by it, so that on_error has a meaning.
[[nodiscard]] bool may_refuse(const std::string& kind);

}  // namespace sluice::tools
