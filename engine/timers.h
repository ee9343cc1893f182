#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/engine/internal/timer_wheel.h>
#include <sluice/engine/keyed_state.h>

namespace sluice {

/// Timers of keys: set for a time, fired in its order when a watermark or a clock passes it. A time and key has one timer, however
/// often it is set. A window of a key has its own: `Timers<WindowKey<Key, Window>>`. Most users have them through process functions
/// (engine/keyed_process.h); an operator of its own declares them like any state:
///
///     void declare(StateSet& states) override { states.add("timers", timers_); }
///     …  timers_.set(end, key);                                                        // in process()
///     …  timers_.fire(watermark, [&](EventTime time, const Key& key) { out.emit(…); });   // in on_watermark()
///
/// Order      by time, then by key; what is set for a time that has passed fires at the next fire(), or later in the same one.
/// Shard      its operator's.
/// Units      milliseconds, as event time has. A timer is its key and 8 bytes; one set twice or erased may take room until it is due.
/// Errors     std::logic_error for kNoEventTime (caught at the operator's boundary); restore: kCorrupt, kInvalid.
/// Ownership  fire()'s callback may set and erase timers.
template <class Key>
class Timers final : public KeyedState {
 public:
  static_assert(Encodable<Key>, "the key needs a Codec: describe it with BOOST_DESCRIBE_STRUCT, or specialise sluice::Codec");

  void set(EventTime time, Key key) {
    if (time == kNoEventTime) [[unlikely]] {
      throw std::logic_error("a timer was set for no time: the record has no event time, give the stream one");
    }
    add({internal::tick_of(time) << 1, std::move(key)});
  }
  /// Nothing happens where there is none.
  void erase(EventTime time, Key key) {
    if (size() != 0) add({internal::tick_of(time) << 1 | 1, std::move(key)});
  }
  /// Calls `fired(time, key)` for all up to `until`, those too that it sets meanwhile.
  template <class F>
  void fire(EventTime until, F&& fired) {
    take_restored();
    wheel_.fire(internal::tick_of(until), [&](std::uint64_t tick, const Key& key) { fired(internal::time_of(tick), key); });
  }
  /// None is due earlier; EventTime::max() where there is none. It may be of one that was erased.
  [[nodiscard]] EventTime next() {
    take_restored();
    const std::uint64_t tick = wheel_.next();
    return tick > internal::kLastTick ? EventTime::max() : internal::time_of(tick);
  }
  /// With those that were set twice, or erased, and are not sorted out yet.
  [[nodiscard]] std::size_t size() const noexcept override {
    std::size_t size = wheel_.size();
    for (const auto& group : restored_) size += group.size();
    return size;
  }

  void open(const Context& context) override {
    groups_ = context.key_groups;
    shard_ = context.shard;
    shards_ = context.parallelism;
  }
  [[nodiscard]] std::string type() const override { return "timers<" + Codec<Key>::name() + ">"; }
  void mark(Epoch epoch) override {
    unconfirmed_all_ |= std::exchange(changed_all_, false);
    if (unconfirmed_.empty()) {
      unconfirmed_.swap(changed_);
    } else {  // An epoch that failed is part of the next.
      for (Timer& timer : changed_) unconfirmed_.push_back(std::move(timer));
      changed_.clear();
    }
    bound(unconfirmed_, unconfirmed_all_);
    marked_ = epoch;
  }
  void confirm(Epoch epoch) override {
    if (epoch != marked_) return;
    unconfirmed_ = {};
    unconfirmed_all_ = false;
  }
  void save(std::string& out) const override {
    Blocks blocks(*this);
    each([&](const Timer& timer) { blocks.add(timer); });
    blocks.write(true, out);
  }
  /// What was set and erased; what fired is told by the time up to which all did.
  void save_changes(std::string& out) const override {
    if (changed_all_ || unconfirmed_all_) {
      Blocks blocks(*this);
      each([&](const Timer& timer) { blocks.add(timer); });
      return blocks.write(true, out, true);
    }
    Blocks blocks(*this);
    const auto not_fired = [&](const Timer& timer) {
      if (timer.tick() > wheel_.done()) blocks.add(timer);
    };
    for (const Timer& timer : unconfirmed_) not_fired(timer);
    for (const Timer& timer : changed_) not_fired(timer);
    // Behind their time and not fired yet: whoever restores takes those that were there before for fired.
    wheel_.for_each_overdue([&](const Timer& timer) { blocks.add(timer); });
    blocks.write(false, out, true);
  }
  [[nodiscard]] Status restore(std::string_view bytes, const Context& context) override {
    Result<internal::GroupSnapshot> snapshot = internal::read_groups(bytes, header(false), context);
    if (!snapshot.ok()) return std::move(snapshot).status();
    restored_.resize(groups_.count());
    const std::uint64_t done = internal::tick_of(snapshot->now);
    for (const internal::GroupBlock& block : snapshot->blocks) {
      std::vector<Timer>& into = restored_[block.group.value()];
      if (block.whole) {
        into.clear();
      } else {
        std::erase_if(into, [&](const Timer& timer) { return timer.tick() <= done; });
      }
      for (std::string_view in = block.bytes; !in.empty();) {
        Timer timer;
        if (!Codec<std::uint64_t>::read(in, timer.at) || !Codec<Key>::read(in, timer.key)) {
          return internal::unreadable(context, block.group);
        }
        into.push_back(std::move(timer));
      }
    }
    return {};
  }

