#include <sluice/checkpoint/restart.h>

#include <algorithm>

namespace sluice::checkpoint {

std::optional<std::chrono::nanoseconds> Restarts::next(bool decided) {
  using Strategy = RestartOptions::Strategy;
  const io::Monotonic now = clock_.now();
  // An attempt that decided something has made progress, one that ran long without a failure was sound: count anew.
  if (decided || (last_ && now - *last_ > options_.reset_after)) failures_ = 0;
  last_ = now;
  ++failures_;
  switch (options_.strategy) {
    case Strategy::kNone:
      return std::nullopt;
    case Strategy::kFixedDelay:
      if (options_.attempts_max != 0 && failures_ > options_.attempts_max) return std::nullopt;
      return options_.delay;
    case Strategy::kExponential: {
      if (options_.attempts_max != 0 && failures_ > options_.attempts_max) return std::nullopt;
      std::chrono::nanoseconds wait = options_.delay;
      for (std::uint32_t i = 1; i < failures_ && wait < options_.delay_max; ++i) wait *= 2;
      wait = std::min(wait, options_.delay_max);
      // Up to a quarter more, so that two instances do not fence each other in step.
      return wait + std::chrono::nanoseconds(random_.below(static_cast<std::uint64_t>(wait.count()) / 4 + 1));
    }
    case Strategy::kFailureRate:
      recent_.push_back(now);
      while (now - recent_.front() > options_.interval) recent_.pop_front();
      if (recent_.size() > options_.failures_max) return std::nullopt;
      return options_.delay;
  }
  return std::nullopt;
}

}  // namespace sluice::checkpoint
