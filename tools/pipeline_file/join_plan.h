#pragma once

#include <sluice/engine/event_time.h>
#include <sluice/engine/joins/join_options.h>
#include <sluice/io/base/result.h>

#include "pipeline_file/json_key.h"
#include "pipeline_file/pipeline.h"

#include <cstdint>
#include <string>
#include <variant>

namespace sluice::tools {

struct Interval {
  EventDuration from{0}, to{0};
};
struct JoinWindow {
  EventDuration size{0}, slide{0};
};
struct Table {};

/// Lower than the engine's: a row of a file is two whole documents, and only rows are counted.
constexpr std::uint64_t kResultsAtOnceMax = 200'000;

/// join: and lookup: as values.
struct JoinPlan {
  std::variant<Interval, JoinWindow, Table> what;
  std::string kind;  ///< "inner", "left", "right", "full"; of a table also "waiting"
  JsonKey::Options left_key, right_key;
  std::string left = {}, right = {};  ///< names in the rows
  JoinOptions bounds = {};
  LookupOptions table = {};
};

/// kInvalid: what is wrong with the options. Requires: they are right key by key.
[[nodiscard]] Result<JoinPlan> join_plan(const OperatorSpec& spec);

}  // namespace sluice::tools
