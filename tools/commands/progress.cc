#include "commands/progress.h"

#include "commands/units.h"
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace sluice::tools {

using namespace std::chrono_literals;

Progress::Progress(const Output& output, std::string verb, std::uint64_t total)
    : enabled_(!output.no_progress && !output.quiet),
      terminal_(isatty(STDERR_FILENO) == 1),
      verb_(std::move(verb)),
      total_(total),
      next_(start_ + (terminal_ ? 2s : 10s)) {}

void Progress::show(std::uint64_t done) {
  if (!enabled_) return;
  const auto now = Clock::now();
  if (now < next_) return;
  next_ = now + (terminal_ ? 250ms : 10'000ms);
  const std::string text = line(done, now);
  if (terminal_) {
    fmt::print(stderr, "\r\033[K{}", text);
    std::fflush(stderr);
    bar_visible_ = true;
  } else {
    fmt::print(stderr, "{}\n", text);
  }
}

void Progress::clear() {
  if (bar_visible_) fmt::print(stderr, "\r\033[K");
  bar_visible_ = false;
}

std::string Progress::line(std::uint64_t done, Clock::time_point now) {
  const double seconds = std::chrono::duration<double>(now - shown_at_).count();
  const double rate =
      seconds > 0 ? static_cast<double>(done - std::min(done, shown_)) / seconds : 0;
  // On a terminal the window is kept at two seconds or more, or the figure would flicker.
  if (!terminal_ || now - shown_at_ >= 2s) {
    shown_at_ = now;
    shown_ = done;
  }
  std::string text = fmt::format("{} {} records, {}/s", verb_, with_commas(done),
                                 with_commas(static_cast<std::uint64_t>(rate)));
  if (total_ == 0) return text;
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
  text += fmt::format(", {:.0f} %", share * 100);
  if (rate > 0 && done < total_)
    text += fmt::format(", {:.0f} s left", static_cast<double>(total_ - done) / rate);
  if (!terminal_) return text;
  constexpr std::size_t kWidth = 24;
  const auto filled = static_cast<std::size_t>(share * kWidth);
  return fmt::format("[{:#>{}}{:.>{}}] {}", "", filled, "", kWidth - filled, text);
}

}  // namespace sluice::tools
