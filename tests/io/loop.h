#pragma once

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <sluice/io/base/status.h>
#include <sluice/io/executor.h>

namespace sluice::io {

/// A shard's loop on the test's own thread: nothing runs unless the test says so, so nothing needs to sleep.
class Loop {
 public:
  [[nodiscard]] Executor executor() { return context_.get_executor(); }
  [[nodiscard]] asio::io_context& context() { return context_; }

  /// Runs the loop until nothing is ready: every coroutine has ended or waits for something.
  void drain() {
    context_.restart();
    context_.poll();
  }
  /// Runs the loop until `work` has ended.
  template <class T>
  T run(asio::awaitable<T> work) {
    std::optional<T> result;
    std::exception_ptr thrown;
    asio::co_spawn(context_, keep(std::move(work), &result), [&thrown](std::exception_ptr error) { thrown = error; });
    context_.restart();
    while (!result && !thrown && context_.run_one() != 0) {
    }
    drain();
    if (thrown) std::rethrow_exception(thrown);
    return *std::move(result);
  }

 private:
  template <class T>
  static asio::awaitable<void> keep(asio::awaitable<T> work, std::optional<T>* into) {
    into->emplace(co_await std::move(work));
  }
  asio::io_context context_{1};
};

}  // namespace sluice::io
