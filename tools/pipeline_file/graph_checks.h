#pragma once

#include "pipeline_file/pipeline.h"
#include "pipeline_file/problem.h"

namespace sluice::tools {

/// How the parts hang together: names that nothing has, one name for two things, circles, parts
/// that nothing reads or feeds, operators where they cannot work.
void check_graph(const Pipeline& pipeline, Problems& problems);

}  // namespace sluice::tools
