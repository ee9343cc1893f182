#pragma once

#include "pipeline_file/pipeline.h"

#include <string>
#include <vector>

namespace sluice::tools {

/// What became of one entry of tests:.
struct TestOutcome {
  const TestSpec* test;
  std::string failure;  ///< empty: passed
};

/// Runs each test's operator, alone and in this process: no broker, no files, no threads. Records
/// that the operator refuses count as errors, whatever its on_error says. Requires: no problems.
[[nodiscard]] std::vector<TestOutcome> run_tests(const Pipeline& pipeline);

}  // namespace sluice::tools
