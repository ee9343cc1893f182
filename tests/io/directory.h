#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace sluice::io {

/// A directory that is empty at first and gone in the end.
class Directory {
 public:
  Directory() {
    std::string name = (std::filesystem::temp_directory_path() / "sluice-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace sluice::io
