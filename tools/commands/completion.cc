#include "commands/command.h"
#include "commands/command_tree.h"
#include <fmt/ranges.h>

namespace sluice::tools {
namespace {

std::string names_of(const std::vector<CommandInfo>& commands) {
  std::vector<std::string> names;
  for (const CommandInfo& command : commands) names.push_back(command.name);
  return fmt::format("{}", fmt::join(names, " "));
}

std::string flags_of(const CommandInfo& command) {
  std::vector<std::string> flags;
  for (const FlagInfo& flag : command.flags) {
    flags.insert(flags.end(), flag.names.begin(), flag.names.end());
  }
  return fmt::format("{}", fmt::join(flags, " "));
}

/// A text within single quotes, for all three shells.
std::string shell_text(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return "'" + escaped + "'";
}

/// The first sentence, without what zsh reads as its own.
std::string brief(std::string_view text) {
  std::string brief;
  for (const char c : text.substr(0, text.find(". "))) {
    if (c == '[' || c == ']' || c == ':') brief += '\\';
    brief += c == '\n' ? ' ' : c;
  }
  return brief;
}

std::string bash(const std::vector<CommandInfo>& commands) {
  std::string text =
      "# sluice completion bash > /etc/bash_completion.d/sluice\n"
      "_sluice() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} flags=''\n"
      "  if ((COMP_CWORD == 1)); then\n";
  text += fmt::format("    COMPREPLY=($(compgen -W '{}' -- \"$word\"))\n    return\n  fi\n",
                      names_of(commands));
  text += "  case ${COMP_WORDS[1]} in\n";
  for (const CommandInfo& command : commands) {
    text += fmt::format("    {}) flags='{}' ;;\n", command.name, flags_of(command));
  }
  return text +
         "  esac\n"
         "  if [[ $word == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _sluice sluice\n";
}

std::string zsh(const std::vector<CommandInfo>& commands) {
  std::string text =
      "#compdef sluice\n# sluice completion zsh > \"${fpath[1]}/_sluice\"\n"
      "_sluice() {\n  if ((CURRENT == 2)); then\n    local -a commands=(\n";
  for (const CommandInfo& command : commands) {
    text += fmt::format("      {}\n", shell_text(command.name + ":" + brief(command.description)));
  }
  text += "    )\n    _describe command commands\n    return\n  fi\n  case $words[2] in\n";
  for (const CommandInfo& command : commands) {
    text += fmt::format("    {}) _arguments", command.name);
    for (const FlagInfo& flag : command.flags) {
      const std::string value = flag.value.empty() ? "" : ":" + brief(flag.value) + ":_files";
      text += fmt::format(" {}", shell_text(fmt::format("{}[{}]{}", flag.names.back(),
                                                        brief(flag.description), value)));
    }
    text += " '*:file:_files' ;;\n";
  }
  return text + "  esac\n}\n_sluice \"$@\"\n";
}

std::string fish(const std::vector<CommandInfo>& commands) {
  std::string text = "# sluice completion fish > ~/.config/fish/completions/sluice.fish\n";
  for (const CommandInfo& command : commands) {
    text += fmt::format("complete -c sluice -n __fish_use_subcommand -f -a {} -d {}\n",
                        command.name, shell_text(command.description));
  }
  for (const CommandInfo& command : commands) {
    for (const FlagInfo& flag : command.flags) {
      text += fmt::format("complete -c sluice -n '__fish_seen_subcommand_from {}'", command.name);
      for (const std::string& name : flag.names) {
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (!flag.value.empty()) text += " -r";
      text += fmt::format(" -d {}\n", shell_text(brief(flag.description)));
    }
  }
  return text;
}

}  // namespace

Command add_completion(CLI::App& root) {
  CLI::App& app = *root.add_subcommand("completion", "Print the completions of a shell");
  const auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("");
  app.footer(R"(Example:
  source <(sluice completion bash)

Exit status: 0, or 2 for wrong usage.)");
  return {&app, [&root, shell]() -> Result<ExitStatus> {
            const auto commands = commands_of(root);
            fmt::print("{}", *shell == "bash"  ? bash(commands)
                             : *shell == "zsh" ? zsh(commands)
                                               : fish(commands));
            return ExitStatus::kDone;
          }};
}

}  // namespace sluice::tools
