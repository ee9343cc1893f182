#include "pipeline_file/load.h"

#include "pipeline_file/check.h"
#include "pipeline_file/graph_checks.h"
#include "pipeline_file/keys.h"
#include "pipeline_file/operator_checks.h"
#include "pipeline_file/overrides.h"
#include "pipeline_file/property_checks.h"
#include "pipeline_file/secrets.h"
#include "pipeline_file/variables.h"
#include "pipeline_file/yaml.h"
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

namespace sluice::tools {

Loaded load_text(std::string_view text, const std::string& name,
                 const std::filesystem::path& directory, const Overlay& options) {
  Loaded loaded;
  Problems& problems = loaded.problems;
  auto tree = read_yaml(text, std::make_shared<const std::string>(name), problems);
  auto root = std::make_shared<Node>();
  loaded.pipeline.root = root;
  if (!tree) return loaded;
  *root = *std::move(tree);
  apply_overrides(*root, options.settings, options.environment, problems);
  fill_in_variables(*root, options.environment, problems);
  read_secrets(*root, directory, problems);
  // From here on nothing changes the tree; the parts of the pipeline point into it.
  check(*root, pipeline_shape(), {}, problems);
  loaded.pipeline = read_pipeline(root);
  check_graph(loaded.pipeline, problems);
  check_operators(loaded.pipeline, problems);
  check_properties(loaded.pipeline, problems);
  return loaded;
}

Loaded load_file(const std::filesystem::path& path, const Overlay& options) {
  const auto unreadable = [&](const std::string& why) {
    Loaded loaded;
    loaded.pipeline.root = std::make_shared<Node>();
    loaded.problems.add({std::make_shared<const std::string>(path.string()), 0, 0},
                        ProblemCode::kUnreadable, "cannot be read: " + why);
    return loaded;
  };
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return unreadable("it is a directory");
  std::ifstream file(path, std::ios::binary);
  if (!file) return unreadable(std::strerror(errno));
  // One byte more than allowed, so that the limit is noticed and no endless file is read.
  std::string text(kFileBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return load_text(text, path.string(), path.parent_path(), options);
}

}  // namespace sluice::tools
