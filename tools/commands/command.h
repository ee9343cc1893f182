#pragma once

#include <sluice/io/base/result.h>

#include <CLI/CLI.hpp>

#include <functional>

/// What a command is to sluice.cc: a function that adds a subcommand and returns what runs when it
/// was chosen.
///
/// A command prints its result to stdout and everything else to stderr, and returns the exit status
/// it has come to (kThreshold: done, and a threshold was missed). A Status is a failure that has
/// not been printed yet.
namespace sluice::tools {

struct Command {
  CLI::App* app = nullptr;
  std::function<Result<ExitStatus>()> run;
};

/// Flags that every command takes.
struct Output {
  bool json = false;
  bool quiet = false;
  bool no_progress = false;
};
inline void add_output_options(CLI::App& app, Output& output) {
  app.add_flag("--json", output.json, "Print the result as one JSON object on stdout");
  app.add_flag("-q,--quiet", output.quiet, "Print nothing but the result and failures");
  app.add_flag("--no-progress", output.no_progress, "Show no progress on stderr");
}

Command add_run(CLI::App& app);
Command add_validate(CLI::App& app);
Command add_plan(CLI::App& app);
Command add_test(CLI::App& app);
Command add_stop(CLI::App& app);
Command add_explain(CLI::App& app);
Command add_completion(CLI::App& app);
Command add_man(CLI::App& app);
Command add_version(CLI::App& app);
Command add_explain_commit(CLI::App& app);
Command add_generate(CLI::App& app);
Command add_verify(CLI::App& app);

}  // namespace sluice::tools
