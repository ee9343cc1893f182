#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <sluice/engine/carry.h>
#include <sluice/engine/context.h>
#include <sluice/engine/internal/operator_tail.h>
#include <sluice/engine/internal/tail.h>
#include <sluice/engine/key_group.h>
#include <sluice/engine/keyed.h>

namespace sluice::internal {

/// The ways to all shards, by shard.
template <class T>
using Ports = std::vector<std::unique_ptr<Tail<T>>>;

/// The sending end of an exchange: what stands between batches goes to every shard, batches where push() says.
template <class T, class Out>
class ExchangeTail : public FanTail<T, Out> {
 protected:
  ExchangeTail(const Context& context, Ports<Out> ports) : FanTail<T, Out>(std::move(ports)), here_(context.shard.value()) {}
  /// Shards share no memory that is in use; where nothing crosses there is nothing to copy.
  [[nodiscard]] bool crosses(std::size_t port) const noexcept { return port != here_; }

  const std::size_t here_;
};

/// The batch as it may go to another shard: in memory of its own.
template <class T>
[[nodiscard]] Batch<T> carried(Batch<T> batch, bool crosses) {
  batch.set_split(nullptr);
  if constexpr (Carried<T>) {
    if (crosses) {
      Batch<T> out;
      out.records() = std::move(batch.records());
      out.times() = std::move(batch.times());
      std::size_t bytes = 0;
      for (const T& record : out) bytes += Carry<T>::bytes(record);
      if (bytes == 0) return out;
      auto arena = std::make_shared<Arena>(bytes);
      for (T& record : out.records()) Carry<T>::into(record, *arena);
      out.own(arena, arena->bytes());
      return out;
    }
  }
  return batch;
}

/// Records go where the group of their key lives. Order among those that go the same way is kept.
template <class T, class F>
class KeyByTail final : public ExchangeTail<T, Keyed<std::decay_t<std::invoke_result_t<F&, const T&>>, T>> {
 public:
  using Key = std::decay_t<std::invoke_result_t<F&, const T&>>;
  using Out = Keyed<Key, T>;
  KeyByTail(Context context, F key, Ports<Out> ports)
      : ExchangeTail<T, Out>(context, std::move(ports)), context_(std::move(context)), key_(std::move(key)) {
    for (std::uint16_t group = 0; group < context_.key_groups.count(); ++group) {
      port_of_.push_back(context_.key_groups.owner(KeyGroup(group), context_.parallelism).value());
    }
    parts_.resize(this->tails_.size());
  }

  asio::awaitable<Status> push(Batch<T> batch) override {
    auto call = [&] {
      if constexpr (!kKeepKeys) {
        if (parts_.size() == 1) {
          parts_[0].out = together(batch);
          return Status();
        }
      }
      if constexpr (!kKeepKeys && !Carried<Out>) {
        spread(batch);
      } else {
        route(batch);
        scatter(batch);
      }
      return Status();
    };
    Status scattered = guarded(context_.operator_id, call);
    if (!scattered.ok()) co_return scattered;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      Batch<Out> out = std::exchange(parts_[i].out, {});
      if (out.empty()) continue;
      Status pushed = co_await this->tails_[i]->push(std::move(out));
      if (!pushed.ok()) co_return pushed;
    }
    co_return Status();
  }

 private:
  /// A key that is a view may be one of bytes that its record owns: they move with it, and are gone with a copy of it. So it is kept
  /// apart, but for a Record, all of whose bytes are the batch's.
  static constexpr bool kKeepKeys = (std::same_as<Key, std::string_view> || std::same_as<Key, Bytes>) && !std::same_as<T, Record>;

  /// What one shard gets of a batch.
  struct Part {
    Batch<Out> out;
    std::size_t records = 0, bytes = 0, key_bytes = 0;
    Arena* arena = nullptr;
    Arena* keys = nullptr;
  };

