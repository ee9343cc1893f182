#pragma once

#include "pipeline_file/problem.h"
#include "pipeline_file/shape.h"

#include <string>
#include <vector>

/// Compares a tree with what may stand there, key by key; nothing of one key depends on another.
namespace sluice::tools {

/// `path`: how the node is reached from the top, "checkpoint.interval"; for messages.
void check(const Node& node, const Shape& shape, const std::string& path, Problems& problems);

/// "a duration, or never", for messages and the reference page.
[[nodiscard]] std::string describe(const Shape& shape);

/// All settings that have one path in every pipeline: "checkpoint.interval", not those of a source.
[[nodiscard]] std::vector<std::string> fixed_paths();

}  // namespace sluice::tools