 private:
  using Timer = internal::Timer<Key>;

  /// The bytes by key group.
  class Blocks {
   public:
    explicit Blocks(const Timers& timers) : timers_(timers), bytes_(timers.groups_.count()), entries_(bytes_.size()) {}
    void add(const Timer& timer) {
      const std::uint16_t group = timers_.groups_.of(timer.key).value();
      ++entries_[group];
      Codec<std::uint64_t>::write(timer.at, bytes_[group]);
      Codec<Key>::write(timer.key, bytes_[group]);
    }
    /// `all`: a block for each key group of the shard, empty or not.
    void write(bool whole, std::string& out, bool all = false) const {
      const auto wanted = [&](std::uint16_t group) {
        return !bytes_[group].empty() || (all && timers_.groups_.owner(KeyGroup(group), timers_.shards_) == timers_.shard_);
      };
      std::uint16_t some = 0;
      for (std::uint16_t group = 0; group < bytes_.size(); ++group) some = static_cast<std::uint16_t>(some + wanted(group));
      internal::GroupWriter writer(out, timers_.header(all), some);
      for (std::uint16_t group = 0; group < bytes_.size(); ++group) {
        if (!wanted(group)) continue;
        writer.begin(KeyGroup(group), whole, entries_[group]);
        out += bytes_[group];
        writer.end();
      }
      writer.finish();
    }

   private:
    const Timers& timers_;
    std::vector<std::string> bytes_;
    std::vector<std::uint64_t> entries_;
  };

  void add(Timer timer) {
    take_restored();
    if (!changed_all_) {
      changed_.push_back(timer);
      bound(changed_, changed_all_);
    }
    wheel_.add(std::move(timer));
  }
  /// Beyond that all of them are written instead.
  void bound(internal::ManyTimers<Key>& list, bool& all) const {
    if (list.size() <= 64 + wheel_.size() / 2) return;
    all = true;
    list = {};
  }
  void take_restored() {
    if (restored_.empty()) [[likely]] return;
    for (std::vector<Timer>& group : std::exchange(restored_, {})) {
      for (Timer& timer : group) wheel_.add(std::move(timer));
    }
  }
  template <class F>
  void each(F&& visit) const {
    wheel_.for_each(visit);
    for (const auto& group : restored_) {
      for (const Timer& timer : group) visit(timer);
    }
  }
  [[nodiscard]] internal::GroupHeader header(bool changes) const {
    return {groups_, type(), changes, false, internal::time_of(wheel_.done())};
  }

  internal::TimerWheel<Key> wheel_;
  std::vector<std::vector<Timer>> restored_;  // By key group, until the first is set or fired.
  internal::ManyTimers<Key> changed_, unconfirmed_;  // Set and erased: since the mark, and before it.
  bool changed_all_ = false, unconfirmed_all_ = false;
  Epoch marked_;
  KeyGroups groups_;
  ShardId shard_;
  std::uint16_t shards_ = 1;
};

}  // namespace sluice
