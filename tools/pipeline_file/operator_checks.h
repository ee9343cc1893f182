#pragma once

#include "pipeline_file/pipeline.h"
#include "pipeline_file/problem.h"

namespace sluice::tools {

/// Makes each operator once, so that patterns, pointers and values that do not fit are found now.
void check_operators(const Pipeline& pipeline, Problems& problems);

}  // namespace sluice::tools
