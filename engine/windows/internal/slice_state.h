#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/engine/keyed_state.h>
#include <sluice/engine/windows/internal/grouped_table.h>
#include <sluice/engine/windows/internal/group_entries.h>
#include <sluice/engine/windows/window.h>

namespace sluice::internal {

/// A stretch of event time that all windows share that it is in, and what is kept of it for each key.
template <class Key, class Cell>
struct Slice {
  struct Slot {
    Cell cell{};
    std::uint32_t changed = 0;  // In which generation (between two marks) last.
  };
  using Table = GroupedTable<Key, Slot>;
  using Kept = typename Table::Kept;

  Window bounds;
  Table table;
  Changes<Kept> changes{};
  bool counted = false;  ///< in what is carried from one window to the next

  /// `visit(kept, cell)`
  template <class F>
  void for_each(F&& visit) {
    table.for_each([&](const Kept& kept, Slot& slot) { visit(kept, slot.cell); });
  }
  template <class F>
  void for_each(F&& visit) const {
    table.for_each([&](const Kept& kept, const Slot& slot) { visit(kept, slot.cell); });
  }
};

/// The slices of an operator, and the watermark it has seen: without it a restored operator would answer an old window again.
/// Slices are dropped by the watermark alone, so a restored operator drops them too and no snapshot has to say that one is gone.
///
/// Shard      its operator's.
/// Units      none.
/// Errors     restore: as read_groups.
/// Ownership  pointers to slices hold until they are dropped.
template <class Key, class Cell>
class SliceState final : public KeyedState {
 public:
  using One = Slice<Key, Cell>;
  using Slot = typename One::Slot;
  using Kept = typename One::Kept;
  static_assert(Encodable<Cell>, "what is kept for a key needs a Codec: describe it with BOOST_DESCRIBE_STRUCT, or specialise "
                                 "sluice::Codec");

  /// `windows`: what they are, as part of the type: slices of other windows cannot be used. `erases`: single keys go too, so changes
  /// are always told as a whole.
  explicit SliceState(const std::string& windows, bool erases = false)
      : type_("windows<" + windows + "," + Codec<Kept>::name() + "," + Codec<Cell>::name() + ">"), erases_(erases) {}

  EventTime watermark = kNoEventTime;

  /// By start.
  [[nodiscard]] const std::vector<std::unique_ptr<One>>& slices() const noexcept { return slices_; }
  /// `made` says whether it is new.
  One& at(const Window& bounds, bool& made) {
    // Nearly always the last or the one before.
    auto at = slices_.end();
    while (at != slices_.begin() && (*(at - 1))->bounds.start > bounds.start) --at;
    made = at == slices_.begin() || (*(at - 1))->bounds.start != bounds.start;
    if (!made) return **(at - 1);
    return **slices_.insert(at, take(bounds));
  }
  /// The cell of a key, made if there is none; it counts as changed.
  struct Put {
    Cell* cell;
    bool made;
  };
  [[gnu::always_inline]] Put put(One& slice, const Key& key, KeyGroup group) {
    const auto [slot, made] = slice.table.put(key, group);
    if (slot->changed != generation_) [[unlikely]] {
      slot->changed = generation_;
      note(slice, key);
    }
    return {&slot->cell, made};
  }
  /// Those for which `over(slice)`.
  template <class F>
  void drop_if(F&& over) {
    std::erase_if(slices_, [&](std::unique_ptr<One>& slice) {
      if (!over(*slice)) return false;
      slice->table.clear();
      slice->changes = {};
      slice->counted = false;
      if (spare_.size() < kSpare) spare_.push_back(std::move(slice));
      return true;
    });
  }

  /// From here on changes are told as a whole: slices have gone before the time that a restore will know of.
  void tell_all() noexcept { erases_ = true; }

