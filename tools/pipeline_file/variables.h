#pragma once

#include "pipeline_file/environment.h"
#include "pipeline_file/problem.h"

namespace sluice::tools {

/// Fills ${NAME} and ${NAME:-default} into all texts of the tree; $${ becomes ${. Keys are left as
/// they are, and what is filled in is text, whatever is in it: it cannot add to the tree.
void fill_in_variables(Node& node, const Environment& environment, Problems& problems);

}  // namespace sluice::tools
