#pragma once

#include <type_traits>
#include <utility>

#include <sluice/io/internal/apart.h>

namespace sluice::internal {

template <class Work>
auto call_there(Work* work) -> std::invoke_result_t<Work&> {
  co_return co_await (*work)();
}
template <class Work>
auto run_on(io::Executor there, Work work) -> std::invoke_result_t<Work&> {
  // `work` stays in this frame, so what it captured outlives the coroutine that it returns.
  co_return co_await apart(std::move(there), call_there(&work));
}

}  // namespace sluice::internal

namespace sluice::io {

template <class Work>
auto run_on(Executor there, Work work) -> std::invoke_result_t<Work&> {
  return internal::run_on(std::move(there), std::move(work));
}

}  // namespace sluice::io
