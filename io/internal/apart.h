#pragma once

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include <sluice/io/internal/waiter.h>

namespace sluice::internal {

/// Runs `work` on `there` as a coroutine of its own, with no tie to the caller's cancellation, and waits for its end.
/// The caller's state is left alone, so a request to stop that arrives meanwhile is still there behind the wait.
template <class T>
asio::awaitable<T> apart(io::Executor there, asio::awaitable<T> work) {
  struct Call {  // In this frame, which stays until the work has ended.
    asio::awaitable<T> work;
    const io::Executor there;
    Waiter waiter;
    std::exception_ptr thrown;
    std::conditional_t<std::is_void_v<T>, char, std::optional<T>> result{};

    Call(asio::awaitable<T>&& what, io::Executor&& where) : work(std::move(what)), there(std::move(where)) {}
    static asio::awaitable<void> run(Call* call) {
      if constexpr (std::is_void_v<T>) {
        co_await std::move(call->work);
      } else {
        call->result.emplace(co_await std::move(call->work));
      }
    }
  };
  // A caller outside of a Scope may have asio throw once it is cancelled; not in the middle of this.
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  Call call(std::move(work), std::move(there));
  auto start = [at = &call] {
    auto ended = [at](std::exception_ptr error) {
      at->thrown = std::move(error);
      at->waiter.post(true);
    };
    asio::co_spawn(at->there, Call::run(at), std::move(ended));  // A handler without a slot: nothing cancels it.
  };
  (void)co_await suspend(call.waiter, start);
  co_await asio::this_coro::throw_if_cancelled(throws);
  if (call.thrown) std::rethrow_exception(call.thrown);
  if constexpr (!std::is_void_v<T>) co_return *std::move(call.result);
}

}  // namespace sluice::internal
