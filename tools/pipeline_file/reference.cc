#include "pipeline_file/reference.h"

#include "pipeline_file/check.h"
#include "pipeline_file/keys.h"
#include "pipeline_file/problem_code.h"
#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace sluice::tools {
namespace {

/// A bar would end the cell of a table.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string code(std::string_view text) {
  return text.empty() ? std::string() : fmt::format("`{}`", cell(text));
}

std::string_view need(const Key& key) {
  if (!key.not_yet.empty()) return "not supported yet";
  switch (key.need) {
    case Need::kRequired:
      return "required";
    case Need::kOneOf:
      return "exactly one of these";
    case Need::kOptional:
      return "";
  }
  return "";
}

std::string takes(const Key& key) {
  return key.not_yet.empty() ? describe(key.shape) : std::string("");
}

std::string section_markdown(const Section& section) {
  std::string text = fmt::format("\n## {}\n{}\n", section.title, section.help);
  if (!section.keys.empty()) {
    text += "\n| key | takes | default | meaning | example |\n| --- | --- | --- | --- | --- |\n";
  }
  for (const Key& key : section.keys) {
    const std::string_view needed = need(key);
    const std::string otherwise = key.fallback.empty() ? std::string(needed) : code(key.fallback);
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", key.name, cell(takes(key)), otherwise,
                        cell(key.help), code(key.example));
  }
  if (!section.example.empty()) text += fmt::format("\n```yaml\n{}```\n", section.example);
  return text;
}

std::string explain_key(const std::string& path, const Key& key) {
  std::string text = fmt::format("{}: {}\n", path, key.help);
  if (!key.not_yet.empty()) {
    return text + fmt::format("  not supported yet; {}\n", key.not_yet);
  }
  text += fmt::format("  takes    {}\n", describe(key.shape));
  if (!key.fallback.empty()) text += fmt::format("  default  {}\n", key.fallback);
  if (const auto needed = need(key); !needed.empty()) text += fmt::format("  {}\n", needed);
  if (!key.example.empty()) text += fmt::format("  example  {}: {}\n", key.name, key.example);
  return text;
}

std::string explain_section(const Section& section) {
  std::string text = fmt::format("{}: {}\n", section.title, section.help);
  for (const Key& key : section.keys) {
    text += fmt::format("  {:<20} {}\n", key.name, key.help);
  }
  if (!section.example.empty()) text += "\n" + std::string(section.example);
  return text;
}

}  // namespace

std::string reference_markdown() {
  std::string text =
      "# Pipeline files: the keys\n"
      "Made by `sluice explain --reference` from the tables in `keys_*.cc`, which are also the\n"
      "checks; a test compares. How values are written:\n\n"
      "- A duration is a number and a unit: `250ms`, `10s`, `1.5m`, `2h`.\n"
      "- `${NAME}` is filled in from the environment, `${NAME:-text}` has a default, `$${` is a\n"
      "  literal `${`. What is filled in is text and can never add keys.\n"
      "- `{file: PATH}` in `properties` reads a secret from a file, without its last line end.\n"
      "  Relative paths start at the pipeline file.\n"
      "- `--set PATH=VALUE` stands above the file, as `--set checkpoint.interval=100ms`; between\n"
      "  the two stand variables of settings that every pipeline has, as\n"
      "  `SLUICE_CHECKPOINT_INTERVAL`.\n"
      "- Anchors and aliases work; tags, merge keys and several documents are refused.\n"
      "- A file may have 1 MiB, 32 levels and 10,000 values after aliases are expanded.\n";
  for (const Section* const section : all_sections()) text += section_markdown(*section);
  text += "\n## Problems\n| code | what | why, and what to do |\n| --- | --- | --- |\n";
  for (const ProblemText& problem : all_problems()) {
    text +=
        fmt::format("| {} | {} | {} |\n", problem.code, cell(problem.title), cell(problem.text));
  }
  return text;
}

std::string explain_word(std::string_view word) {
  if (const ProblemText* const problem = find_problem(word)) {
    return fmt::format("{}: {}{}\n\n{}\n", problem->code, problem->title,
                       problem->warning ? " (a warning)" : "", problem->text);
  }
  const std::size_t dot = word.rfind('.');
  const std::string_view last = dot == std::string_view::npos ? word : word.substr(dot + 1);
  const std::string_view above = dot == std::string_view::npos ? "" : word.substr(0, dot);
  std::string text;
  for (const Section* const section : all_sections()) {
    if (section->title == word) text += explain_section(*section);
    const Key* const key = section->find(last);
    if (key == nullptr) continue;
    const bool named = section->title.starts_with(above.substr(above.rfind('.') + 1));
    if (above.empty() || named) {
      const bool top = section == &pipeline_section();
      const std::string path = top ? std::string(last) : fmt::format("{}.{}", section->title, last);
      // A section says more about itself than the key that opens it.
      const bool again = std::ranges::any_of(
          all_sections(), [&](const Section* other) { return other->title == word; });
      if (!again) text += explain_key(path, *key);
    }
  }
  return text;
}

}  // namespace sluice::tools
