#include <sluice/io/base/allocator.h>
#include <sluice/version.h>

#include "commands/command.h"

#include <cstdio>

namespace {

/// Breaks descriptions into lines of a terminal's width.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(kNameColumns); }
  std::string make_option_desc(const CLI::Option* option) const override {
    std::string text = CLI::Formatter::make_option_desc(option);
    std::size_t line = 0;
    for (std::size_t space = 0; text.size() - line > kTextColumns; line = space + 1) {
      space = text.rfind(' ', line + kTextColumns);
      if (space == std::string::npos || space <= line) break;
      text[space] = '\n';
    }
    return text;
  }

 private:
  static constexpr std::size_t kNameColumns = 34;
  static constexpr std::size_t kTextColumns = 78;
};

}  // namespace

// The command line: finds the command, runs it, turns what it came to into an exit status.
int main(int argc, char** argv) {
  using namespace sluice;
  keep_freed_memory();
  CLI::App app("sluice: exactly-once streams from Kafka to Kafka, and the tools to test them",
               "sluice");
  app.set_version_flag("--version", "sluice " SLUICE_VERSION);
  app.require_subcommand(1);
  app.formatter(std::make_shared<HelpFormatter>());
  app.footer("\"sluice COMMAND --help\" says more, with examples and exit statuses.");
  const tools::Command commands[] = {
      tools::add_run(app),        tools::add_validate(app), tools::add_plan(app),
      tools::add_test(app),       tools::add_stop(app),     tools::add_explain(app),
      tools::add_generate(app),   tools::add_verify(app),   tools::add_explain_commit(app),
      tools::add_completion(app), tools::add_man(app),      tools::add_version(app)};
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool asked =
        error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);  // --help, --version
    app.exit(error);
    return static_cast<int>(asked ? ExitStatus::kDone : ExitStatus::kUsage);
  }
  for (const tools::Command& command : commands) {
    if (!command.app->parsed()) continue;
    const Result<ExitStatus> ended = command.run();
    if (ended.ok()) return static_cast<int>(*ended);
    fmt::print(stderr, "sluice {}: {}\n", command.app->get_name(), ended.status().message());
    return static_cast<int>(ended.status().exit_status());
  }
  return static_cast<int>(ExitStatus::kUsage);
}
