#pragma once

#include "pipeline_file/pipeline.h"
#include "pipeline_file/problem.h"

namespace sluice::tools {

/// What the Kafka client and the guarantee say about properties and timeouts, without a connection.
void check_properties(const Pipeline& pipeline, Problems& problems);

}  // namespace sluice::tools
