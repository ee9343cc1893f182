#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include <sluice/engine/codec.h>
#include <sluice/engine/key_group.h>
#include <sluice/engine/windows/internal/kept_key.h>

namespace sluice::internal {

/// Key to value for a window's keys: one flat table while it is small, one for each key group when it has grown, so that no rehash
/// moves more than a part of it. (A window of few keys would pay more for 128 tables than for its records.)
///
/// Shard      its operator's.
/// Units      none.
/// Errors     none.
/// Ownership  pointers to values hold until the next key is put.
template <class Key, class V>
class GroupedTable {
 public:
  using Kept = typename KeptKey<Key>::Type;
  static_assert(Encodable<Kept>, "the key needs a Codec: describe it with BOOST_DESCRIBE_STRUCT (strings in it, no views), or "
                                 "specialise sluice::Codec");
  static constexpr std::size_t kSplitAt = std::size_t{1} << 17;  // A rehash of so many takes a few milliseconds.
  struct Put {
    V* value;
    bool made;
  };

  explicit GroupedTable(KeyGroups groups = KeyGroups()) : groups_(groups), maps_(1) {}

  /// The value of a key, made if there is none.
  [[gnu::always_inline]] Put put(const Key& key, KeyGroup group) {
    Map& map = maps_[group.value() >> shift_];
    const auto at = map.find(key);
    if (at != map.end()) [[likely]] return {&at->second, false};
    return grown(key, group, map);
  }
  Put put_kept(const Kept& kept) { return put(KeptKey<Key>::show(kept), group_where_split(kept)); }
  [[nodiscard]] V* find(const Key& key, KeyGroup group) {
    Map& map = maps_[group.value() >> shift_];
    const auto at = map.find(key);
    return at == map.end() ? nullptr : &at->second;
  }
  [[nodiscard]] V* find_kept(const Kept& kept) { return find(KeptKey<Key>::show(kept), group_where_split(kept)); }
  bool erase_kept(const Kept& kept) {
    Map& map = maps_[group_where_split(kept).value() >> shift_];
    const auto at = map.find(kept);
    if (at == map.end()) return false;
    map.erase(at);
    --size_;
    return true;
  }
  /// `visit(kept, value)`, if the key is there.
  template <class F>
  void visit(const Kept& kept, F&& visit) const {
    const Map& map = maps_[group_where_split(kept).value() >> shift_];
    if (const auto at = map.find(kept); at != map.end()) visit(at->first, at->second);
  }
  /// `visit(kept, value)`, in no order to rely on.
  template <class F>
  void for_each(F&& visit) {
    for (Map& map : maps_) {
      for (auto& [kept, value] : map) visit(kept, value);
    }
  }
  template <class F>
  void for_each(F&& visit) const {
    for (const Map& map : maps_) {
      for (const auto& [kept, value] : map) visit(kept, value);
    }
  }
  /// Those of the i-th part of parts() for which `over(kept, value)` go.
  [[nodiscard]] std::size_t parts() const noexcept { return maps_.size(); }
  [[nodiscard]] std::size_t part_of(KeyGroup group) const noexcept { return group.value() >> shift_; }
  template <class F>
  std::size_t erase_if(std::size_t part, F&& over) {
    const std::size_t gone = boost::unordered::erase_if(maps_[part], [&](auto& entry) { return over(entry.first, entry.second); });
    size_ -= gone;
    return gone;
  }
  /// Keeps its memory: the next window is likely to be as large.
  void clear() {
    for (Map& map : maps_) map.clear();
    size_ = 0;
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] KeyGroup group_of(const Kept& kept) const { return groups_.template of<Key>(KeptKey<Key>::show(kept)); }

 private:
  using Map = boost::unordered_flat_map<Kept, V, KeptHash<Key>, KeptEqual<Key>>;

  KeyGroup group_where_split(const Kept& kept) const { return shift_ == 0 ? group_of(kept) : KeyGroup(0); }
  [[gnu::noinline]] Put grown(const Key& key, KeyGroup group, Map& map) {
    V& value = map.try_emplace(KeptKey<Key>::keep(key)).first->second;
    if (++size_ < kSplitAt || shift_ == 0 || groups_.count() == 1) return {&value, true};
    split();
    return {find(key, group), true};
  }
  void split() {
    std::vector<Map> parts(groups_.count());
    for (auto& [kept, value] : maps_[0]) parts[group_of(kept).value()].try_emplace(kept, std::move(value));
    maps_ = std::move(parts);
    shift_ = 0;
  }

  KeyGroups groups_;
  std::vector<Map> maps_;
  unsigned shift_ = 16;  // 16: all key groups in one table; 0: each has its own.
  std::size_t size_ = 0;
};

}  // namespace sluice::internal
