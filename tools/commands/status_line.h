#pragma once

#include <sluice/checkpoint/engine.h>

#include "commands/command.h"
#include "commands/lag_probe.h"
#include "pipeline_file/pipeline.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

/// How a running job goes, on stderr: a line that renews itself on a terminal, one every ten
/// seconds elsewhere. One thread.
namespace sluice::tools {

class StatusLine {
 public:
  StatusLine(const Output& output, const Pipeline& pipeline);
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  ~StatusLine() { clear(); }

  /// Cheap enough to call ten times a second.
  void show(Running& running);
  /// Removes the line, so that others may follow.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] std::string line(Running& running, Clock::time_point now);

  const bool enabled_;
  const bool terminal_;
  const std::string job_;
  std::optional<LagProbe> lag_;
  Clock::time_point next_;
  Clock::time_point rated_at_ = Clock::now();  // The rate is that since then.
  std::uint64_t rated_ = 0;
  double rate_ = 0;
  std::uint64_t checkpoints_ = 0;
  Clock::time_point checkpoint_at_;
  bool visible_ = false;
};

/// After the end: "identity-rewrite: 1,000,000 records in, 1,000,000 out, 12 checkpoints".
void print_summary(const std::string& job, const Metrics& metrics);

}  // namespace sluice::tools
