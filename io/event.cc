#include <sluice/io/event.h>

#include <atomic>
#include <cstddef>
#include <optional>

#include <boost/asio/execution/allocator.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/require.hpp>
#include <boost/asio/this_coro.hpp>

#include <sluice/io/base/assert.h>
#include <sluice/io/internal/waiter.h>

namespace sluice::io {
namespace {

constexpr std::size_t kBellBytes = 128;

/// Hands out the one block; asio gives it back before it runs the function, so the next ring finds it free.
template <class T>
struct BellAllocator {
  using value_type = T;
  std::byte* block;
  explicit BellAllocator(std::byte* at) noexcept : block(at) {}
  template <class U>
  BellAllocator(const BellAllocator<U>& other) noexcept : block(other.block) {}  // NOLINT(google-explicit-constructor)
  T* allocate(std::size_t count) noexcept {
    static_assert(sizeof(T) <= kBellBytes && alignof(T) <= alignof(std::max_align_t));
    SLUICE_ASSERT(count == 1);
    return reinterpret_cast<T*>(block);
  }
  void deallocate(T*, std::size_t) noexcept {}
  template <class U>
  bool operator==(const BellAllocator<U>& other) const noexcept {
    return block == other.block;
  }
};

}  // namespace

struct Event::Impl : std::enable_shared_from_this<Event::Impl> {
  explicit Impl(Executor on) : executor(std::move(on)) {
    if (const auto* target = executor.target<asio::io_context::executor_type>()) loop = *target;
  }

  /// Clears the flag and says whether it was set.
  bool take() noexcept {
    // Announced before looking: a set() that this look misses sees the announcement and rings (both are seq_cst).
    waiting.store(true);
    if (!set.exchange(false)) return false;
    if (waiters.empty()) {
      waiting.store(false);
    } else {
      while (internal::Waiter* waiter = waiters.pop()) waiter->post(true);
    }
    return true;
  }

  void ring() noexcept;
  void answer_bell() {
    posted.exchange(false);  // Before looking at the flag: a set() from here on rings again.
    if (waiters.empty()) {
      waiting.store(false);
      return;
    }
    if (!set.exchange(false)) return;
    waiting.store(false);
    // What the first one does may reach the others, so they are out of the list and on their way by then.
    internal::Waiter* first = waiters.pop();
    while (internal::Waiter* other = waiters.pop()) other->post(true);
    first->resume(true);
  }

  const Executor executor;
  std::optional<asio::io_context::executor_type> loop;
  std::atomic<bool> set{false};
  std::atomic<bool> waiting{false};  // Somebody may wait: set() must ring.
  std::atomic<bool> posted{false};   // A ring is on its way.
  internal::WaiterList waiters;      // Shard only.
  // Where the ring on its way lives: there is at most one, so ringing allocates nothing.
  alignas(std::max_align_t) std::byte bell[kBellBytes];
};

void Event::Impl::ring() noexcept {
  if (posted.exchange(true)) return;
  auto answer = [self = shared_from_this()] { self->answer_bell(); };
  if (loop) {
    const auto quiet = asio::require(*loop, asio::execution::blocking.never,
                                     asio::execution::allocator(BellAllocator<std::byte>(bell)));
    quiet.execute(std::move(answer));
  } else {
    asio::post(executor, std::move(answer));
  }
}

Event::Event(Executor executor) : impl_(std::make_shared<Impl>(std::move(executor))) {}
Event::~Event() {
  while (internal::Waiter* waiter = impl_->waiters.pop()) waiter->drop();
}

void Event::set() noexcept {
  // An exchange, not a look: whoever takes the flag must see what was written before this set().
  if (impl_->set.exchange(true)) return;
  if (impl_->waiting.load()) impl_->ring();
}

asio::awaitable<Status> Event::wait() {
  const std::shared_ptr<Impl> impl = impl_;
  const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  if (internal::cancelled(state)) co_return internal::stopped();
  if (impl->take()) co_return Status();
  internal::Waiter waiter;
  auto start = [impl = impl.get(), at = &waiter] {
    impl->waiters.push(at);
    at->on_cancel([impl, at] {
      if (impl->waiters.remove(at)) at->post(false);
    });
  };
  const bool woken = co_await internal::suspend(waiter, start);
  co_return woken ? Status() : internal::stopped();
}

}  // namespace sluice::io
