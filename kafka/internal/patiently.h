#pragma once

#include <chrono>

#include <sluice/io/base/result.h>
#include <sluice/io/clock.h>

namespace sluice::kafka::internal {

inline const Status& status_of(const Status& status) noexcept { return status; }
template <class T>
const Status& status_of(const Result<T>& result) noexcept {
  return result.status();
}

/// Calls again while the answer is kRetry and the deadline has not come. `call` is no coroutine: it returns one, made anew each
/// time; what it captures by reference must outlive the wait, which it does where the caller awaits.
template <class Answer, class Call>
asio::awaitable<Answer> patiently(io::Clock& clock, io::Monotonic deadline, Call call,
                                  std::chrono::milliseconds pause = std::chrono::milliseconds(10)) {
  for (;;) {
    asio::awaitable<Answer> asked = call();
    Answer answer = co_await std::move(asked);
    if (status_of(answer).code() != Code::kRetry || clock.now() >= deadline) co_return answer;
    Status slept = co_await clock.sleep(pause);
    if (!slept.ok()) co_return slept;
  }
}

}  // namespace sluice::kafka::internal
