#pragma once

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include <sluice/io/internal/waiter.h>
#include <sluice/io/offload.h>

namespace sluice::io {

template <class Work>
asio::awaitable<std::invoke_result_t<Work&>> offload(OffloadThread& thread, Work work) {
  using Outcome = std::invoke_result_t<Work&>;
  struct Call {  // In this frame, which stays until the thread has answered: no allocation, nothing to share.
    Work work;
    internal::Waiter waiter;
    std::exception_ptr thrown;
    std::conditional_t<std::is_void_v<Outcome>, char, std::optional<Outcome>> outcome{};
    explicit Call(Work&& what) : work(std::move(what)) {}
  };
  Call call(std::move(work));
  auto start = [thread = &thread, at = &call] {
    thread->post([at] {
      try {
        if constexpr (std::is_void_v<Outcome>) {
          at->work();
        } else {
          at->outcome.emplace(at->work());
        }
      } catch (...) {
        at->thrown = std::current_exception();
      }
      at->waiter.post(true);
    });
  };
  (void)co_await internal::suspend(call.waiter, start);
  if (call.thrown) std::rethrow_exception(call.thrown);
  if constexpr (!std::is_void_v<Outcome>) co_return *std::move(call.outcome);
}

}  // namespace sluice::io
