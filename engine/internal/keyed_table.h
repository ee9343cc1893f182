#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include <sluice/engine/internal/group_snapshot.h>
#include <sluice/engine/time_to_live.h>

namespace sluice::internal {

template <class K>
struct TableHash {
  using is_avalanching = void;  // What KeyHash gives needs no second mixing.
  using is_transparent = void;
  std::uint64_t seed;
  std::size_t operator()(KeyArg<K> key) const { return KeyHash<std::remove_cvref_t<KeyArg<K>>>::hash(key, seed); }
  std::size_t operator()(const K& key) const requires(!std::same_as<KeyArg<K>, const K&>) {
    return KeyHash<K>::hash(key, seed);
  }
};

/// A table for each key group, so that a rehash touches a 128th of the keys; each entry knows in which generation (between two
/// marks) it was changed last, each table which keys were.
///
/// Shard      its operator's.
/// Units      time-to-live in ticks of 1 ms, or of a 2^20th of the time-to-live where that is longer.
/// Errors     std::logic_error for a key of another shard; restore: as read_groups.
/// Ownership  references and pointers to values hold until the next key is inserted.
template <class K, class V>
class KeyedTable {
 public:
  explicit KeyedTable(TimeToLive ttl) : ttl_(ttl), tick_(std::max<EventDuration>(ttl.after / (1 << 20), EventDuration(1))) {
    SLUICE_ASSERT(ttl.after >= EventDuration::zero());
    ttl_ticks_ = static_cast<std::uint32_t>((ttl.after + tick_ - EventDuration(1)) / tick_);
    lay_out(KeyGroups());
  }

  void open(const Context& context) {
    shard_ = context.shard;
    shards_ = context.parallelism;
    if (context.key_groups == groups_) return;
    SLUICE_ASSERT(size() == 0);
    lay_out(context.key_groups);
  }

  /// The value, made if there is none; it counts as changed.
  V& at(KeyArg<K> key) { return at(key, groups_.of(key)); }
  /// The same where the key's group is known. To find it takes little, but all that follows waits for it: bench/state_bench.cc.
  V& at(KeyArg<K> key, KeyGroup group) {
    Segment& segment = segments_[group.value()];
    const auto found = segment.map.find(key);
    look();
    if (found == segment.map.end()) [[unlikely]] return insert(segment, key);
    Cell& cell = found->second;
    if (gone(cell)) [[unlikely]] cell = Cell{.value = V{}, .changed = cell.changed, .touched = looked_ticks_};
    touch(segment, found->first, cell);
    return cell.value;
  }
  /// The value, counted as changed, or null.
  V* change(KeyArg<K> key) {
    Segment& segment = segment_of(key);
    const auto found = segment.map.find(key);
    look();
    if (found == segment.map.end() || gone(found->second)) return nullptr;
    touch(segment, found->first, found->second);
    return &found->second.value;
  }
  const V* find(KeyArg<K> key) {
    Segment& segment = segment_of(key);
    const auto found = segment.map.find(key);
    look();
    if (found == segment.map.end() || gone(found->second)) return nullptr;
    // Its time is state too: without the mark it would be older behind a restore.
    if (ttl_.refresh == TimeToLive::Refresh::kRead && age(looked_ticks_, found->second) > 0) {
      touch(segment, found->first, found->second);
    }
    return &found->second.value;
  }
  bool erase(KeyArg<K> key) {
    Segment& segment = segment_of(key);
    const auto found = segment.map.find(key);
    if (found == segment.map.end()) return false;
    look();
    const bool there = !gone(found->second);
    if (found->second.changed != generation_) note(segment, found->first);
    segment.map.erase(found);
    return there;
  }
  void clear() {
    for (Segment& segment : segments_) {
      if (segment.map.empty()) continue;
      segment.map.clear();
      note_all(segment);
    }
  }
  template <class F>
  void for_each(F&& visit) const {
    for (const Segment& segment : segments_) {
      for (const auto& [key, cell] : segment.map) {
        if (!expired(cell)) visit(key, cell.value);
      }
    }
  }
  /// Entries, with those that have expired and not been swept yet.
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t size = 0;
    for (const Segment& segment : segments_) size += segment.map.size();
    return size;
  }
  [[nodiscard]] const TimeToLive& time_to_live() const noexcept { return ttl_; }

