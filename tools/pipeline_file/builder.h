#pragma once

#include <sluice/engine/job.h>

#include "pipeline_file/pipeline.h"

namespace sluice::tools {

/// The job of a pipeline without problems: the same graph as one written in C++, with the names of
/// the file as ids. Nothing is opened.
[[nodiscard]] Job build_job(const Pipeline& pipeline);

}  // namespace sluice::tools
