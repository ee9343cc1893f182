#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/engine/internal/group_snapshot.h>
#include <sluice/engine/keyed_state.h>
#include <sluice/engine/windows/internal/grouped_table.h>
#include <sluice/engine/windows/internal/group_entries.h>
#include <sluice/engine/windows/window.h>

namespace sluice::internal {

template <class Acc>
struct OpenSession {
  Window bounds;
  Acc sum{};
};

/// The sessions of a key: the latest here, which nearly all keys have alone; others in a list beside the table.
template <class Acc>
struct SessionCell {
  Window bounds{};  // Empty: none is open.
  Acc sum{};
  EventTime closed = EventTime::min();  // The end of the last one that has spoken: nothing may reach below it.
  EventTime due = EventTime::max();     // When the queue hands the key out.
  std::uint32_t more = 0;               // A place in the list, from 1.
  std::uint32_t changed = 0;            // In which generation (between two marks) last.
  [[nodiscard]] bool open() const noexcept { return bounds.start != bounds.end; }
};

/// Sessions by key, and the watermark that their operator has seen. Sessions and keys go by the watermark alone: a restored operator
/// drops them too, and no snapshot has to say that one is gone.
///
/// Shard, Units, Errors   as SliceState's.
/// Ownership  pointers to cells hold until the next key is put.
template <class Key, class Acc>
class SessionState final : public KeyedState {
 public:
  using Cell = SessionCell<Acc>;
  using Table = GroupedTable<Key, Cell>;
  using Kept = typename Table::Kept;
  using Sessions = std::vector<OpenSession<Acc>>;
  static_assert(Encodable<Acc>, "what is kept for a key needs a Codec: describe it with BOOST_DESCRIBE_STRUCT, or specialise "
                                "sluice::Codec");

  explicit SessionState(const std::string& windows)
      : type_("windows<" + windows + "," + Codec<Kept>::name() + "," + Codec<Acc>::name() + ">") {}

  EventTime watermark = kNoEventTime;
  Table table;

  /// All open sessions of a cell, by start; the cell has none then.
  [[nodiscard]] Sessions take(Cell& cell) {
    Sessions all;
    if (cell.more != 0) {
      all = std::move(lists_[cell.more - 1]);
      lists_[cell.more - 1].clear();
      free_.push_back(std::exchange(cell.more, 0));
    }
    if (cell.open()) all.push_back({std::exchange(cell.bounds, {}), std::exchange(cell.sum, Acc{})});
    return all;
  }
  /// Those but the latest.
  [[nodiscard]] const Sessions& others(const Cell& cell) const { return lists_[cell.more - 1]; }
  [[nodiscard]] Sessions& others(Cell& cell) { return lists_[cell.more - 1]; }
  /// By start; requires: the cell has none.
  void put(Cell& cell, Sessions all) {
    if (all.empty()) return;
    cell.bounds = all.back().bounds;
    cell.sum = std::move(all.back().sum);
    all.pop_back();
    if (all.empty()) return;
    if (free_.empty()) {
      lists_.emplace_back();
      free_.push_back(static_cast<std::uint32_t>(lists_.size()));
    }
    cell.more = free_.back();
    free_.pop_back();
    lists_[cell.more - 1] = std::move(all);
  }

  /// Whatever is done to a cell but what the watermark does.
  [[gnu::always_inline]] void touch(Cell& cell, const Key& key) {
    if (cell.changed == generation_) [[likely]] return;
    cell.changed = generation_;
    note(key);
  }

  /// From here on changes are told as a whole: sessions have gone before the time that a restore will know of.
  void tell_all() noexcept { erases_ = true; }

