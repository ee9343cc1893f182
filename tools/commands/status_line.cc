#include "commands/status_line.h"

#include "commands/units.h"
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace sluice::tools {

using namespace std::chrono_literals;

namespace {

std::string_view name_of(checkpoint::JobState state) {
  using enum checkpoint::JobState;
  switch (state) {
    case kStarting:
      return "starting";
    case kRestoring:
      return "restoring";
    case kRunning:
      return "running";
    case kDraining:
      return "draining";
    case kRestarting:
      return "waiting for a restart";
    case kDone:
      return "done";
    case kFailed:
      return "failed";
  }
  return "";
}

}  // namespace

StatusLine::StatusLine(const Output& output, const Pipeline& pipeline)
    : enabled_(!output.no_progress && !output.quiet),
      terminal_(isatty(STDERR_FILENO) == 1),
      job_(pipeline.name),
      next_(Clock::now() + (terminal_ ? 500ms : 10s)) {
  if (enabled_) lag_.emplace(pipeline);
}

void StatusLine::show(Running& running) {
  if (!enabled_) return;
  const auto now = Clock::now();
  const std::uint64_t checkpoints = running.metrics().value("sluice_checkpoints_completed_total");
  if (checkpoints != checkpoints_) {
    checkpoints_ = checkpoints;
    checkpoint_at_ = now;
  }
  if (now < next_) return;
  next_ = now + (terminal_ ? 500ms : 10'000ms);
  const std::string text = line(running, now);
  if (terminal_) {
    fmt::print(stderr, "\r\033[K{}", text);
    std::fflush(stderr);
    visible_ = true;
  } else {
    fmt::print(stderr, "{}\n", text);
  }
}

void StatusLine::clear() {
  if (visible_) fmt::print(stderr, "\r\033[K");
  visible_ = false;
}

std::string StatusLine::line(Running& running, Clock::time_point now) {
  const Metrics& metrics = running.metrics();
  const std::uint64_t in = metrics.value("sluice_source_records_total");
  const double seconds = std::chrono::duration<double>(now - rated_at_).count();
  // On a terminal the window is kept at two seconds or more, or the figure would flicker.
  if (!terminal_ || seconds >= 2) {
    rate_ = static_cast<double>(in - std::min(in, rated_)) / std::max(seconds, 0.001);
    rated_at_ = now;
    rated_ = in;
  }
  std::string text =
      fmt::format("{}: {}, {} records in, {}/s, {} out", job_, name_of(running.state()),
                  with_commas(in), with_commas(static_cast<std::uint64_t>(rate_)),
                  with_commas(metrics.value("sluice_sink_records_total")));
  if (const auto lag = lag_->records()) text += fmt::format(", lag {}", with_commas(*lag));
  if (checkpoints_ > 0) {
    text += fmt::format(", checkpoint {:.1f} s ago",
                        std::chrono::duration<double>(now - checkpoint_at_).count());
  } else {
    text += ", no checkpoint yet";
  }
  if (const auto refused = metrics.value("sluice_source_rejected_records_total"); refused > 0) {
    text += fmt::format(", {} refused", with_commas(refused));
  }
  if (const auto restarts = metrics.value("sluice_restarts_total"); restarts > 0) {
    text += fmt::format(", {} restart{}", restarts, restarts == 1 ? "" : "s");
  }
  return text;
}

void print_summary(const std::string& job, const Metrics& metrics) {
  fmt::print(stderr, "sluice run: job {}: {} records in, {} out, {} checkpoints, drained\n", job,
             with_commas(metrics.value("sluice_source_records_total")),
             with_commas(metrics.value("sluice_sink_records_total")),
             with_commas(metrics.value("sluice_checkpoints_completed_total")));
}

}  // namespace sluice::tools
