#include "commands/file_options.h"

namespace sluice::tools {

void add_file_options(CLI::App& app, FileOptions& options) {
  app.add_option("FILE", options.file, "The pipeline file")->required()->type_name("");
  app.add_option("--set", options.settings,
                 "Set a value in place of the file's, as --set checkpoint.interval=100ms; may be "
                 "repeated")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  app.add_option("--env-file", options.env_file,
                 "Read variables from a file, a NAME=VALUE on each line; those of the environment "
                 "stand above them")
      ->type_name("FILE");
}

Result<Loaded> load(const FileOptions& options) {
  Overlay how;
  how.settings = options.settings;
  if (!options.env_file.empty()) SLUICE_TRY(how.environment.read_file(options.env_file));
  return load_file(options.file, how);
}

void print_problems(std::FILE* to, const Problems& problems) {
  for (const Problem& problem : problems.sorted()) fmt::print(to, "{}\n", problem.text());
}

std::string count_text(const Problems& problems) {
  const std::size_t errors = problems.errors();
  const std::size_t warnings = problems.sorted().size() - errors;
  std::string text = fmt::format("{} error{}", errors, errors == 1 ? "" : "s");
  if (warnings > 0) text += fmt::format(", {} warning{}", warnings, warnings == 1 ? "" : "s");
  return text;
}

}  // namespace sluice::tools
