#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

/// The program's commands and flags as data, for completions and the man page.
namespace sluice::tools {

struct FlagInfo {
  std::vector<std::string> names;  ///< "-q", "--quiet"
  std::string value;               ///< "DURATION"; empty: takes none
  std::string description;
};

struct CommandInfo {
  std::string name;
  std::string description;
  std::string footer;
  std::vector<std::string> positionals;
  std::vector<FlagInfo> flags;
};

[[nodiscard]] std::vector<CommandInfo> commands_of(const CLI::App& root);

}  // namespace sluice::tools
