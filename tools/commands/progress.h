#pragma once

#include "commands/command.h"

#include <chrono>
#include <cstdint>
#include <string>

/// Progress of work that takes more than two seconds: a bar on a terminal, a line every ten seconds
/// elsewhere, always on stderr. One thread.
namespace sluice::tools {

class Progress {
 public:
  /// `total` 0: not known, so there is a rate but no bar and no remaining time.
  Progress(const Output& output, std::string verb, std::uint64_t total);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { clear(); }

  /// Cheap enough to call for every batch: looks at the clock and mostly returns.
  void show(std::uint64_t done);
  /// Removes the bar, so that other lines may follow.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] std::string line(std::uint64_t done, Clock::time_point now);

  const bool enabled_;
  const bool terminal_;
  const std::string verb_;
  const std::uint64_t total_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point next_;
  Clock::time_point shown_at_ = start_;  // The rate is that since the line before.
  std::uint64_t shown_ = 0;
  bool bar_visible_ = false;
};

}  // namespace sluice::tools
