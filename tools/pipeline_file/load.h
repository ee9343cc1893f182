#pragma once

#include "pipeline_file/environment.h"
#include "pipeline_file/pipeline.h"
#include "pipeline_file/problem.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// From a file to a pipeline, with everything that can be known without a broker.
namespace sluice::tools {

struct Overlay {
  std::vector<std::string> settings = {};  ///< of --set: PATH=VALUE
  Environment environment = {};
};

struct Loaded {
  Pipeline pipeline;  ///< as far as it could be read; to be used when problems.ok()
  Problems problems;
};

[[nodiscard]] Loaded load_file(const std::filesystem::path& path, const Overlay& options);
/// The same for a text. `directory`: where relative paths of secrets start.
[[nodiscard]] Loaded load_text(std::string_view text, const std::string& name,
                               const std::filesystem::path& directory, const Overlay& options);

}  // namespace sluice::tools