  /// All go the one way there is, and stay on this shard.
  [[nodiscard]] Batch<Out> together(Batch<T>& batch) {
    Batch<Out> out;
    out.inherit(batch);
    out.set_split(nullptr);
    out.records().reserve(batch.size());
    for (T& record : batch.records()) {
      Key key = std::invoke(key_, std::as_const(record));
      const KeyGroup group = context_.key_groups.template of<Key>(key);
      out.records().push_back(Out{std::move(key), std::move(record), group});
    }
    out.times() = std::move(batch.times());
    return out;
  }
  /// Nothing to be copied but the records themselves: it is enough to go over them once.
  void spread(Batch<T>& batch) {
    const bool timed = !batch.times().empty();
    const std::size_t share = batch.size() / parts_.size(), room = std::min(share + share / 4 + 16, batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      T& record = batch.records()[i];
      Key key = std::invoke(key_, std::as_const(record));
      const KeyGroup group = context_.key_groups.template of<Key>(key);
      Batch<Out>& out = parts_[port_of_[group.value()]].out;
      if (out.empty()) [[unlikely]] {
        out.inherit(batch);
        out.set_split(nullptr);
        out.records().reserve(room);
        if (timed) out.times().reserve(room);
      }
      out.records().push_back(Out{std::move(key), std::move(record), group});
      if (timed) out.times().push_back(batch.times()[i]);
    }
  }
  void route(const Batch<T>& batch) {
    for (Part& part : parts_) part = {};
    keys_.clear();
    groups_.clear();
    for (const T& record : batch) {
      keys_.push_back(std::invoke(key_, record));
      const KeyGroup group = context_.key_groups.of<Key>(keys_.back());
      groups_.push_back(group);
      Part& part = parts_[port_of_[group.value()]];
      ++part.records;
      if constexpr (Carried<Out>) part.bytes += Carry<Out>::bytes(keys_.back(), record);
      if constexpr (kKeepKeys) part.key_bytes += keys_.back().size();
    }
  }
  void scatter(Batch<T>& batch) {
    const bool timed = !batch.times().empty();
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      Part& part = parts_[i];
      if (part.records == 0) continue;
      part.out.records().reserve(part.records);
      if (timed) part.out.times().reserve(part.records);
      if (!Carried<Out> || !this->crosses(i)) {
        part.out.inherit(batch);
        part.out.set_split(nullptr);
        if (!kKeepKeys || part.key_bytes == 0) continue;
        auto arena = std::make_shared<Arena>(part.key_bytes);
        part.keys = arena.get();
        part.out.own(std::move(arena), part.key_bytes);
      } else {
        part.arena = &none_;
        if (part.bytes == 0) continue;
        auto arena = std::make_shared<Arena>(part.bytes);
        part.arena = part.keys = arena.get();
        part.out.own(std::move(arena), part.bytes);
      }
    }
    for (std::size_t i = 0; i < batch.size(); ++i) {
      Part& part = parts_[port_of_[groups_[i].value()]];
      if constexpr (kKeepKeys) keep(keys_[i], part.keys);
      part.out.records().push_back(Out{std::move(keys_[i]), std::move(batch.records()[i]), groups_[i]});
      if (timed) part.out.times().push_back(batch.times()[i]);
      if constexpr (Carried<Out>) {
        if (part.arena == nullptr) continue;
        if constexpr (kKeepKeys) {
          Carry<T>::into(part.out.records().back().value, *part.arena);
        } else {
          Carry<Out>::into(part.out.records().back(), *part.arena);
        }
      }
    }
  }
  static void keep(Key& key, Arena* arena)
    requires kKeepKeys
  {
    if (key.data() == nullptr) return;  // A null key stays one.
    key = key.size() == 0 ? Key("", 0) : Key(arena->copy({key.data(), key.size()}));
  }

  const Context context_;
  F key_;
  std::vector<std::uint16_t> port_of_;  // By group.
  // Of the batch that is being spread; kept, so that a batch allocates what leaves with it and nothing else.
  std::vector<Key> keys_;
  std::vector<KeyGroup> groups_;
  std::vector<Part> parts_;
  Arena none_;  // For records without bytes of their own.
};

/// Whole batches go round the shards, the first to this one.
template <class T>
class RebalanceTail final : public ExchangeTail<T, T> {
 public:
  RebalanceTail(const Context& context, Ports<T> ports)
      : ExchangeTail<T, T>(context, std::move(ports)), next_(this->here_) {}
  asio::awaitable<Status> push(Batch<T> batch) override {
    const std::size_t to = std::exchange(next_, (next_ + 1) % this->tails_.size());
    Batch<T> out = carried(std::move(batch), this->crosses(to));
    Status pushed = co_await this->tails_[to]->push(std::move(out));
    co_return pushed;
  }

 private:
  std::size_t next_;
};

/// Every shard gets every batch.
template <class T>
class BroadcastTail final : public ExchangeTail<T, T> {
 public:
  BroadcastTail(const Context& context, Ports<T> ports) : ExchangeTail<T, T>(context, std::move(ports)) {}
  asio::awaitable<Status> push(Batch<T> batch) override {
    for (std::size_t i = 0; i < this->tails_.size(); ++i) {
      Batch<T> copy = i + 1 < this->tails_.size() ? batch : std::move(batch);
      Batch<T> out = carried(std::move(copy), this->crosses(i));
      Status pushed = co_await this->tails_[i]->push(std::move(out));
      if (!pushed.ok()) co_return pushed;
    }
    co_return Status();
  }
};

}  // namespace sluice::internal
