#include <sluice/io/backoff.h>

#include <algorithm>

namespace sluice::io {

std::chrono::nanoseconds Backoff::next() {
  if (step_ == std::chrono::nanoseconds{}) {
    step_ = std::min(options_.first, options_.limit);
  } else {
    // In floating point first: the product may not fit.
    const double grown = static_cast<double>(step_.count()) * options_.factor;
    const double limit = static_cast<double>(options_.limit.count());
    step_ = grown < limit ? std::chrono::nanoseconds(static_cast<std::int64_t>(grown)) : options_.limit;
  }
  const auto drawn = static_cast<std::uint64_t>(static_cast<double>(step_.count()) * options_.jitter);
  if (drawn == 0) return step_;
  return step_ - std::chrono::nanoseconds(static_cast<std::int64_t>(random_.below(drawn + 1)));
}

asio::awaitable<Status> Backoff::wait() {
  // A sleep with a name: one co_await a statement.
  const Status slept = co_await clock_.sleep(next());
  co_return slept;
}

}  // namespace sluice::io
