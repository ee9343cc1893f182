#pragma once

#include <sluice/engine/stream.h>
#include <sluice/io/base/result.h>

#include "pipeline_file/keyed_parts.h"
#include "pipeline_file/pipeline.h"

#include <string>
#include <vector>

/// From what the file says of join: and lookup: to their part of the job. keyed_parts.h asks these.
namespace sluice::tools {

/// Whether it has a second input.
[[nodiscard]] bool joins(const std::string& kind);
[[nodiscard]] bool join_needs_time(const OperatorSpec& spec);
[[nodiscard]] std::vector<std::string> join_inner_ids(const OperatorSpec& spec);
/// "join left with payments between -1m and 30m by /id = /order", for those who look at the graph.
[[nodiscard]] std::string describe_join(const OperatorSpec& spec);
[[nodiscard]] Status check_join(const OperatorSpec& spec);

/// Adds it to the job. Requires: check_join() found nothing. `right`: what `with:` or `table:` names.
[[nodiscard]] KeyedPart add_join(const OperatorSpec& spec, const Stream<Record>& left,
                                 const Stream<Record>& right, OnError on_error);

}  // namespace sluice::tools
