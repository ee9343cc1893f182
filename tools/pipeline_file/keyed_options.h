#pragma once

#include <sluice/io/base/result.h>

#include "pipeline_file/json_key.h"
#include "pipeline_file/node.h"

#include <chrono>
#include <string>

/// What several operators with a key have in common in the file.
namespace sluice::tools {

/// Of a pointer, or a list of them, or {from: record}. kInvalid: a pointer that is none.
[[nodiscard]] Result<JsonKey::Options> key_of(const Node* node);
/// "/shop, /currency", for those who look at the graph.
[[nodiscard]] std::string key_text(const Node* node);

/// "/shop /currency list": what keys are, as part of the type of state that is kept by them.
[[nodiscard]] std::string key_contents(const JsonKey::Options& key);

/// kInvalid: a duration with a part of a millisecond, which event time has not.
[[nodiscard]] Status whole_ms(const Node* node, std::string_view name);
[[nodiscard]] std::chrono::milliseconds ms(const Node* node);

}  // namespace sluice::tools
