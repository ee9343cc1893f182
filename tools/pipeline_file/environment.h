#pragma once

#include <sluice/io/base/result.h>

#include <map>
#include <optional>
#include <string>

namespace sluice::tools {

/// Variables for ${…} and SLUICE_…: the process's own, and those of a file, which come second.
class Environment {
 public:
  /// Lines of NAME=VALUE; empty ones and those that begin with # are left out. kInvalid with the
  /// line that is none.
  [[nodiscard]] Status read_file(const std::string& path);
  /// In place of the process's environment, for tests.
  void set(std::string name, std::string value);
  [[nodiscard]] std::optional<std::string> get(const std::string& name) const;

 private:
  std::map<std::string, std::string> given_;
  std::map<std::string, std::string> file_;
};

}  // namespace sluice::tools
