#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <sluice/engine/internal/group_snapshot.h>
#include <sluice/engine/windows/internal/grouped_table.h>

/// What the states of windows have in common: which keys changed since a barrier, and entries put in the order of their key groups.
namespace sluice::internal {

/// The keys of a table that changed: since the last mark, and before it but not durable yet. A list that would be longer than half
/// of the table gives way to "all of it".
template <class Kept>
class Changes {
 public:
  template <class Key>
  void note(const Key& key, std::size_t table_size) {
    if (all_) return;
    since_.push_back(KeptKey<Key>::keep(key));
    if (since_.size() > 64 + table_size / 2) {
      all_ = true;
      since_.clear();
    }
  }
  void mark() {
    unconfirmed_all_ |= std::exchange(all_, false);
    if (unconfirmed_.empty()) {
      unconfirmed_.swap(since_);
    } else {  // An epoch that failed is part of the next.
      unconfirmed_.insert(unconfirmed_.end(), std::make_move_iterator(since_.begin()), std::make_move_iterator(since_.end()));
      since_.clear();
    }
  }
  void confirm() {
    unconfirmed_.clear();
    unconfirmed_all_ = false;
  }
  [[nodiscard]] bool all() const noexcept { return all_ || unconfirmed_all_; }
  template <class F>
  void for_each(F&& visit) const {
    for (const Kept& kept : unconfirmed_) visit(kept);
    for (const Kept& kept : since_) visit(kept);
  }

 private:
  std::vector<Kept> since_, unconfirmed_;
  bool all_ = false, unconfirmed_all_ = false;
};

struct GroupOwner {
  KeyGroups groups;
  ShardId shard;
  std::uint16_t shards = 1;
};

/// All there is; what changed; or all there is in place of what a restore has read before.
enum class Written : std::uint8_t { kAll, kChanges, kAllAgain };

template <class Entry>
class GroupEntries {
 public:
  GroupEntries(const GroupOwner& owner, Written what) : owner_(owner), what_(what), groups_(owner.groups.count()) {}
  void add(KeyGroup group, Entry entry) { groups_[group.value()].push_back(entry); }
  /// A block for each group that has entries, or may have had some: `write(entries)` appends to `out`.
  template <class F>
  void write(const GroupHeader& header, std::string& out, F&& write) const {
    std::uint16_t blocks = 0;
    for (std::uint16_t i = 0; i < groups_.size(); ++i) blocks = static_cast<std::uint16_t>(blocks + (told(i) ? 1 : 0));
    GroupWriter writer(out, header, blocks);
    for (std::uint16_t i = 0; i < groups_.size(); ++i) {
      if (!told(i)) continue;
      writer.begin(KeyGroup(i), what_ != Written::kChanges, groups_[i].size());
      write(groups_[i]);
      writer.end();
    }
    writer.finish();
  }

 private:
  [[nodiscard]] bool told(std::uint16_t group) const {
    return !groups_[group].empty() ||
           (what_ == Written::kAllAgain && owner_.groups.owner(KeyGroup(group), owner_.shards) == owner_.shard);
  }
  const GroupOwner owner_;
  const Written what_;
  std::vector<std::vector<Entry>> groups_;
};

/// The groups of which a snapshot says all.
class GroupSet {
 public:
  GroupSet(const GroupSnapshot& snapshot, KeyGroups groups) : in_(groups.count(), false) {
    for (const GroupBlock& block : snapshot.blocks) {
      if (block.whole) in_[block.group.value()] = any_ = true;
    }
  }
  [[nodiscard]] bool empty() const noexcept { return !any_; }
  /// What was read of them before goes.
  template <class Table>
  void erase_from(Table& table) const {
    if (table.size() == 0) return;
    for (std::size_t part = 0; part < table.parts(); ++part) {
      table.erase_if(part, [&](const auto& kept, const auto&) { return in_[table.group_of(kept).value()]; });
    }
  }

 private:
  std::vector<bool> in_;
  bool any_ = false;
};

}  // namespace sluice::internal
