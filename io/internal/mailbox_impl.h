#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include <sluice/io/base/assert.h>
#include <sluice/io/event.h>
#include <sluice/io/internal/waiter.h>
#include <sluice/io/mailbox.h>

namespace sluice::internal {
inline constexpr std::size_t kCacheLineBytes = 64;
}  // namespace sluice::internal

namespace sluice::io {

/// A ring of one sender and one receiver.
///
/// A side that has to wait says so (`waits`), looks once more, and sleeps on its event; the other side moves its cursor
/// and then looks whether anybody waits. All four are seq_cst, so at least one sees the other and no wake-up is lost.
/// (Fences would do as well, but the thread sanitizer does not model them.)
template <class Message>
struct Mailbox<Message>::Impl {
  struct alignas(internal::kCacheLineBytes) Cursor {
    std::atomic<std::uint64_t> position{0};
    std::uint64_t seen = 0;  // The opposite cursor when its owner was last asked: most calls do not touch its line.
  };
  struct alignas(internal::kCacheLineBytes) Side {
    std::atomic<bool> waits{false};
    Event event;
    explicit Side(Executor executor) : event(std::move(executor)) {}
  };
  struct Slot {
    alignas(Message) std::byte bytes[sizeof(Message)];
    Message* message() noexcept { return std::launder(reinterpret_cast<Message*>(bytes)); }
  };

  explicit Impl(Options options)
      : capacity(options.capacity_messages),
        mask(capacity - 1),
        slots(std::make_unique<Slot[]>(capacity)),
        arrival(options.arrival),
        sender(std::move(options.from)),
        receiver(std::move(options.to)) {
    SLUICE_ASSERT(capacity >= 2 && capacity <= 65'536 && (capacity & mask) == 0);
  }
  ~Impl() {
    const std::uint64_t end = tail.position.load();
    for (std::uint64_t at = head.position.load(); at != end; ++at) slots[at & mask].message()->~Message();
  }

  bool push(Message& message) noexcept {  // Sender.
    const std::uint64_t at = tail.position.load(std::memory_order_relaxed);
    if (at - tail.seen == capacity) {
      tail.seen = head.position.load();
      if (at - tail.seen == capacity) return false;
    }
    ::new (static_cast<void*>(slots[at & mask].bytes)) Message(std::move(message));
    tail.position.store(at + 1);
    if (arrival != nullptr) {
      arrival->set();
    } else if (receiver.waits.load()) {
      receiver.event.set();
    }
    return true;
  }
  Message* front() noexcept {  // Receiver.
    const std::uint64_t at = head.position.load(std::memory_order_relaxed);
    if (at == head.seen) {
      head.seen = tail.position.load();
      if (at == head.seen) return nullptr;
    }
    return slots[at & mask].message();
  }
  void pop(Message* message) noexcept {  // Receiver, with what front() gave.
    message->~Message();
    const std::uint64_t at = head.position.load(std::memory_order_relaxed) + 1;
    head.position.store(at);
    // Not for one free slot: that would cost a sleep and a wake-up for every few messages. bench/mailbox_bench.cc.
    if (sender.waits.load() && tail.position.load() - at <= capacity / 2) sender.event.set();
  }

  const std::uint64_t capacity, mask;
  const std::unique_ptr<Slot[]> slots;
  Event* const arrival;
  std::atomic<bool> closed{false};
  Cursor tail;  // Written by the sender. Sharing a line costs more than the copy itself: bench/mailbox_bench.cc.
  Cursor head;  // Written by the receiver.
  Side sender, receiver;
};

template <class Message>
Mailbox<Message>::Mailbox(Options options) : impl_(std::make_shared<Impl>(std::move(options))) {}
template <class Message>
Mailbox<Message>::~Mailbox() = default;

template <class Message>
bool Mailbox<Message>::try_send(Message& message) {
  return !impl_->closed.load() && impl_->push(message);
}

template <class Message>
bool Mailbox<Message>::try_receive(Message& into) {
  Message* message = impl_->front();
  if (message == nullptr) return false;
  into = std::move(*message);
  impl_->pop(message);
  return true;
}

template <class Message>
bool Mailbox<Message>::empty() const noexcept {
  return impl_->front() == nullptr;
}

template <class Message>
bool Mailbox<Message>::closed() const noexcept {
  return impl_->closed.load();
}

template <class Message>
void Mailbox<Message>::close() noexcept {
  if (impl_->closed.exchange(true)) return;
  impl_->sender.event.set();
  (impl_->arrival != nullptr ? *impl_->arrival : impl_->receiver.event).set();
}

template <class Message>
asio::awaitable<Status> Mailbox<Message>::send(Message message) {
  const std::shared_ptr<Impl> impl = impl_;
  const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  if (internal::cancelled(state)) co_return internal::stopped();
  for (bool announced = false;; announced = true) {
    if (impl->closed.load()) co_return Status(Code::kCancelled, "the mailbox is closed");
    if (impl->push(message)) {
      if (announced) impl->sender.waits.store(false);
      co_return Status();
    }
    if (!announced) {
      impl->sender.waits.store(true);  // Then the look that decides.
      continue;
    }
    const Status woken = co_await impl->sender.event.wait();
    if (!woken.ok()) {
      impl->sender.waits.store(false);
      co_return woken;
    }
  }
}

template <class Message>
asio::awaitable<Result<Message>> Mailbox<Message>::receive() {
  const std::shared_ptr<Impl> impl = impl_;
  const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  if (internal::cancelled(state)) co_return internal::stopped();
  for (bool announced = false;; announced = true) {
    const bool closed = impl->closed.load();  // Before the look: what was sent before a close is in the ring by then.
    if (Message* message = impl->front()) {
      if (announced) impl->receiver.waits.store(false);
      Result<Message> received(std::move(*message));
      impl->pop(message);
      co_return received;
    }
    if (closed) co_return Status(Code::kCancelled, "the mailbox is closed");
    if (!announced) {
      impl->receiver.waits.store(true);
      continue;
    }
    Event& event = impl->arrival != nullptr ? *impl->arrival : impl->receiver.event;
    const Status woken = co_await event.wait();
    if (!woken.ok()) {
      impl->receiver.waits.store(false);
      co_return woken;
    }
  }
}

}  // namespace sluice::io
