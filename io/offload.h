#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>

#include <sluice/io/executor.h>

namespace sluice::io {

/// One thread for calls that block, so that a shard never does. Calls run one at a time, in order.
///
/// Shard      offload() from any; the caller resumes on its own executor.
/// Errors     none of its own. The call is not interrupted by a cancellation: give it slices.
/// Ownership  the destructor runs what was queued, then joins the thread.
///
///     io::OffloadThread thread("producer");
///     auto slice = [rk] { return rd_kafka_commit_transaction(rk, 200); };   // named: g++ 12 destroys an unnamed
///     auto* error = co_await io::offload(thread, std::move(slice));         // capture in co_await twice
class OffloadThread {
 public:
  explicit OffloadThread(std::string name);
  OffloadThread(const OffloadThread&) = delete;
  OffloadThread& operator=(const OffloadThread&) = delete;
  ~OffloadThread();
  void post(std::function<void()> work);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

template <class Work>
[[nodiscard]] asio::awaitable<std::invoke_result_t<Work&>> offload(OffloadThread& thread, Work work);

}  // namespace sluice::io

#include <sluice/io/internal/offload_impl.h>  // IWYU pragma: export
