#pragma once

#include <sluice/engine/formats/json_filter.h>

#include "pipeline_file/node.h"

namespace sluice::tools {

/// The condition of a filter. Requires: a map that check() found right; what it did not is left
/// out.
[[nodiscard]] JsonCondition read_condition(const Node& node);

}  // namespace sluice::tools
