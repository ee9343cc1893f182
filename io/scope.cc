#include <sluice/io/scope.h>

#include <exception>
#include <list>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <sluice/io/base/assert.h>
#include <sluice/io/internal/waiter.h>

namespace sluice::io {
namespace {

Status out_of_memory() {
  return Status(Code::kRecover, "could not go on: out of memory; lower the memory budget, or give the process more");
}

}  // namespace

struct Scope::Impl {
  struct Child {
    asio::cancellation_signal signal;
    std::list<std::shared_ptr<Child>>::iterator place;
  };

  explicit Impl(Executor on) : executor(std::move(on)) {}

  [[nodiscard]] bool here() const {
    const auto* loop = executor.target<asio::io_context::executor_type>();
    return loop == nullptr || loop->running_in_this_thread() || std::this_thread::get_id() == maker;
  }
  void stop() {
    stopping = true;
    const std::vector<std::shared_ptr<Child>> asked(children.begin(), children.end());
    for (const auto& child : asked) child->signal.emit(asio::cancellation_type::total);
  }
  void ended(Child& child, Status status) {
    children.erase(child.place);
    if (!status.ok() && status.code() != Code::kCancelled && failure.ok()) {
      failure = std::move(status);
      stop();
    }
    if (children.empty() && joiner != nullptr) std::exchange(joiner, nullptr)->resume(true);
  }
  /// Not bind_cancellation_slot: with it asio 1.81 posts a cancellation that comes from outside of the loop, by a bare
  /// pointer into the child, which may be gone by then (clock_test, AStopBehindTheAdvanceComesTooLate).
  struct Ended {
    std::shared_ptr<Impl> impl;
    std::shared_ptr<Child> child;
    using cancellation_slot_type = asio::cancellation_slot;
    [[nodiscard]] cancellation_slot_type get_cancellation_slot() const noexcept { return child->signal.slot(); }
    void operator()(const std::exception_ptr&, Status status) { impl->ended(*child, std::move(status)); }
  };
  static asio::awaitable<Status> run(std::shared_ptr<Impl> impl, std::shared_ptr<Child> child,
                                     asio::awaitable<Status> work);

  const Executor executor;
  const std::thread::id maker = std::this_thread::get_id();  // May use the scope while the loop does not run yet.
  std::list<std::shared_ptr<Child>> children;
  internal::Waiter* joiner = nullptr;
  Status failure;
  bool stopping = false;
  bool joined = true;
};

asio::awaitable<Status> Scope::Impl::run(std::shared_ptr<Impl> impl, std::shared_ptr<Child> child,
                                         asio::awaitable<Status> work) {
  // By default asio lets only a terminal cancellation through, and throws at the next co_await; our waits report.
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await asio::this_coro::throw_if_cancelled(false);
  // From the loop: spawn() never runs the child, so its caller may not be ready for it yet.
  co_await asio::post(impl->executor, asio::deferred);
  // A stop() that came before the state was set up was filtered out.
  if (impl->stopping) child->signal.emit(asio::cancellation_type::total);
  std::exception_ptr thrown;
  try {
    Status status = co_await std::move(work);
    co_return status;
  } catch (...) {
    thrown = std::current_exception();
  }
  try {
    std::rethrow_exception(thrown);
  } catch (const boost::system::system_error& error) {
    if (impl->stopping && error.code() == asio::error::operation_aborted) co_return internal::stopped();
    co_return Status(Code::kInvalid, "a coroutine threw an exception:", error.what());
  } catch (const std::bad_alloc&) {
    co_return out_of_memory();
  } catch (const std::exception& error) {
    co_return Status(Code::kInvalid, "a coroutine threw an exception:", error.what());
  } catch (...) {
    co_return Status(Code::kInvalid, "a coroutine threw something that is not a std::exception");
  }
}

Scope::Scope(Executor executor) : impl_(std::make_shared<Impl>(std::move(executor))) {}
Scope::~Scope() { SLUICE_ASSERT(impl_->children.empty() && impl_->joined); }

void Scope::spawn(asio::awaitable<Status> child) {
  SLUICE_ASSERT(impl_->here());
  auto record = std::make_shared<Impl::Child>();
  record->place = impl_->children.insert(impl_->children.end(), record);
  impl_->joined = false;
  try {
    asio::co_spawn(impl_->executor, Impl::run(impl_, record, std::move(child)), Impl::Ended{impl_, record});
  } catch (const std::bad_alloc&) {  // It never began, so nobody else will say that it ended.
    impl_->ended(*record, out_of_memory());
  }
}

void Scope::stop() noexcept {
  SLUICE_ASSERT(impl_->here());
  impl_->stop();
}
bool Scope::stopping() const noexcept { return impl_->stopping; }

asio::awaitable<Status> Scope::join() {
  const std::shared_ptr<Impl> impl = impl_;
  SLUICE_ASSERT(impl->here() && impl->joiner == nullptr);
  const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  if (internal::cancelled(state)) impl->stop();
  if (!impl->children.empty()) {
    internal::Waiter waiter;
    auto start = [impl = impl.get(), at = &waiter] {
      impl->joiner = at;
      at->on_cancel([impl] { impl->stop(); });
    };
    (void)co_await internal::suspend(waiter, start);
  }
  impl->joined = true;
  co_return impl->failure;
}

}  // namespace sluice::io
