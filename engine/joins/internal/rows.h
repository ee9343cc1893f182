#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <boost/container/small_vector.hpp>

#include <sluice/engine/codec.h>
#include <sluice/engine/event_time.h>

namespace sluice::internal {

/// A row that is kept, and whether it has had a partner; the two share a word with the time, as a row often is no larger itself.
template <class T>
struct Row {
  Row() = default;
  Row(EventTime time, bool had_partner, T kept)
      : value(std::move(kept)), bits(time.time_since_epoch().count() << 1 | (had_partner ? 1 : 0)) {}
  [[nodiscard]] EventTime time() const noexcept { return EventTime(EventDuration(bits >> 1)); }
  [[nodiscard]] bool matched() const noexcept { return (bits & 1) != 0; }
  void match() noexcept { bits |= 1; }
  T value{};
  std::int64_t bits = 0;
};

/// One side's rows of a key in order of event time, those of one time in the order of their coming. The first lies in place where it
/// is small: most keys of most joins have one. Rows leave at the front.
template <class T>
class Rows {
 public:
  [[nodiscard]] bool empty() const noexcept { return rows_.size() == first_; }
  [[nodiscard]] std::size_t size() const noexcept { return rows_.size() - first_; }
  [[nodiscard]] const Row<T>& front() const noexcept { return rows_[first_]; }
  [[nodiscard]] auto begin() noexcept { return rows_.begin() + first_; }
  [[nodiscard]] auto end() noexcept { return rows_.end(); }
  [[nodiscard]] auto begin() const noexcept { return rows_.begin() + first_; }
  [[nodiscard]] auto end() const noexcept { return rows_.end(); }

  void add(EventTime time, const T& value, bool matched) {
    if (empty() || rows_.back().time() <= time) [[likely]] {
      rows_.emplace_back(time, matched, value);
    } else {
      rows_.insert(std::upper_bound(begin(), end(), time, earlier), Row<T>(time, matched, value));
    }
  }
  /// The rows with first <= time <= last.
  template <class Visit>
  void between(EventTime first, EventTime last, Visit&& visit) {
    auto row = begin();
    if (!empty() && row->time() < first) {
      row = std::partition_point(row, end(), [&](const Row<T>& one) { return one.time() < first; });
    }
    for (; row != end() && row->time() <= last; ++row) visit(*row);
  }
  void pop_front() {
    // What it holds goes now, its place later: moving the rest for each would make a hot key's cost grow with its rows.
    if constexpr (!std::is_trivially_destructible_v<T>) rows_[first_].value = T{};
    if (++first_ == rows_.size()) {
      rows_.clear();
      first_ = 0;
    } else if (first_ >= 32 && first_ > rows_.size() / 2) {
      rows_.erase(rows_.begin(), rows_.begin() + first_);
      first_ = 0;
    }
  }

 private:
  static bool earlier(EventTime time, const Row<T>& row) { return time < row.time(); }
  static constexpr std::size_t kInPlace = sizeof(Row<T>) <= 16 ? 2 : sizeof(Row<T>) <= 64 ? 1 : 0;
  boost::container::small_vector<Row<T>, kInPlace> rows_;
  std::uint32_t first_ = 0;
};

/// All that a join keeps for a key.
template <class L, class R>
struct JoinSlot {
  Rows<L> left;
  Rows<R> right;
  /// When the key is to be looked at; follows from the rows, so it is no state.
  mutable EventTime due = EventTime::max();
};

}  // namespace sluice::internal

namespace sluice {

/// A 32-bit number of rows, then each: time, whether it was matched, value.
template <class T>
struct Codec<internal::Rows<T>> {
  static std::string name() { return "rows<" + Codec<T>::name() + ">"; }
  static void write(const internal::Rows<T>& rows, std::string& out) {
    Codec<std::uint32_t>::write(static_cast<std::uint32_t>(rows.size()), out);
    for (const internal::Row<T>& row : rows) {
      Codec<EventTime>::write(row.time(), out);
      Codec<bool>::write(row.matched(), out);
      Codec<T>::write(row.value, out);
    }
  }
  static bool read(std::string_view& in, internal::Rows<T>& rows) {
    std::uint32_t count = 0;
    if (!Codec<std::uint32_t>::read(in, count)) return false;
    for (; count > 0; --count) {
      EventTime time{};
      bool matched = false;
      T value{};
      if (!Codec<EventTime>::read(in, time) || !Codec<bool>::read(in, matched) || !Codec<T>::read(in, value)) return false;
      rows.add(time, value, matched);
    }
    return true;
  }
};

template <class L, class R>
struct Codec<internal::JoinSlot<L, R>> {
  static std::string name() { return "join<" + Codec<internal::Rows<L>>::name() + "," + Codec<internal::Rows<R>>::name() + ">"; }
  static void write(const internal::JoinSlot<L, R>& slot, std::string& out) {
    Codec<internal::Rows<L>>::write(slot.left, out);
    Codec<internal::Rows<R>>::write(slot.right, out);
  }
  static bool read(std::string_view& in, internal::JoinSlot<L, R>& slot) {
    return Codec<internal::Rows<L>>::read(in, slot.left) && Codec<internal::Rows<R>>::read(in, slot.right);
  }
};

}  // namespace sluice