  /// Where the time stands of the record or timer in hand (kNoEventTime: it has none). What is looked at then is judged, and stamped, by it
  /// or by advance()'s, whichever is later: so it does not hang on when a watermark comes between two records.
  void follow(const EventTime* time) noexcept { followed_ = time; }
  /// Moves the time that time-to-live is measured in, and sweeps: every table once in a time-to-live, one at a time.
  void advance(EventTime now) {
    // The end of time is no time: a watermark behind the last record expires nothing.
    if (ttl_ticks_ == 0 || now <= now_ || now == EventTime::max()) return;
    const EventTime before = now_;
    if (before != kNoEventTime && now - before >= kFarTicks * tick_) leap(ticks(farthest()), ticks(now));
    now_ = now;
    now_ticks_ = ticks(now);
    looked_ = EventTime::max();
    if (before == kNoEventTime && std::exchange(timeless_, false)) touch_all();
    if (before == kNoEventTime || now - before >= ttl_.after + tick_) {
      for (Segment& segment : segments_) sweep(segment);
      swept_until_ = now;
      return;
    }
    const EventDuration share = std::max<EventDuration>(ttl_.after / groups_.count(), EventDuration(1));
    for (std::size_t swept = 0; now - swept_until_ >= share && swept < segments_.size(); ++swept) {
      sweep(segments_[next_sweep_]);
      next_sweep_ = (next_sweep_ + 1) % segments_.size();
      swept_until_ += share;
    }
    if (now - swept_until_ >= share) swept_until_ = now;  // All were swept.
  }

  /// A barrier: what changed before it belongs to `epoch`. Costs a pass over the tables, not over their entries.
  void mark(Epoch epoch) {
    for (Segment& segment : segments_) {
      segment.unconfirmed_all |= segment.changed_all;
      segment.changed_all = false;
      if (segment.unconfirmed.empty()) {
        segment.unconfirmed.swap(segment.changed);
      } else if (!segment.changed.empty()) {  // An epoch that failed is part of the next.
        std::ranges::move(segment.changed, std::back_inserter(segment.unconfirmed));
        segment.changed.clear();
      }
    }
    marked_ = epoch;
    if (++generation_ == 0) generation_ = 1;  // 0: not changed since it was restored.
  }
  /// What was marked is durable. With a later mark in between, everything stays marked until that one is confirmed.
  void confirm(Epoch epoch) {
    if (epoch != marked_) return;
    for (Segment& segment : segments_) {
      segment.unconfirmed.clear();
      segment.unconfirmed_all = false;
    }
  }

  void save(const std::string& type, std::string& out) const {
    const auto some = std::ranges::count_if(segments_, [](const Segment& segment) { return !segment.map.empty(); });
    GroupWriter writer(out, header(type, false), static_cast<std::uint16_t>(some));
    for (std::uint16_t i = 0; i < segments_.size(); ++i) {
      if (segments_[i].map.empty()) continue;
      writer.begin(KeyGroup(i), true, segments_[i].map.size());
      write_all(segments_[i], out);
      writer.end();
    }
    writer.finish();
  }
  /// What changed and is not confirmed, as it is now: to be called at the barrier, before the next batch.
  void save_changes(const std::string& type, std::string& out) const {
    const auto some = std::ranges::count_if(segments_, [](const Segment& segment) { return segment.dirty(); });
    GroupWriter writer(out, header(type, true), static_cast<std::uint16_t>(some));
    for (std::uint16_t i = 0; i < segments_.size(); ++i) {
      const Segment& segment = segments_[i];
      if (!segment.dirty()) continue;
      const bool all = segment.changed_all || segment.unconfirmed_all;
      writer.begin(KeyGroup(i), all, segment.map.size());
      if (all) {
        write_all(segment, out);
      } else {
        for (const K& key : segment.unconfirmed) write_change(segment, key, out);
        for (const K& key : segment.changed) write_change(segment, key, out);
      }
      writer.end();
    }
    writer.finish();
  }
  [[nodiscard]] Status restore(std::string_view bytes, const std::string& type, const Context& context) {
    return restore_as<V>(bytes, type, context, [](V&& value) -> V&& { return std::move(value); });
  }
  /// From values that were written as `Old`, each made a V by `make`.
  template <class Old, class Make>
  [[nodiscard]] Status restore_as(std::string_view bytes, const std::string& type, const Context& context, const Make& make) {
    Result<GroupSnapshot> snapshot = read_groups(bytes, header(type, false), context);
    if (!snapshot.ok()) return std::move(snapshot).status();
    if (ttl_ticks_ != 0 && snapshot->now > now_) {
      const bool first = now_ == kNoEventTime;
      now_ = swept_until_ = snapshot->now;
      now_ticks_ = ticks(now_);
      looked_ = EventTime::max();
      if (first && std::exchange(timeless_, false)) touch_all();  // As advance() did: its changes do not say so.
    }
    for (const GroupBlock& block : snapshot->blocks) {
      Segment& segment = segments_[block.group.value()];
      if (block.whole) {
        segment.map.clear();
        segment.map.reserve(std::min<std::uint64_t>(block.entries, block.bytes.size()));  // Each has a byte at least.
      }
      for (std::string_view in = block.bytes; !in.empty();) {
        if (!read_entry<Old>(segment, in, !block.whole, snapshot->timed, make)) return unreadable(context, block.group);
      }
    }
    return {};
  }

