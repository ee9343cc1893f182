#include "commands/command.h"
#include "pipeline_file/reference.h"
#include "pipeline_file/schema_json.h"

namespace sluice::tools {
namespace {

struct ExplainOptions {
  std::string word;
  bool reference = false;
  bool schema = false;
};

Result<ExitStatus> explain_it(const ExplainOptions& options) {
  if (options.reference) {
    fmt::print("{}", reference_markdown());
  } else if (options.schema) {
    fmt::print("{}", schema_json());
  } else {
    const std::string text = explain_word(options.word);
    if (text.empty()) {
      return Status(Code::kInvalid,
                    fmt::format("\"{}\" is no code, key or section; \"sluice explain --reference\" "
                                "prints all of them",
                                options.word))
          .exit(ExitStatus::kUsage);
    }
    fmt::print("{}", text);
  }
  return ExitStatus::kDone;
}

}  // namespace

Command add_explain(CLI::App& root) {
  CLI::App& app =
      *root.add_subcommand("explain", "Explain a problem's code, or a key of pipeline files");
  const auto options = std::make_shared<ExplainOptions>();
  auto* const word = app.add_option("WORD", options->word,
                                    "A code (E006), a key (interval, checkpoint.interval) "
                                    "or a section (filter)")
                         ->type_name("");
  auto* const reference =
      app.add_flag("--reference", options->reference, "Print the reference page of all keys");
  auto* const schema =
      app.add_flag("--schema", options->schema, "Print the JSON Schema for editors");
  word->excludes(reference)->excludes(schema);
  reference->excludes(schema);
  app.callback([word, reference, schema] {
    if (word->count() + reference->count() + schema->count() == 0) {
      throw CLI::RequiredError("WORD, --reference or --schema");
    }
  });
  app.footer(R"(Examples:
  sluice explain E006
  sluice explain checkpoint.interval
  sluice explain --schema > pipeline.schema.json
A first line "# yaml-language-server: $schema=pipeline.schema.json" in a file tells most editors.

Exit status: 0, or 2 where nothing is known of the word.)");
  return {&app, [options] { return explain_it(*options); }};
}

}  // namespace sluice::tools
