#pragma once

#include <sluice/engine/stream.h>
#include <sluice/io/base/result.h>

#include "pipeline_file/pipeline.h"

#include <optional>
#include <string>
#include <vector>

/// From what the file says of an operator with a key to its part of the job.
namespace sluice::tools {

/// Of a keyed operator: what it makes, what it refuses, and what came too late for it.
struct KeyedPart {
  Stream<Record> out;
  std::vector<Stream<Record>> refused;
  std::optional<Stream<Record>> late;  ///< where the file says `late:`
};

/// Whether all records of a key come to one place in front of it.
[[nodiscard]] bool keyed(const std::string& kind);
/// Whether it needs the event time of its records. Requires: options.
[[nodiscard]] bool needs_time(const OperatorSpec& spec);
/// What add_keyed() and add_join() call their parts, beside the id.
[[nodiscard]] std::vector<std::string> inner_ids(const OperatorSpec& spec);
/// "window tumbling 1m by /user", for those who look at the graph.
[[nodiscard]] std::string describe_keyed(const OperatorSpec& spec);

/// What is wrong with the options. Requires: a keyed kind, and options that are right key by key.
[[nodiscard]] Status check_keyed(const OperatorSpec& spec);
/// Adds it to the job. Requires: check_keyed() found nothing. `on_error` stands for the spec's.
[[nodiscard]] KeyedPart add_keyed(const OperatorSpec& spec, const Stream<Record>& input,
                                  OnError on_error);

}  // namespace sluice::tools
