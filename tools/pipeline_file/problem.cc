#include "pipeline_file/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace sluice::tools {

std::string Problem::text() const {
  const ProblemText& known = explain(code);
  std::string text = fmt::format("{}: {} {}: {}", place.text(), known.warning ? "warning" : "error",
                                 known.code, message);
  if (!hint.empty()) text += "; " + hint;
  return text;
}

void Problems::add(const Place& place, ProblemCode code, std::string message, std::string hint) {
  add(Problem{place, code, std::move(message), std::move(hint)});
}

void Problems::add(Problem problem) {
  if (!explain(problem.code).warning) ++errors_;
  problems_.push_back(std::move(problem));
}

std::vector<Problem> Problems::sorted() const {
  std::vector<Problem> sorted = problems_;
  // What has no line (a flag, a variable, a file that is not there) comes first.
  std::ranges::stable_sort(sorted, {}, [](const Problem& problem) {
    return std::tuple(problem.place.line, problem.place.column);
  });
  return sorted;
}

int Problems::exit_status() const {
  int status = 0;
  for (const Problem& problem : problems_) {
    if (explain(problem.code).warning) continue;
    // The file first: what the broker says about a wrong file means little.
    if (problem.exit_status == 78 || status == 0) status = problem.exit_status;
  }
  return status;
}

}  // namespace sluice::tools