 private:
  struct Cell {
    V value{};
    std::uint32_t changed = 0;  // Generation.
    std::uint32_t touched = 0;  // Ticks, modulo 2^32.
  };
  using Map = boost::unordered_flat_map<K, Cell, TableHash<K>, std::equal_to<>>;
  struct alignas(64) Segment {  // The table in one line of the cache: an update reads that, a group and an entry.
    explicit Segment(std::uint64_t seed) : map(0, TableHash<K>{seed}) {}
    [[nodiscard]] bool dirty() const noexcept {
      return changed_all || unconfirmed_all || !changed.empty() || !unconfirmed.empty();
    }
    Map map;
    std::vector<K> changed, unconfirmed;  // Keys: since the mark, and before it.
    bool changed_all = false, unconfirmed_all = false;
  };
  static_assert(sizeof(Map) <= 64);
  static constexpr std::int64_t kFarTicks = std::int64_t{1} << 30;

  void lay_out(KeyGroups groups) {
    groups_ = groups;
    segments_.clear();
    segments_.reserve(groups.count());
    for (std::uint16_t i = 0; i < groups.count(); ++i) segments_.emplace_back(table_seed());
  }
  Segment& segment_of(KeyArg<K> key) { return segments_[groups_.of(key).value()]; }

  V& insert(Segment& segment, KeyArg<K> key) {
    const KeyGroup group(static_cast<std::uint16_t>(&segment - segments_.data()));
    if (groups_.owner(group, shards_) != shard_) {
      throw std::logic_error(fmt::format("shard {} of {} was given a key of key group {}, which is another shard's: put "
                                         "key_by in front of the operator, with the key that its state is kept by",
                                         shard_, shards_, group));
    }
    const auto inserted = segment.map.try_emplace(K(key)).first;
    inserted->second.touched = looked_ticks_;
    touch(segment, inserted->first, inserted->second);
    return inserted->second.value;
  }
  /// What was written before there was a time is as old as the first.
  void touch_all() {
    for (Segment& segment : segments_) {
      for (auto& [key, cell] : segment.map) cell.touched = now_ticks_;
    }
  }
  void touch(Segment& segment, const K& key, Cell& cell) {
    if (age(looked_ticks_, cell) > 0) cell.touched = looked_ticks_;  // A late record does not make it older.
    if (cell.changed == generation_) return;
    cell.changed = generation_;
    note(segment, key);
  }
  void note(Segment& segment, const K& key) {
    if (segment.changed_all) return;
    segment.changed.push_back(key);
    // From here on a list would cost more than the table: an epoch's list is bounded, whatever comes and goes in it.
    if (segment.changed.size() > 64 + segment.map.size() / 2) note_all(segment);
  }
  void note_all(Segment& segment) {
    segment.changed_all = true;
    segment.changed.clear();
  }

  [[nodiscard]] std::uint32_t ticks(EventTime time) const noexcept {
    return static_cast<std::uint32_t>(time.time_since_epoch() / tick_);
  }
  /// Ticks since it was used; below 0 where a record was ahead of advance().
  [[nodiscard]] static std::int32_t age(std::uint32_t at, const Cell& cell) noexcept { return static_cast<std::int32_t>(at - cell.touched); }
  /// By advance()'s time, and by that of the record in hand.
  [[nodiscard]] bool expired(const Cell& cell) const noexcept {
    return ttl_ticks_ != 0 && age(now_ticks_, cell) >= static_cast<std::int32_t>(ttl_ticks_);
  }
  [[nodiscard]] bool gone(const Cell& cell) const noexcept {
    return ttl_ticks_ != 0 && age(looked_ticks_, cell) >= static_cast<std::int32_t>(ttl_ticks_);
  }
  void look() noexcept {
    if (ttl_ticks_ != 0) look_at(followed_ == nullptr || *followed_ == EventTime::max() ? now_ : std::max(*followed_, now_));
  }
  void look_at(EventTime time) noexcept {
    if (time == looked_) return;
    looked_ = time;
    if (time == kNoEventTime) {
      timeless_ = true;
      looked_ticks_ = now_ticks_;
    } else {
      looked_ticks_ = ticks(now_ == kNoEventTime ? time : std::min(time, farthest()));
    }
  }
  /// Stamps are ticks modulo 2^32: none may be further ahead than this, or it would look old.
  [[nodiscard]] EventTime farthest() const noexcept { return now_ + kFarTicks * tick_; }
  /// Time moves so far that ages cannot be told by ticks: what was stamped with the farthest tick is as new as can be, the rest is too old.
  void leap(std::uint32_t farthest, std::uint32_t now) {
    for (Segment& segment : segments_) {
      boost::unordered::erase_if(segment.map, [&](auto& entry) {
        if (entry.second.changed != generation_) note(segment, entry.first);
        entry.second.changed = generation_;
        if (entry.second.touched != farthest) return true;
        entry.second.touched = now;
        return false;
      });
    }
  }
  void sweep(Segment& segment) {
    boost::unordered::erase_if(segment.map, [&](const auto& entry) {
      if (!expired(entry.second)) return false;
      if (entry.second.changed != generation_) note(segment, entry.first);
      return true;
    });
  }

