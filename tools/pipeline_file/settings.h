#pragma once

#include "pipeline_file/node.h"

#include <string>
#include <vector>

namespace sluice::tools {

/// One value of a pipeline, given or default.
struct Setting {
  std::string path;    ///< "sources.events.kafka.start"
  std::string value;   ///< as JSON for lists and maps; "(secret)" for what nobody may see
  std::string origin;  ///< "orders.yaml:3:5", "--set …", "SLUICE_…", "default"
};

/// All values, defaults included, in the order of the reference page.
[[nodiscard]] std::vector<Setting> settings_of(const Node& root);

}  // namespace sluice::tools
