#include <sluice/io/clock.h>

#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <sluice/io/internal/waiter.h>

namespace sluice::io {
namespace {

class SystemClock final : public Clock {
 public:
  [[nodiscard]] Monotonic now() const noexcept override { return std::chrono::steady_clock::now(); }
  [[nodiscard]] WallTime wall() const noexcept override { return std::chrono::system_clock::now(); }
  [[nodiscard]] asio::awaitable<Status> sleep_until(Monotonic when) override {
    const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
    if (internal::cancelled(state)) co_return internal::stopped();
    const Executor here = co_await asio::this_coro::executor;
    asio::steady_timer timer(here, when);
    const auto [error] = co_await timer.async_wait(asio::as_tuple(asio::deferred));
    co_return error ? internal::stopped() : Status();
  }
};

}  // namespace

Clock& system_clock() noexcept {
  static SystemClock clock;
  return clock;
}

struct FakeClock::Impl {
  mutable std::mutex mutex;
  Monotonic now{};
  WallTime wall;
  std::multimap<Monotonic, internal::Waiter*> sleepers;

  /// Whoever takes a sleeper out of the map answers it, so an advance and a cancellation can not both do.
  bool take(internal::Waiter* sleeper) {
    const std::lock_guard lock(mutex);
    for (auto at = sleepers.begin(); at != sleepers.end(); ++at) {
      if (at->second != sleeper) continue;
      sleepers.erase(at);
      return true;
    }
    return false;
  }
  /// False when the time has come already.
  bool add(Monotonic when, internal::Waiter* sleeper) {
    const std::lock_guard lock(mutex);
    if (when <= now) return false;
    sleepers.emplace(when, sleeper);
    return true;
  }
};

FakeClock::FakeClock(WallTime start) : impl_(std::make_unique<Impl>()) { impl_->wall = start; }
FakeClock::~FakeClock() {
  for (const auto& [when, sleeper] : impl_->sleepers) sleeper->drop();
}

Monotonic FakeClock::now() const noexcept {
  const std::lock_guard lock(impl_->mutex);
  return impl_->now;
}
WallTime FakeClock::wall() const noexcept {
  const std::lock_guard lock(impl_->mutex);
  return impl_->wall;
}
void FakeClock::set_wall(WallTime to) {
  const std::lock_guard lock(impl_->mutex);
  impl_->wall = to;
}
std::size_t FakeClock::sleepers() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->sleepers.size();
}

std::optional<Monotonic> FakeClock::next() const {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->sleepers.empty()) return {};
  return impl_->sleepers.begin()->first;
}

asio::awaitable<Status> FakeClock::sleep_until(Monotonic when) {
  const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  if (internal::cancelled(state)) co_return internal::stopped();
  if (when <= now()) co_return Status();
  internal::Waiter waiter;
  auto start = [impl = impl_.get(), when, at = &waiter] {
    at->on_cancel([impl, at] {
      if (impl->take(at)) at->post(false);
    });
    if (!impl->add(when, at)) at->post(true);
  };
  const bool woken = co_await internal::suspend(waiter, start);
  co_return woken ? Status() : internal::stopped();
}

void FakeClock::advance(std::chrono::nanoseconds by) {
  std::vector<internal::Waiter*> due;
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->now += std::chrono::duration_cast<Monotonic::duration>(by);
    impl_->wall += std::chrono::duration_cast<WallTime::duration>(by);
    const auto end = impl_->sleepers.upper_bound(impl_->now);
    for (auto at = impl_->sleepers.begin(); at != end; ++at) due.push_back(at->second);
    impl_->sleepers.erase(impl_->sleepers.begin(), end);
  }
  for (internal::Waiter* sleeper : due) sleeper->post(true);
}

}  // namespace sluice::io
