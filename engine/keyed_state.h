#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/engine/internal/keyed_table.h>
#include <sluice/engine/state.h>
#include <sluice/engine/time_to_live.h>

namespace sluice {

/// State by key, as the runtime sees it. What an operator keeps is one of the containers below, by value, named in declare():
///
///     void declare(StateSet& states) override { states.add("counts", counts_); }
///     …  ++counts_[record.key];                     // in process()
///     ValueState<std::string, std::uint64_t> counts_;
///
/// Shard      its operator's, which gets the keys of its key groups only: key_by stands in front of it.
/// Units      none; TimeToLive in milliseconds of the time given to advance().
/// Errors     std::logic_error for a key of another shard (caught at the operator's boundary); restore: kCorrupt, kInvalid.
/// Ownership  references to values hold until the next key is inserted.
/// A container of your own that derives from it has to know what changed. The engine calls, at barrier N and in this order,
/// mark(N), and then save() or save_changes(), before the next batch; once checkpoint N is durable, confirm(N). When confirm(N) comes
/// behind mark(N + 1), N counts as not confirmed. A restore hands over what a save() made and then, in order, what save_changes()
/// did since, from each of the old shards.
class KeyedState : public State {
 public:
  /// The barrier of `epoch`: what changed before it belongs to it. Its cost does not grow with the state.
  virtual void mark(Epoch epoch) = 0;
  /// The checkpoint of `epoch` is durable. An epoch that never is becomes part of the next.
  virtual void confirm(Epoch epoch) = 0;
  /// What changed since the last mark that was confirmed, as it is now: right behind what was there then, and behind whatever
  /// was there at a mark since.
  virtual void save_changes(std::string& out) const = 0;
  /// Moves the time that a time-to-live is measured in.
  virtual void advance(EventTime) {}
  /// Where the event time stands of the record or timer in hand: a time-to-live is judged by that or by advance()'s, the later of the two.
  /// It outlives the state's use.
  virtual void follow(const EventTime*) {}
  [[nodiscard]] virtual std::size_t size() const noexcept = 0;
};

/// What all containers have, over a table of what they keep for a key.
template <class K, class Kept>
class KeyedStateOf : public KeyedState {
 public:
  static_assert(Encodable<K>, "the key needs a Codec: describe it with BOOST_DESCRIBE_STRUCT, or specialise sluice::Codec");
  static_assert(Encodable<Kept>, "the value needs a Codec: describe it with BOOST_DESCRIBE_STRUCT, or specialise sluice::Codec");

  bool erase(KeyArg<K> key) { return table_.erase(key); }
  void clear() { table_.clear(); }
  /// `visit(key, kept)` for every key; key group by key group, within one in no order to rely on.
  template <class F>
  void for_each(F&& visit) const {
    table_.for_each(visit);
  }

  /// State whose values were written as `Old` is taken too, each made by `make(const Old&) -> Kept`; call it before the state is
  /// declared: `counts_.migrate<std::uint32_t>([](std::uint32_t old) { return Count{.total = old}; })`.
  template <Encodable Old, class Make>
  void migrate(Make make) {
    std::string type = type_of<Old>(kind_);
    // The table is handed in: a function with its state is copied to every shard.
    auto run = [type, make = std::move(make)](Table& into, std::string_view bytes, const Context& context) -> Status {
      return into.template restore_as<Old>(bytes, type, context, [&](const Old& old) -> Kept { return make(old); });
    };
    migrations_.push_back({std::move(type), std::move(run)});
  }

  void open(const Context& context) final { table_.open(context); }
  [[nodiscard]] std::string type() const final { return type_; }
  [[nodiscard]] bool reads(const std::string& type) const final {
    return type == type_ || std::ranges::any_of(migrations_, [&](const Migration& one) { return one.from == type; });
  }
  void save(std::string& out) const final { table_.save(type_, out); }
  void save_changes(std::string& out) const final { table_.save_changes(type_, out); }
  [[nodiscard]] Status restore(std::string_view bytes, const Context& context) final {
    for (const Migration& one : migrations_) {
      if (internal::written_as(one.from, bytes)) return one.run(table_, bytes, context);
    }
    return table_.restore(bytes, type_, context);
  }
  void mark(Epoch epoch) final { table_.mark(epoch); }
  void confirm(Epoch epoch) final { table_.confirm(epoch); }
  void advance(EventTime now) final { table_.advance(now); }
  void follow(const EventTime* time) final { table_.follow(time); }
  [[nodiscard]] std::size_t size() const noexcept final { return table_.size(); }

 protected:
  KeyedStateOf(std::string kind, TimeToLive ttl) : table_(ttl), kind_(std::move(kind)), type_(type_of<Kept>(kind_)) {}
  using Table = internal::KeyedTable<K, Kept>;
  Table table_;

