#include "pipeline_file/plan.h"

#include "commands/file_options.h"

namespace sluice::tools {
namespace {

struct PlanOptions {
  FileOptions file;
  std::string format = "text";
  bool json = false;
  bool origins = false;
};

Result<ExitStatus> plan(const PlanOptions& options) {
  const Result<Loaded> loaded = load(options.file);
  if (!loaded.ok()) return loaded.status();
  print_problems(stderr, loaded->problems);
  if (!loaded->problems.ok()) return static_cast<ExitStatus>(loaded->problems.exit_status());
  const Pipeline& pipeline = loaded->pipeline;
  if (options.json || options.format == "json") {
    fmt::print("{}", plan_json(pipeline, options.origins));
  } else if (options.format == "dot") {
    fmt::print("{}", plan_dot(pipeline));
  } else {
    fmt::print("{}", plan_text(pipeline, options.origins));
  }
  return ExitStatus::kDone;
}

}  // namespace

Command add_plan(CLI::App& root) {
  CLI::App& app = *root.add_subcommand(
      "plan", "Print the graph and all settings of a pipeline, defaults included");
  const auto options = std::make_shared<PlanOptions>();
  add_file_options(app, options->file);
  app.add_option("--format", options->format, "text, json, or dot for Graphviz")
      ->check(CLI::IsMember({"text", "dot", "json"}))
      ->type_name("FORMAT");
  app.add_flag("--json", options->json, "The same as --format json");
  app.add_flag("--origins", options->origins, "Say where each value comes from");
  app.footer(R"(Secrets are masked. Nothing is asked of the cluster.

Examples:
  sluice plan orders.yaml --origins
  sluice plan orders.yaml --format dot | dot -Tsvg > orders.svg

Exit status: 0, 2 wrong usage, 78 the file is wrong.)");
  return {&app, [options] { return plan(*options); }};
}

}  // namespace sluice::tools