  void open(const Context& context) override { context_ = {context.key_groups, context.shard, context.parallelism}; }
  [[nodiscard]] std::string type() const override { return type_; }
  void mark(Epoch epoch) override {
    for (const auto& slice : slices_) slice->changes.mark();
    marked_ = epoch;
    if (++generation_ == 0) generation_ = 1;  // 0: not changed since it was restored.
  }
  void confirm(Epoch epoch) override {
    if (epoch != marked_) return;
    for (const auto& slice : slices_) slice->changes.confirm();
  }
  void save(std::string& out) const override { write(out, Written::kAll); }
  void save_changes(std::string& out) const override { write(out, erases_ ? Written::kAllAgain : Written::kChanges); }
  [[nodiscard]] Status restore(std::string_view bytes, const Context& context) override {
    Result<GroupSnapshot> snapshot = read_groups(bytes, header(false), context);
    if (!snapshot.ok()) return std::move(snapshot).status();
    watermark = std::max(watermark, snapshot->now);
    const GroupSet replaced(*snapshot, context_.groups);
    if (!replaced.empty()) {
      for (const auto& slice : slices_) replaced.erase_from(slice->table);
    }
    for (const GroupBlock& block : snapshot->blocks) {
      for (std::string_view in = block.bytes; !in.empty();) {
        if (!read_slice(in, block.group)) return unreadable(context, block.group);
      }
    }
    return {};
  }
  void advance(EventTime) override {}
  /// Keys, in each slice.
  [[nodiscard]] std::size_t size() const noexcept override {
    std::size_t size = 0;
    for (const auto& slice : slices_) size += slice->table.size();
    return size;
  }

 private:
  static constexpr std::size_t kSpare = 2;
  [[nodiscard]] GroupHeader header(bool changes) const { return {context_.groups, type_, changes, false, watermark}; }
  [[gnu::noinline]] void note(One& slice, const Key& key) { slice.changes.note(key, slice.table.size()); }
  std::unique_ptr<One> take(const Window& bounds) {
    if (spare_.empty()) return std::make_unique<One>(One{bounds, typename One::Table(context_.groups)});
    std::unique_ptr<One> slice = std::move(spare_.back());
    spare_.pop_back();
    slice->bounds = bounds;
    return slice;
  }
  void write(std::string& out, Written what) const {
    struct Entry {
      const One* slice;
      const Kept* kept;
      const Cell* cell;
    };
    GroupEntries<Entry> entries(context_, what);
    for (const auto& slice : slices_) {
      const One& one = *slice;
      const auto add = [&](const Kept& kept, const Slot& slot) { entries.add(one.table.group_of(kept), {&one, &kept, &slot.cell}); };
      if (what != Written::kChanges || one.changes.all()) {
        one.table.for_each(add);
      } else {
        one.changes.for_each([&](const Kept& kept) { one.table.visit(kept, add); });
      }
    }
    entries.write(header(what == Written::kChanges), out, [&](const std::vector<Entry>& all) {
      for (std::size_t first = 0; first < all.size();) {
        std::size_t last = first;
        while (last < all.size() && all[last].slice == all[first].slice) ++last;
        Codec<Window>::write(all[first].slice->bounds, out);
        Codec<std::uint64_t>::write(last - first, out);
        for (; first < last; ++first) {
          Codec<Kept>::write(*all[first].kept, out);
          Codec<Cell>::write(*all[first].cell, out);
        }
      }
    });
  }
  bool read_slice(std::string_view& in, KeyGroup group) {
    Window bounds;
    std::uint64_t count = 0;
    if (!Codec<Window>::read(in, bounds) || !Codec<std::uint64_t>::read(in, count) || count == 0) return false;
    bool made = false;
    One& slice = at(bounds, made);
    for (; count > 0; --count) {
      Kept kept{};
      Cell cell{};
      if (!Codec<Kept>::read(in, kept) || !Codec<Cell>::read(in, cell)) return false;
      slice.table.put(KeptKey<Key>::show(kept), group).value->cell = std::move(cell);
    }
    return true;
  }

  const std::string type_;
  bool erases_;
  GroupOwner context_;
  std::uint32_t generation_ = 1;
  Epoch marked_;
  std::vector<std::unique_ptr<One>> slices_, spare_;
};

}  // namespace sluice::internal
