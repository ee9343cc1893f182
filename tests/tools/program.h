#pragma once

#include <gtest/gtest.h>
#include <rapidjson/document.h>
#include <support/process.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

/// The program as people run it, in a directory of its own.
namespace sluice::tools::testing {

struct Ran {
  sluice::testing::Process::End end;
  std::string out, err;
  [[nodiscard]] rapidjson::Document json() const {
    rapidjson::Document document;
    document.Parse(out.c_str());
    EXPECT_FALSE(document.HasParseError()) << out << err;
    return document;
  }
};

class Program {
 public:
  std::vector<std::string> environment = {};

  [[nodiscard]] const std::filesystem::path& directory() const { return directory_.path(); }
  /// Writes a file into the directory; returns its name.
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(directory() / name, std::ios::binary) << text;
    return name;
  }
  [[nodiscard]] sluice::testing::Process start(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), SLUICE_PROGRAM);
    std::ofstream(directory() / "out").close();
    std::ofstream(directory() / "err").close();
    return sluice::testing::Process({.arguments = std::move(arguments),
                                     .environment = environment,
                                     .directory = directory(),
                                     .stdout_file = directory() / "out",
                                     .stderr_file = directory() / "err"});
  }
  [[nodiscard]] Ran finish(sluice::testing::Process& process) const {
    const auto end = process.wait(std::chrono::seconds(90));
    EXPECT_TRUE(end.has_value()) << "still runs\n" << content("err");
    return {end.value_or(sluice::testing::Process::End{-1, 0}), content("out"), content("err")};
  }
  [[nodiscard]] Ran run(std::vector<std::string> arguments) const {
    sluice::testing::Process process = start(std::move(arguments));
    return finish(process);
  }
  [[nodiscard]] std::string content(const std::string& name) const {
    std::ifstream file(directory() / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  const sluice::testing::TempDirectory directory_;
};

/// A file of tests/pipelines.
inline std::string example(const std::string& name) {
  return sluice::testing::source_directory() / "tests/pipelines" / name;
}

}  // namespace sluice::tools::testing
