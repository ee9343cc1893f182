#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include <sluice/engine/joins/internal/join_state.h>

namespace sluice::internal {

/// What a stream of R says of a key: R itself, or nothing (the key goes) where it is an optional without a value.
template <class R>
struct TableValueOf {
  using Type = R;
};
template <class V>
struct TableValueOf<std::optional<V>> {
  using Type = V;
};
template <class R>
using TableValue = typename TableValueOf<R>::Type;
template <class R>
[[nodiscard]] const R* table_value(const R& row) noexcept { return &row; }
template <class V>
[[nodiscard]] const V* table_value(const std::optional<V>& row) noexcept { return row ? &*row : nullptr; }

/// A key's row of the table, or the rows that wait for it.
template <class L, class V>
struct WaitingSlot {
  std::optional<V> value;
  std::vector<std::pair<EventTime, L>> waiting;
};

template <class K, class L, class V>
class WaitingState final : public KeyedStateOf<K, WaitingSlot<L, V>> {
 public:
  static_assert(Encodable<L> && Encodable<V>, "both sides' records are kept, so they need a Codec: describe them with "
                                              "BOOST_DESCRIBE_STRUCT. Views of a batch's bytes cannot be kept: map them to std::string");
  explicit WaitingState(std::string kind) : KeyedStateOf<K, WaitingSlot<L, V>>(std::move(kind), {}) {}
  WaitingSlot<L, V>& at(KeyArg<K> key, KeyGroup group) { return this->table_.at(key, group); }
  [[nodiscard]] const WaitingSlot<L, V>* find(KeyArg<K> key) { return this->table_.find(key); }
};

/// A table that is the same on every shard, and goes into a checkpoint once.
template <class K, class V>
class BroadcastTable final : public State {
 public:
  static_assert(Encodable<K> && Encodable<V>, "the table's keys and rows are kept, so they need a Codec: describe them with "
                                              "BOOST_DESCRIBE_STRUCT. Views of a batch's bytes cannot be kept: map them to std::string");
  explicit BroadcastTable(std::string kind = "broadcast") : kind_(std::move(kind)) {}
  [[nodiscard]] const V* find(KeyArg<K> key) const {
    const auto found = rows_.find(key);
    return found == rows_.end() ? nullptr : &found->second;
  }
  void set(KeyArg<K> key, const V& value) {
    const auto found = rows_.find(key);
    if (found != rows_.end()) {
      found->second = value;
    } else {
      rows_.emplace(K(key), value);
    }
  }
  void erase(KeyArg<K> key) {
    const auto found = rows_.find(key);
    if (found != rows_.end()) rows_.erase(found);
  }
  [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }

  void open(const Context& context) override { writes_ = context.shard == ShardId(0); }
  std::string type() const override { return kind_ + "<" + Codec<K>::name() + "," + Codec<V>::name() + ">"; }
  void save(std::string& out) const override {
    if (!writes_) return;
    for (const auto& [key, value] : rows_) {
      Codec<K>::write(key, out);
      Codec<V>::write(value, out);
    }
  }
  Status restore(std::string_view bytes, const Context& context) override {
    while (!bytes.empty()) {
      K key{};
      V value{};
      const std::size_t before = bytes.size();
      if (!Codec<K>::read(bytes, key) || !Codec<V>::read(bytes, value) || bytes.size() == before) {
        return Status(Code::kCorrupt, "the table of operator", context.operator_id,
                      "ends in the middle of a row; restore an older checkpoint");
      }
      rows_.insert_or_assign(std::move(key), std::move(value));
    }
    return {};
  }

 private:
  const std::string kind_;
  boost::unordered_flat_map<K, V, TableHash<K>, std::equal_to<>> rows_{0, TableHash<K>{table_seed()}};
  bool writes_ = true;
};

class LookupLimits {
 public:
  LookupLimits(std::string what, const LookupOptions& options)
      : what_(std::move(what)), table_{"table_rows_max", options.table_rows_max}, waiting_{"waiting_rows_max", options.waiting_rows_max} {}
  void open(const Context& context) {
    id_ = context.operator_id;
    shard_ = context.shard;
  }
  [[nodiscard]] Status check_table(std::uint64_t rows) { return rows < table_.warn_at ? Status() : full(table_, rows); }
  [[nodiscard]] Status check_waiting(std::uint64_t rows) { return rows < waiting_.warn_at ? Status() : full(waiting_, rows); }

 private:
  struct Limit {
    const char* name;
    std::uint64_t max;
    std::uint64_t warn_at = max - max / 5;
  };
  [[nodiscard]] Status full(Limit& limit, std::uint64_t rows);
  std::string what_, id_;
  ShardId shard_;
  Limit table_, waiting_;
};

}  // namespace sluice::internal

namespace sluice {

template <class L, class V>
struct Codec<internal::WaitingSlot<L, V>> {
  using Waiting = std::vector<std::pair<EventTime, L>>;
  static std::string name() { return "waiting<" + Codec<std::optional<V>>::name() + "," + Codec<Waiting>::name() + ">"; }
  static void write(const internal::WaitingSlot<L, V>& slot, std::string& out) {
    Codec<std::optional<V>>::write(slot.value, out);
    Codec<Waiting>::write(slot.waiting, out);
  }
  static bool read(std::string_view& in, internal::WaitingSlot<L, V>& slot) {
    return Codec<std::optional<V>>::read(in, slot.value) && Codec<Waiting>::read(in, slot.waiting);
  }
};

}  // namespace sluice
