#pragma once

#include "pipeline_file/environment.h"
#include "pipeline_file/problem.h"

#include <string>
#include <vector>

/// What stands above the file: --set PATH=VALUE first, then SLUICE_… of the environment.
namespace sluice::tools {

/// Puts the values in place of the file's; they know where they come from. A path may end at a key
/// that the file does not have yet.
void apply_overrides(Node& root, const std::vector<std::string>& settings,
                     const Environment& environment, Problems& problems);

/// "checkpoint.interval" as SLUICE_CHECKPOINT_INTERVAL.
[[nodiscard]] std::string variable_of(const std::string& path);

}  // namespace sluice::tools
