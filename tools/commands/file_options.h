#pragma once

#include "commands/command.h"
#include "pipeline_file/load.h"

#include <cstdio>
#include <string>
#include <vector>

/// What the commands that read a pipeline file have in common.
namespace sluice::tools {

struct FileOptions {
  std::string file;
  std::vector<std::string> settings;
  std::string env_file;
};
/// FILE, --set, --env-file.
void add_file_options(CLI::App& app, FileOptions& options);

/// Reads and checks the file. A Status only where an option is wrong; all else is in the problems.
[[nodiscard]] Result<Loaded> load(const FileOptions& options);

/// A line each, by place.
void print_problems(std::FILE* to, const Problems& problems);

/// "2 errors, 1 warning".
[[nodiscard]] std::string count_text(const Problems& problems);

}  // namespace sluice::tools