  void open(const Context& context) override {
    owner_ = {context.key_groups, context.shard, context.parallelism};
    table = Table(owner_.groups);
  }
  [[nodiscard]] std::string type() const override { return type_; }
  void mark(Epoch epoch) override {
    changes_.mark();
    marked_ = epoch;
    if (++generation_ == 0) generation_ = 1;  // 0: not changed since it was restored.
  }
  void confirm(Epoch epoch) override {
    if (epoch == marked_) changes_.confirm();
  }
  void save(std::string& out) const override { write(out, Written::kAll); }
  void save_changes(std::string& out) const override { write(out, erases_ ? Written::kAllAgain : Written::kChanges); }
  [[nodiscard]] Status restore(std::string_view bytes, const Context& context) override {
    Result<GroupSnapshot> snapshot = read_groups(bytes, header(false), context);
    if (!snapshot.ok()) return std::move(snapshot).status();
    watermark = std::max(watermark, snapshot->now);
    const GroupSet replaced(*snapshot, owner_.groups);
    if (!replaced.empty()) replaced.erase_from(table);
    for (const GroupBlock& block : snapshot->blocks) {
      for (std::string_view in = block.bytes; !in.empty();) {
        if (!read(in, block.group)) return unreadable(context, block.group);
      }
    }
    return {};
  }
  void advance(EventTime) override {}
  /// Keys, with those that have no open session any more but must not get one that overlaps the last.
  [[nodiscard]] std::size_t size() const noexcept override { return table.size(); }

 private:
  [[nodiscard]] GroupHeader header(bool changes) const { return {owner_.groups, type_, changes, false, watermark}; }
  [[gnu::noinline]] void note(const Key& key) { changes_.note(key, table.size()); }
  void write(std::string& out, Written what) const {
    using Entry = std::pair<const Kept*, const Cell*>;
    GroupEntries<Entry> entries(owner_, what);
    const auto add = [&](const Kept& kept, const Cell& cell) { entries.add(table.group_of(kept), {&kept, &cell}); };
    if (what != Written::kChanges || changes_.all()) {
      table.for_each(add);
    } else {
      changes_.for_each([&](const Kept& kept) { table.visit(kept, add); });
    }
    entries.write(header(what == Written::kChanges), out, [&](const std::vector<Entry>& all) {
      for (const auto& [kept, cell] : all) write_key(*kept, *cell, out);
    });
  }
  static void write_session(const Window& bounds, const Acc& sum, std::string& out) {
    Codec<Window>::write(bounds, out);
    Codec<Acc>::write(sum, out);
  }
  void write_key(const Kept& kept, const Cell& cell, std::string& out) const {
    Codec<Kept>::write(kept, out);
    Codec<EventTime>::write(cell.closed, out);
    const Sessions* const list = cell.more == 0 ? nullptr : &lists_[cell.more - 1];
    Codec<std::uint32_t>::write(static_cast<std::uint32_t>((list ? list->size() : 0) + (cell.open() ? 1 : 0)), out);
    if (list != nullptr) {
      for (const OpenSession<Acc>& one : *list) write_session(one.bounds, one.sum, out);
    }
    if (cell.open()) write_session(cell.bounds, cell.sum, out);
  }
  bool read(std::string_view& in, KeyGroup group) {
    Kept kept{};
    EventTime closed{};
    std::uint32_t count = 0;
    if (!Codec<Kept>::read(in, kept) || !Codec<EventTime>::read(in, closed) || !Codec<std::uint32_t>::read(in, count)) return false;
    Sessions all;
    for (; count > 0; --count) {
      OpenSession<Acc> one;
      if (!Codec<Window>::read(in, one.bounds) || !Codec<Acc>::read(in, one.sum)) return false;
      if (one.bounds.start >= one.bounds.end) return false;
      all.push_back(std::move(one));
    }
    Cell& cell = *table.put(KeptKey<Key>::show(kept), group).value;
    (void)take(cell);  // A later snapshot says all of a key anew.
    cell.closed = closed;
    put(cell, std::move(all));
    return true;
  }

  const std::string type_;
  bool erases_ = false;
  GroupOwner owner_;
  Changes<Kept> changes_;
  std::uint32_t generation_ = 1;
  Epoch marked_;
  std::vector<Sessions> lists_;
  std::vector<std::uint32_t> free_;
};

}  // namespace sluice::internal
