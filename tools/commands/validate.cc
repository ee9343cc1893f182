#include "commands/file_options.h"
#include "commands/json_output.h"
#include "pipeline_file/online_checks.h"

namespace sluice::tools {
namespace {

struct ValidateOptions {
  FileOptions file;
  Output output;
  bool offline = false;
};

void print_json(const Problems& problems) {
  JsonOutput out("validate");
  out.field("ok", problems.ok());
  out.array("problems", [&] {
    for (const Problem& problem : problems.sorted()) {
      out.object([&] {
        const ProblemText& known = explain(problem.code);
        out.field("code", known.code);
        out.field("severity", known.warning ? "warning" : "error");
        out.field("source", problem.place.source ? std::string_view(*problem.place.source) : "");
        out.field("line", static_cast<std::uint64_t>(problem.place.line));
        out.field("column", static_cast<std::uint64_t>(problem.place.column));
        out.field("message", std::string_view(problem.message));
        out.field("hint", std::string_view(problem.hint));
      });
    }
  });
  out.print();
}

Result<ExitStatus> validate(const ValidateOptions& options) {
  Result<Loaded> loaded = load(options.file);
  if (!loaded.ok()) return std::move(loaded).status();
  Problems& problems = loaded->problems;
  // A wrong file would ask the cluster wrong questions.
  if (!options.offline && problems.ok()) check_online(loaded->pipeline, problems);
  if (options.output.json) {
    print_json(problems);
  } else {
    print_problems(stdout, problems);
    if (!problems.ok()) {
      fmt::print(stdout, "{}: {}\n", options.file.file, count_text(problems));
    } else if (!options.output.quiet) {
      fmt::print(stdout, "{}: ok{}\n", options.file.file,
                 options.offline ? "; the cluster was not asked" : "");
    }
  }
  return static_cast<ExitStatus>(problems.exit_status());
}

}  // namespace

Command add_validate(CLI::App& root) {
  CLI::App& app =
      *root.add_subcommand("validate", "Check a pipeline file, and the cluster for what it needs");
  const auto options = std::make_shared<ValidateOptions>();
  add_file_options(app, options->file);
  app.add_flag("--offline", options->offline, "Check only what can be known without the cluster");
  app.add_flag("--json", options->output.json, "Print the result as one JSON object on stdout");
  app.add_flag("-q,--quiet", options->output.quiet, "Print nothing where nothing is wrong");
  app.footer(
      R"(All problems are listed, each with its place and a code; "sluice explain CODE" says more.

Examples:
  sluice validate orders.yaml
  sluice validate orders.yaml --offline --set shards=4

Exit status: 0 nothing is wrong, 2 wrong usage, 69 the cluster cannot be reached,
77 it refuses for lack of rights, 78 the file or the cluster's topics are wrong.)");
  return {&app, [options] { return validate(*options); }};
}

}  // namespace sluice::tools
