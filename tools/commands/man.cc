#include <sluice/version.h>

#include "commands/command.h"
#include "commands/command_tree.h"
#include <fmt/ranges.h>

namespace sluice::tools {
namespace {

/// Text in roff: what begins with a dot or holds a backslash or a hyphen would be read as its own.
std::string roff(std::string_view text) {
  std::string escaped;
  bool line_start = true;
  for (const char c : text) {
    if (c == '\\')
      escaped += "\\e";
    else if (c == '-')
      escaped += "\\-";
    else if (line_start && (c == '.' || c == '\''))
      escaped += std::string("\\&") + c;
    else
      escaped += c;
    line_start = c == '\n';
  }
  return escaped;
}

std::string command_page(const CommandInfo& command) {
  std::string text =
      fmt::format(".SS \"sluice {}\"\n{}.\n.PP\n", roff(command.name), roff(command.description));
  for (const FlagInfo& flag : command.flags) {
    text += fmt::format(".TP\n\\fB{}\\fR", roff(fmt::format("{}", fmt::join(flag.names, ", "))));
    if (!flag.value.empty()) text += fmt::format(" \\fI{}\\fR", roff(flag.value));
    text += fmt::format("\n{}\n", roff(flag.description));
  }
  if (!command.footer.empty()) text += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(command.footer));
  return text;
}

std::string page(const CLI::App& root) {
  std::string text = fmt::format(".TH SLUICE 1 \"\" \"sluice {}\"\n.SH NAME\nsluice \\- {}\n",
                                 SLUICE_VERSION, roff(root.get_description()));
  text += ".SH SYNOPSIS\n\\fBsluice\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]... [\\fIFILE\\fR]\n";
  text += ".SH COMMANDS\n";
  for (const CommandInfo& command : commands_of(root)) text += command_page(command);
  text +=
      ".SH ENVIRONMENT\n"
      "A setting that every pipeline has may stand in a variable: its path in capitals, as\n"
      "SLUICE_CHECKPOINT_INTERVAL. A flag stands above it, the file below.\n"
      ".SH EXIT STATUS\n"
      "0 done or drained, 1 failed, 2 wrong usage, 65 a checkpoint or register is corrupt, 69 the\n"
      "cluster cannot be reached, 73 the state directory cannot be written or is locked, 75 a "
      "newer\n"
      "instance took over, 77 refused for lack of rights, 78 configuration, 99 a threshold was\n"
      "missed.\n";
  return text;
}

}  // namespace

Command add_man(CLI::App& root) {
  CLI::App& app = *root.add_subcommand("man", "Print the manual page");
  app.footer("Example:\n  sluice man | man -l -\n\nExit status: 0.");
  return {&app, [&root]() -> Result<ExitStatus> {
            fmt::print("{}", page(root));
            return ExitStatus::kDone;
          }};
}

}  // namespace sluice::tools
