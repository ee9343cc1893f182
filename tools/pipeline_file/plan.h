#pragma once

#include "pipeline_file/pipeline.h"

#include <string>

/// What a pipeline comes to: its graph and all its settings, defaults included and secrets masked.
namespace sluice::tools {

[[nodiscard]] std::string plan_text(const Pipeline& pipeline, bool origins);
/// For Graphviz.
[[nodiscard]] std::string plan_dot(const Pipeline& pipeline);
/// One object with "schema_version".
[[nodiscard]] std::string plan_json(const Pipeline& pipeline, bool origins);

}  // namespace sluice::tools
