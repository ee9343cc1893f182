#pragma once

#include "pipeline_file/pipeline.h"
#include "pipeline_file/problem.h"

namespace sluice::tools {

/// Asks the cluster what the job would find at its start: topics, rights, timeouts. Each source and
/// sink is asked, so that all of it stands in one list; nothing is fenced, created or written.
/// Requires: no problems so far.
void check_online(const Pipeline& pipeline, Problems& problems);

}  // namespace sluice::tools
