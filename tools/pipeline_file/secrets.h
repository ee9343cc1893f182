#pragma once

#include "pipeline_file/problem.h"

#include <filesystem>
#include <string_view>

namespace sluice::tools {

/// Whether a property of the Kafka client holds something that nobody else may see.
[[nodiscard]] bool is_secret_property(std::string_view name);

/// Reads {file: PATH} wherever properties are given, marks secrets so that they are never shown,
/// and warns of a password that stands in the file itself. After variables are filled in: what a
/// secret's file holds is taken as it is.
void read_secrets(Node& root, const std::filesystem::path& directory, Problems& problems);

}  // namespace sluice::tools
