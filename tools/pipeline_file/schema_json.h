#pragma once

#include <string>

namespace sluice::tools {

/// The JSON Schema (draft 7) of pipeline files, for editors: what check() checks, as far as a
/// schema can say it. A text with a ${VARIABLE} in it may stand for any single value.
[[nodiscard]] std::string schema_json();

}  // namespace sluice::tools