  [[nodiscard]] GroupHeader header(const std::string& type, bool changes) const {
    return {groups_, type, changes, ttl_ticks_ != 0, now_};
  }
  /// When it was used last; kNoEventTime when there was no time then.
  [[nodiscard]] EventTime stamp(const Cell& cell) const noexcept {
    if (now_ != kNoEventTime) return now_ - age(now_ticks_, cell) * tick_;
    if (timeless_ || looked_ == EventTime::max()) return kNoEventTime;
    return looked_ - age(looked_ticks_, cell) * tick_;
  }
  void write_entry(const K& key, const Cell& cell, std::string& out) const {
    Codec<K>::write(key, out);
    if (ttl_ticks_ != 0) Codec<EventTime>::write(stamp(cell), out);
    Codec<V>::write(cell.value, out);
  }
  void write_all(const Segment& segment, std::string& out) const {
    for (const auto& [key, cell] : segment.map) {
      if (!expired(cell)) write_entry(key, cell, out);
    }
  }
  void write_change(const Segment& segment, const K& key, std::string& out) const {
    const auto found = segment.map.find(key);
    const bool there = found != segment.map.end() && !expired(found->second);
    Codec<bool>::write(there, out);
    if (there) {
      write_entry(key, found->second, out);
    } else {
      Codec<K>::write(key, out);
    }
  }
  template <class Old, class Make>
  [[nodiscard]] bool read_entry(Segment& segment, std::string_view& in, bool change, bool timed, const Make& make) {
    K key{};
    Old value{};
    bool there = true;
    const std::size_t before = in.size();
    if (change && !Codec<bool>::read(in, there)) return false;
    if (!Codec<K>::read(in, key)) return false;
    if (!there) {
      segment.map.erase(key);
      return true;
    }
    EventTime touched = kNoEventTime;
    if (timed && !Codec<EventTime>::read(in, touched)) return false;
    if (!Codec<Old>::read(in, value) || in.size() == before) return false;
    Cell cell;
    cell.value = make(std::move(value));
    cell.touched = touched == kNoEventTime ? now_ticks_ : ticks(touched);
    if (now_ == kNoEventTime && ttl_ticks_ != 0) {
      if (touched == kNoEventTime) timeless_ = true;
      else look_at(touched);
    }
    // Too old for a time-to-live that has become shorter: in ticks it might look young.
    if (ttl_ticks_ != 0 && touched != kNoEventTime && now_ != kNoEventTime && now_ - touched >= ttl_.after) {
      segment.map.erase(key);
    } else {
      segment.map.insert_or_assign(std::move(key), std::move(cell));
    }
    return true;
  }

  const TimeToLive ttl_;
  const EventDuration tick_;
  std::uint32_t ttl_ticks_ = 0;  // 0: for ever.
  std::uint32_t now_ticks_ = 0;
  std::uint32_t looked_ticks_ = 0;  // Of the time by which entries are looked at.
  std::uint32_t generation_ = 1;
  KeyGroups groups_;
  ShardId shard_;
  std::uint16_t shards_ = 1;
  std::vector<Segment> segments_;
  EventTime now_ = kNoEventTime, swept_until_ = kNoEventTime;
  EventTime looked_ = EventTime::max();  // max: nothing was looked at yet.
  const EventTime* followed_ = nullptr;
  bool timeless_ = false;  // Some may have been used before there was a time.
  std::size_t next_sweep_ = 0;
  Epoch marked_;
};

}  // namespace sluice::internal
