#pragma once

#include <chrono>

#include <sluice/io/base/random.h>
#include <sluice/io/clock.h>

namespace sluice::io {

/// Waits longer after each failure, up to a limit, with jitter so that instances do not march in step.
class Backoff {
 public:
  struct Options {
    std::chrono::nanoseconds first = std::chrono::milliseconds(10);
    std::chrono::nanoseconds limit = std::chrono::seconds(1);
    double factor = 2.0;
    double jitter = 0.2;  ///< share of the wait that is drawn at random, 0 to 1
  };
  Backoff(Options options, Clock& clock, Random& random) : options_(options), clock_(clock), random_(random) {}
  /// kCancelled when asked to stop.
  [[nodiscard]] asio::awaitable<Status> wait();
  /// The wait that comes next, drawn and grown.
  [[nodiscard]] std::chrono::nanoseconds next();
  void reset() noexcept { step_ = {}; }

 private:
  const Options options_;
  Clock& clock_;
  Random& random_;
  std::chrono::nanoseconds step_{};
};

}  // namespace sluice::io
