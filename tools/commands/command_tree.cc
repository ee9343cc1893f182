#include "commands/command_tree.h"

namespace sluice::tools {
namespace {

FlagInfo flag_of(const CLI::Option& option) {
  FlagInfo flag;
  for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
  if (option.get_type_size() > 0) {
    flag.value = option.get_type_name().empty() ? "VALUE" : option.get_type_name();
  }
  flag.description = option.get_description();
  return flag;
}

}  // namespace

std::vector<CommandInfo> commands_of(const CLI::App& root) {
  std::vector<CommandInfo> commands;
  const auto all = [](const CLI::App*) { return true; };
  for (const CLI::App* const app : root.get_subcommands(all)) {
    CommandInfo command{app->get_name(), app->get_description(), app->get_footer(), {}, {}};
    for (const CLI::Option* const option : app->get_options()) {
      if (option->get_positional()) {
        command.positionals.push_back(option->get_name(true, false));
      } else {
        command.flags.push_back(flag_of(*option));
      }
    }
    commands.push_back(std::move(command));
  }
  return commands;
}

}  // namespace sluice::tools
