#pragma once

#include <utility>

#include <boost/asio/this_coro.hpp>

#include <sluice/io/internal/apart.h>

namespace sluice::io {

template <class T>
asio::awaitable<T> shield(asio::awaitable<T> work) {
  // Not by reset_cancellation_state(): a reset forgets the request that arrived before or during the work, and the
  // next wait would sleep through a stop (tests/io/scope_test.cc).
  const Executor here = co_await asio::this_coro::executor;
  if constexpr (std::is_void_v<T>) {
    co_await internal::apart(here, std::move(work));
  } else {
    T result = co_await internal::apart(here, std::move(work));
    co_return result;
  }
}

}  // namespace sluice::io
