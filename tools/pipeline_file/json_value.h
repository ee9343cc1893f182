#pragma once

#include "pipeline_file/node.h"

#include <string>

namespace sluice::tools {

/// A value of the file as JSON: 1.50, true and null as they stand there, quoted and other scalars
/// as texts, lists and maps as arrays and objects.
[[nodiscard]] std::string to_json(const Node& node);

}  // namespace sluice::tools
