#include "pipeline_file/environment.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>

namespace sluice::tools {

Status Environment::read_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return Status(Code::kInvalid,
                  fmt::format("--env-file {}: cannot be read; correct the path", path));
  }
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    while (line.ends_with('\r') || line.ends_with(' ')) line.pop_back();
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t equals = line.find('=');
    // The line is not repeated: half of it may be a password.
    if (equals == std::string::npos || equals == 0) {
      return Status(Code::kInvalid,
                    fmt::format("--env-file {}:{}: not of the form NAME=VALUE", path, number));
    }
    file_.insert_or_assign(line.substr(0, equals), line.substr(equals + 1));
  }
  return {};
}

void Environment::set(std::string name, std::string value) {
  given_.insert_or_assign(std::move(name), std::move(value));
}

std::optional<std::string> Environment::get(const std::string& name) const {
  if (const auto at = given_.find(name); at != given_.end()) return at->second;
  if (const char* const own = std::getenv(name.c_str())) return own;
  if (const auto at = file_.find(name); at != file_.end()) return at->second;
  return {};
}

}  // namespace sluice::tools
