#pragma once

#include <sluice/io/base/result.h>
#include <sluice/io/clock.h>

#include <chrono>

namespace sluice::kafka::internal {

inline const Status& status_of(const Status& status) noexcept { return status; }
template <class T>
const Status& status_of(const Result<T>& result) noexcept {
  return result.status();
}

/// Calls again while the answer is kRetry and `patience` is not over, or nobody answers and the
/// deadline has not come: a client may give up on a broker at once that has its first coordinator
/// to make, or is being started again. `call` is no coroutine: it returns one, made anew each time;
/// what it captures by reference must outlive the wait, which it does where the caller awaits.
template <class Answer, class Call>
asio::awaitable<Answer> patiently(io::Clock& clock, io::Monotonic deadline, io::Monotonic patience,
                                  Call call) {
  constexpr std::chrono::milliseconds kPause(10);
  for (;;) {
    asio::awaitable<Answer> asked = call();
    Answer answer = co_await std::move(asked);
    const Status& status = status_of(answer);
    const bool silence = status.exit_status() == ExitStatus::kUnavailable;
    if (!silence && status.code() != Code::kRetry) co_return answer;
    if (clock.now() >= (silence ? deadline : patience)) co_return answer;
    Status slept = co_await clock.sleep(kPause);
    if (!slept.ok()) co_return slept;
  }
}
template <class Answer, class Call>
asio::awaitable<Answer> patiently(io::Clock& clock, io::Monotonic deadline, Call call) {
  return patiently<Answer>(clock, deadline, deadline, std::move(call));
}

}  // namespace sluice::kafka::internal
