#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include <sluice/io/base/result.h>
#include <sluice/io/executor.h>

namespace sluice::internal {

/// Runs `work` to its end; what user code in it throws (and a failed allocation anywhere) becomes
/// kRecover with `where` in its message, so that scopes and handles on the way out are taken down in
/// order. `T`: Status or a Result.
template <class T>
[[nodiscard]] asio::awaitable<T> caught(asio::awaitable<T> work, std::string where) {
  std::string thrown;
  try {
    T ended = co_await std::move(work);
    co_return ended;
  } catch (const std::exception& error) {
    thrown = error.what();
  } catch (...) {
    thrown = "something that is no std::exception";
  }
  co_return Status(Code::kRecover, where, "threw:", thrown);
}

}  // namespace sluice::internal
