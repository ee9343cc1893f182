#pragma once

#include "pipeline_file/load.h"
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

/// A text as it is written in a test, and what the reader says of it.
namespace sluice::tools::testing {

/// All problems, a line each, of a file called p.yaml.
inline std::string problems_of(std::string_view text, const Overlay& options = {}) {
  std::string lines;
  for (const Problem& problem : load_text(text, "p.yaml", ".", options).problems.sorted()) {
    lines += problem.text() + '\n';
  }
  return lines;
}

/// A pipeline without problems, in which single parts are replaced.
struct Parts {
  std::string top = "";
  std::string connection = "{brokers: b:9092}";
  std::string source = "{kafka: {connection: main, topics: [in], group: g}}";
  std::string operators = "";
  std::string sink = "{input: in, kafka: {connection: main, topic: out}}";
  std::string more = "";
  [[nodiscard]] std::string text() const {
    return "version: 1\nname: job\n" + top + "connections:\n  main: " + connection +
           "\nsources:\n  in: " + source + "\n" + operators + "sinks:\n  out: " + sink + "\n" +
           more;
  }
};

struct BadCase {
  std::string name;
  std::string text;
  std::string problems;
};
inline void PrintTo(const BadCase& bad, std::ostream* out) { *out << bad.name; }
inline std::string name_of(const ::testing::TestParamInfo<BadCase>& info) {
  return info.param.name;
}

}  // namespace sluice::tools::testing
