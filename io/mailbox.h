#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

#include <sluice/io/base/id.h>
#include <sluice/io/base/result.h>
#include <sluice/io/executor.h>

namespace sluice::io {

class Event;

/// A bounded lane of messages from one shard to another (or to itself), and the only thing two shards share.
///
/// A sender waits while the lane is full, so a slow operator slows those before it instead of filling memory.
/// Barriers and watermarks travel in the same lane as records, so none of them overtakes another.
///
/// Shard      send() on the sending shard, receive() on the receiving one, close() on either; one coroutine each at a time.
/// Units      capacity counts messages; what one message may weigh is the caller's to bound.
/// Errors     kCancelled once closed or asked to stop (total). Nothing else fails, nothing throws.
/// Ownership  held by shared_ptr on both sides; the last one drops what was not received.
///
///     auto lane = std::make_shared<Mailbox<Order>>(Mailbox<Order>::Options{.from = …, .to = …});
///     const Status sent = co_await lane->send(std::move(order));     // on the sending shard
///     Result<Order> next = co_await lane->receive();                 // on the receiving shard
template <class Message>
class Mailbox {
  static_assert(std::is_nothrow_move_constructible_v<Message>, "a throwing move would lose a message");

 public:
  struct Options {
    Executor from, to;                     ///< executors of the sending and the receiving shard
    std::uint32_t capacity_messages = 64;  ///< a power of two, 2 to 65,536
    /// Set whenever a message arrives or the lane closes, so that one coroutine waits for any of several lanes (wait,
    /// then try_receive from each). On the receiving shard's executor; outlives the lane. Null: receive() only.
    Event* arrival = nullptr;
  };
  explicit Mailbox(Options options);
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;
  ~Mailbox();

  /// Waits while the lane is full, and then until half of it is free. On kCancelled the message was not sent.
  [[nodiscard]] asio::awaitable<Status> send(Message message);
  /// False when the lane is full or closed; `message` is then untouched. Never waits.
  [[nodiscard]] bool try_send(Message& message);
  /// Waits while the lane is empty. After close(): first everything sent before, then kCancelled.
  [[nodiscard]] asio::awaitable<Result<Message>> receive();
  /// Takes what is there; false when empty. Never waits.
  [[nodiscard]] bool try_receive(Message& into);
  [[nodiscard]] bool empty() const noexcept;  ///< receiving shard
  /// Ask before try_receive(): true, then nothing received, means that nothing will come.
  [[nodiscard]] bool closed() const noexcept;
  /// Wakes both sides. Idempotent, either shard.
  void close() noexcept;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace sluice::io

#include <sluice/io/internal/mailbox_impl.h>  // IWYU pragma: export