 private:
  struct Migration {
    std::string from;
    std::function<Status(Table&, std::string_view, const Context&)> run;
  };
  template <class Value>
  static std::string type_of(const std::string& kind) {
    return kind + "<" + Codec<K>::name() + "," + Codec<Value>::name() + ">";
  }
  const std::string kind_, type_;
  std::vector<Migration> migrations_;
};

/// One value a key.
template <class K, class V>
class ValueState final : public KeyedStateOf<K, V> {
 public:
  ValueState() : ValueState(TimeToLive()) {}
  /// Of another `kind` it is no state of this one, though the types are the same.
  explicit ValueState(TimeToLive ttl, std::string kind = "value") : KeyedStateOf<K, V>(std::move(kind), ttl) {}
  /// Made by V{} if there is none. Counts as changed.
  V& operator[](KeyArg<K> key) { return this->table_.at(key); }
  /// The same, and faster, for a key whose group is known: `counts_.in_group(record.key, record.group)` of a record behind key_by.
  /// Another group than the key's own loses it.
  V& in_group(KeyArg<K> key, KeyGroup group) { return this->table_.at(key, group); }
  void set(KeyArg<K> key, V value) { this->table_.at(key) = std::move(value); }
  [[nodiscard]] const V* find(KeyArg<K> key) { return this->table_.find(key); }
};

/// Values of a key in the order of their coming. (ListState is an operator's list, which has no key.)
template <class K, class V>
class KeyedListState final : public KeyedStateOf<K, std::vector<V>> {
 public:
  KeyedListState() : KeyedListState(TimeToLive()) {}
  explicit KeyedListState(TimeToLive ttl) : KeyedStateOf<K, std::vector<V>>("keyed_list", ttl) {}
  void add(KeyArg<K> key, V value) { this->table_.at(key).push_back(std::move(value)); }
  void set(KeyArg<K> key, std::vector<V> values) { this->table_.at(key) = std::move(values); }
  [[nodiscard]] const std::vector<V>* find(KeyArg<K> key) { return this->table_.find(key); }
};

/// A sorted map for each key, of window, time or whatever else has an order: ranges can be asked for, and what is emitted from it
/// comes in the same order every time. A change writes the whole map of its key: for many large ones put both keys into a ValueState.
template <class K, class InnerKey, class V>
class MapState final : public KeyedStateOf<K, std::map<InnerKey, V, std::less<>>> {
 public:
  using Map = std::map<InnerKey, V, std::less<>>;
  MapState() : MapState(TimeToLive()) {}
  explicit MapState(TimeToLive ttl) : KeyedStateOf<K, Map>("map", ttl) {}
  /// Made by V{} if there is none. Counts as changed.
  V& at(KeyArg<K> key, const InnerKey& inner) { return this->table_.at(key)[inner]; }
  void put(KeyArg<K> key, const InnerKey& inner, V value) { this->table_.at(key).insert_or_assign(inner, std::move(value)); }
  [[nodiscard]] const V* find(KeyArg<K> key, const InnerKey& inner) {
    const Map* map = this->table_.find(key);
    if (map == nullptr) return nullptr;
    const auto found = map->find(inner);
    return found == map->end() ? nullptr : &found->second;
  }
  [[nodiscard]] const Map* find(KeyArg<K> key) { return this->table_.find(key); }
  using KeyedStateOf<K, Map>::erase;
  /// A key whose map becomes empty goes too: nothing is kept for it.
  bool erase(KeyArg<K> key, const InnerKey& inner) {
    if (find(key, inner) == nullptr) return false;
    Map& map = *this->table_.change(key);
    map.erase(inner);
    if (map.empty()) this->table_.erase(key);
    return true;
  }
};

/// The values of a key made one by `reduce(V, V) -> V`; the first is taken as it is.
template <class K, class V, class Reduce>
class ReducingState final : public KeyedStateOf<K, V> {
 public:
  explicit ReducingState(Reduce reduce, TimeToLive ttl = {}) : KeyedStateOf<K, V>("reducing", ttl), reduce_(std::move(reduce)) {}
  const V& add(KeyArg<K> key, V value) {
    if (V* before = this->table_.change(key)) return *before = reduce_(std::move(*before), std::move(value));
    return this->table_.at(key) = std::move(value);
  }
  [[nodiscard]] const V* find(KeyArg<K> key) { return this->table_.find(key); }

 private:
  Reduce reduce_;
};

/// `struct Average { using Accumulator = …; void add(Accumulator&, double) const; double result(const Accumulator&) const; }`
template <class A>
concept Aggregate = std::default_initializable<typename A::Accumulator> &&
                    requires(const A& aggregate, const typename A::Accumulator& sum) { aggregate.result(sum); };

/// The values of a key in an accumulator of another type, which is all that is kept.
template <class K, Aggregate A>
class AggregatingState final : public KeyedStateOf<K, typename A::Accumulator> {
 public:
  using Accumulator = typename A::Accumulator;
  AggregatingState() : AggregatingState(A()) {}
  explicit AggregatingState(A aggregate, TimeToLive ttl = {})
      : KeyedStateOf<K, Accumulator>("aggregating", ttl), aggregate_(std::move(aggregate)) {}
  template <class Value>
  void add(KeyArg<K> key, Value&& value) {
    aggregate_.add(this->table_.at(key), std::forward<Value>(value));
  }
  [[nodiscard]] auto result(KeyArg<K> key) {
    using Made = decltype(aggregate_.result(std::declval<const Accumulator&>()));
    const Accumulator* sum = this->table_.find(key);
    return sum == nullptr ? std::optional<Made>() : std::optional<Made>(aggregate_.result(*sum));
  }

 private:
  A aggregate_;
};

}  // namespace sluice
