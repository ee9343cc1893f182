#include <sluice/io/base/log.h>

#include "commands/file_options.h"
#include "commands/json_output.h"
#include "pipeline_file/run_tests.h"

#include <algorithm>

namespace sluice::tools {
namespace {

struct TestOptions {
  FileOptions file;
  Output output;
};

void print_text(const std::vector<TestOutcome>& outcomes, std::size_t failed, bool quiet) {
  for (const TestOutcome& outcome : outcomes) {
    const std::string where =
        fmt::format("{} {}", outcome.test->place.text(), outcome.test->target.name);
    if (!outcome.failure.empty()) {
      fmt::print("FAILED {}: {}\n", where, outcome.failure);
    } else if (!quiet) {
      fmt::print("ok     {}\n", where);
    }
  }
  fmt::print("{} of {} passed\n", outcomes.size() - failed, outcomes.size());
}

void print_json(const std::vector<TestOutcome>& outcomes, std::size_t failed) {
  JsonOutput out("test");
  out.field("tests", static_cast<std::uint64_t>(outcomes.size()));
  out.field("failed", static_cast<std::uint64_t>(failed));
  out.array("outcomes", [&] {
    for (const TestOutcome& outcome : outcomes) {
      out.object([&] {
        out.field("target", std::string_view(outcome.test->target.name));
        out.field("line", static_cast<std::uint64_t>(outcome.test->place.line));
        out.field("passed", outcome.failure.empty());
        if (!outcome.failure.empty()) out.field("failure", std::string_view(outcome.failure));
      });
    }
  });
  out.print();
}

Result<ExitStatus> test(const TestOptions& options) {
  const Result<Loaded> loaded = load(options.file);
  if (!loaded.ok()) return loaded.status();
  print_problems(stderr, loaded->problems);
  if (!loaded->problems.ok()) return static_cast<ExitStatus>(loaded->problems.exit_status());
  // A refused record is a result here, and counted; the engine would warn of it.
  log().set_level(spdlog::level::off);
  const auto outcomes = run_tests(loaded->pipeline);
  const auto failed = static_cast<std::size_t>(std::ranges::count_if(
      outcomes, [](const TestOutcome& outcome) { return !outcome.failure.empty(); }));
  if (options.output.json) {
    print_json(outcomes, failed);
  } else {
    print_text(outcomes, failed, options.output.quiet);
  }
  return failed == 0 ? ExitStatus::kDone : ExitStatus::kFailed;
}

}  // namespace

Command add_test(CLI::App& root) {
  CLI::App& app = *root.add_subcommand("test", "Run the tests: of a pipeline file");
  const auto options = std::make_shared<TestOptions>();
  add_file_options(app, options->file);
  app.add_flag("--json", options->output.json, "Print the result as one JSON object on stdout");
  app.add_flag("-q,--quiet", options->output.quiet, "Print only what failed, and the count");
  app.footer(
      R"(Each test gives values to one operator and compares what comes out, byte for byte, in this
process: no broker is needed. Records that the operator refuses are counted against errors:.

Example:
  sluice test orders.yaml

Exit status: 0 all passed, 1 one failed, 2 wrong usage, 78 the file is wrong.)");
  return {&app, [options] { return test(*options); }};
}

}  // namespace sluice::tools
