#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/post.hpp>

#include <sluice/io/base/assert.h>
#include <sluice/io/base/status.h>
#include <sluice/io/executor.h>

namespace sluice::internal {

inline bool cancelled(const asio::cancellation_state& state) noexcept {
  return state.cancelled() != asio::cancellation_type::none;
}
inline Status stopped() { return Status(Code::kCancelled, "asked to stop"); }

/// Posts by the shortest way: the loop itself where the executor is one, without type erasure.
template <class Function>
void post(const io::Executor& executor, Function function) {
  if (const auto* loop = executor.target<asio::io_context::executor_type>()) {
    asio::post(*loop, std::move(function));
  } else {
    asio::post(executor, std::move(function));
  }
}

/// One suspended coroutine, in the coroutine's own frame: it is resumed once, with an answer, and nothing is allocated.
///
/// The frame owns the waiter and the waiter owns the frame until somebody resumes, posts or drops it; whoever holds a
/// pointer to it must do one of these. After that call the waiter may be gone.
class Waiter {
 public:
  Waiter() = default;
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  ~Waiter() { SLUICE_ASSERT(finish_ == nullptr); }

  /// Resumes here and now: the caller runs on the coroutine's executor, from its loop.
  void resume(bool answer) { finish_(*this, How::kResume, answer); }
  /// Resumes from the loop of the coroutine's executor. Any thread.
  void post(bool answer) { finish_(*this, How::kPost, answer); }
  /// Destroys the coroutine, from the loop of its executor.
  void drop() { finish_(*this, How::kDrop, false); }
  /// Called on the coroutine's executor when it is asked to stop while it waits; may run after the answer was posted,
  /// so `ask` finds out under its own lock or list whether it is the first.
  template <class Ask>
  void on_cancel(Ask ask) {
    if (slot_.is_connected()) slot_.assign([ask](asio::cancellation_type_t) mutable { ask(); });
  }

  template <class Handler>
  void arm(Handler handler) {
    static_assert(sizeof(Handler) <= sizeof storage_ && alignof(Handler) <= alignof(std::max_align_t));
    slot_ = asio::get_associated_cancellation_slot(handler);
    ::new (static_cast<void*>(storage_)) Handler(std::move(handler));
    finish_ = &finish<Handler>;
  }

 private:
  friend class WaiterList;
  enum class How : unsigned char { kResume, kPost, kDrop };

  template <class Handler>
  static void finish(Waiter& waiter, How how, bool answer) {
    auto* held = std::launder(reinterpret_cast<Handler*>(waiter.storage_));
    Handler handler(std::move(*held));
    held->~Handler();
    waiter.finish_ = nullptr;
    if (how == How::kResume) {
      handler(answer);
    } else if (how == How::kPost) {
      const io::Executor executor = asio::get_associated_executor(handler);
      internal::post(executor, [handler = std::move(handler), answer]() mutable { handler(answer); });
    }
  }

  void (*finish_)(Waiter&, How, bool) = nullptr;
  asio::cancellation_slot slot_;
  Waiter* before_ = nullptr;
  Waiter* after_ = nullptr;
  bool listed_ = false;
  alignas(std::max_align_t) std::byte storage_[4 * sizeof(void*)];
};

/// `const bool answer = co_await suspend(waiter, start);` `start` runs once the coroutine is suspended; what it captures
/// is trivial (g++ 12), and its last act may hand the waiter to another thread.
template <class Start>
auto suspend(Waiter& waiter, Start start) {
  static_assert(std::is_trivially_copyable_v<Start>);
  return asio::async_initiate<const asio::deferred_t, void(bool)>(
      [at = &waiter](auto handler, Start begin) {
        at->arm(std::move(handler));
        begin();
      },
      asio::deferred, start);
}

/// Waiters in the order of their arrival; one thread.
class WaiterList {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  void push(Waiter* waiter) noexcept {
    waiter->before_ = last_;
    waiter->after_ = nullptr;
    waiter->listed_ = true;
    (last_ != nullptr ? last_->after_ : first_) = waiter;
    last_ = waiter;
  }
  /// False when it is not in the list (any more).
  bool remove(Waiter* waiter) noexcept {
    if (!waiter->listed_) return false;
    (waiter->before_ != nullptr ? waiter->before_->after_ : first_) = waiter->after_;
    (waiter->after_ != nullptr ? waiter->after_->before_ : last_) = waiter->before_;
    waiter->listed_ = false;
    return true;
  }
  Waiter* pop() noexcept {
    Waiter* waiter = first_;
    if (waiter != nullptr) remove(waiter);
    return waiter;
  }

 private:
  Waiter* first_ = nullptr;
  Waiter* last_ = nullptr;
};

}  // namespace sluice::internal
