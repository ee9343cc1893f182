// Goal: a damaged file is a list of problems or a pipeline that can be built, never a crash; what
// tests/fuzz looks for under clang, in short and in every build. Method: the example files with
// bytes changed, lines moved and pieces repeated, from one seed; a failure prints the text.
#include "pipeline_file/builder.h"
#include "pipeline_file/plan.h"
#include <support/process.h>

#include "problems_of.h"
#include <fstream>
#include <iterator>
#include <random>

namespace sluice::tools {
namespace {

std::string example(const std::string& name) {
  std::ifstream file(sluice::testing::source_directory() / "tests/pipelines" / name);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}
  std::string mutate(std::string text) {
    for (std::size_t i = 0, count = 1 + below(4); i < count && !text.empty(); ++i) once(text);
    return text;
  }

 private:
  std::size_t below(std::size_t end) { return random_() % end; }
  void once(std::string& text) {
    static constexpr std::string_view kPieces[] = {
        "[",  "]",  "{",   "}", ":",    ", ", "\n", "  ",      "'", "\"",   "&a ", "*a",
        "- ", "${", "|\n", "#", "!!x ", "? ", "~",  "input: ", "0", "\xc3", "%"};
    const std::size_t at = below(text.size()), size = 1 + below(20);
    switch (below(4)) {
      case 0:
        text.erase(at, size);
        break;
      case 1:
        text.insert(at, kPieces[below(std::size(kPieces))]);
        break;
      case 2:
        text[at] = static_cast<char>(below(256));
        break;
      default:
        text.insert(below(text.size()), text.substr(at, size * 4));
    }
  }
  std::mt19937_64 random_;
};

TEST(Mutations, OfTheExamplesAreProblemsOrPipelines) {
  constexpr int kRounds = 5'000;
  Mutator mutator(20'251'129);
  int good = 0;
  for (const char* const name :
       {"identity-rewrite.yaml", "every-operator.yaml", "every-window.yaml", "every-join.yaml"}) {
    const std::string text = example(name);
    ASSERT_FALSE(text.empty());
    for (int i = 0; i < kRounds; ++i) {
      const std::string mutated = mutator.mutate(text);
      SCOPED_TRACE(mutated);
      const Loaded loaded = load_text(mutated, "p.yaml", "/nonexistent", {});
      for (const Problem& problem : loaded.problems.sorted()) ASSERT_NE(problem.text(), "");
      if (!loaded.problems.ok()) continue;
      ++good;
      ASSERT_TRUE(build_job(loaded.pipeline).check().ok());
      ASSERT_NE(plan_text(loaded.pipeline, true), "");
    }
  }
  EXPECT_GT(good, 100);  // Otherwise nothing but the first check was tried.
}

}  // namespace
}  // namespace sluice::tools
