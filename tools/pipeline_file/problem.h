#pragma once

#include "pipeline_file/node.h"
#include "pipeline_file/problem_code.h"

#include <string>
#include <vector>

/// What is wrong with a pipeline, all of it, in one list.
namespace sluice::tools {

struct Problem {
  Place place;
  ProblemCode code;
  std::string message;
  std::string hint = {};  ///< what to do, as "did you mean …?"; may be empty
  int exit_status = 78;   ///< 69 and 77 for the broker's part
  /// "orders.yaml:3:5: error E006: …; did you mean "interval"?"
  [[nodiscard]] std::string text() const;
};

/// Collects problems; everything else goes on, so that one run finds them all.
class Problems {
 public:
  void add(const Place& place, ProblemCode code, std::string message, std::string hint = {});
  void add(Problem problem);
  /// By place, errors and warnings together.
  [[nodiscard]] std::vector<Problem> sorted() const;
  [[nodiscard]] std::size_t errors() const noexcept { return errors_; }
  [[nodiscard]] bool ok() const noexcept { return errors_ == 0; }
  /// 0, 78, or what the broker's part comes to (69, 77) where nothing else is wrong.
  [[nodiscard]] int exit_status() const;

 private:
  std::vector<Problem> problems_;
  std::size_t errors_ = 0;
};

}  // namespace sluice::tools
