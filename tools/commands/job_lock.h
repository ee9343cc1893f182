#pragma once

#include <sluice/io/base/result.h>

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>

namespace sluice::tools {

/// The process that holds a job's state directory.
///
/// Errors     kRecover when it may not be signalled.
/// Ownership  of a handle that stays with this process, so that a pid used anew is never meant.
class JobProcess {
 public:
  JobProcess(pid_t pid, int handle) noexcept : pid_(pid), handle_(handle) {}
  JobProcess(JobProcess&& other) noexcept;
  JobProcess& operator=(JobProcess&&) = delete;
  ~JobProcess();
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// SIGTERM.
  [[nodiscard]] Status terminate() const;
  /// Whether it has ended within `timeout`.
  [[nodiscard]] bool wait(std::chrono::milliseconds timeout) const;

 private:
  pid_t pid_;
  int handle_;
};

/// Nothing where no process holds the lock. kInvalid where there is no such directory.
[[nodiscard]] Result<std::optional<JobProcess>> find_job(const std::filesystem::path& directory);

}  // namespace sluice::tools
