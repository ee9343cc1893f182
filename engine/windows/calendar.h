#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <sluice/engine/windows/window.h>
#include <sluice/io/base/status.h>

namespace sluice {

/// Days, weeks or months as people of a time zone count them: a day has 23 hours where summer time begins and 25 where it ends, and
/// begins at the first instant of its date. Weeks begin on Monday, months on the first; three months are quarters.
///
///     sales.key_by(&Sale::shop).window(tumbling(std::chrono::days(1), "America/New_York")).aggregate(sum(&Sale::cents), "per-day")
///
/// Shard      one; a copy each.
/// Units      zones by their name in the system's database (package tzdata).
/// Errors     check(): kInvalid for a zone that nobody knows, with the ones of a similar name.
/// Ownership  none.
class Calendar {
 public:
  static constexpr bool kSliding = false, kTimed = true;
  enum class Unit : std::uint8_t { kDay, kMonth };

  Calendar(Unit unit, int count, int first, std::string zone);
  /// `tumbling(std::chrono::days(1), zone).offset(6h)`: from six to six by the clocks there.
  [[nodiscard]] Calendar offset(EventDuration offset) const;
  [[nodiscard]] Status check() const;
  [[nodiscard]] std::string describe() const;
  /// Requires: check().ok().
  [[nodiscard]] Window slice(EventTime time) {
    if (time < last_.start || time >= last_.end) last_ = find(time);
    return last_;
  }

 private:
  struct Zone;
  [[nodiscard]] Window find(EventTime time) const;
  [[nodiscard]] EventTime boundary(std::int64_t number) const;

  Unit unit_;
  int count_, first_;  // A window is `count_` units, and `first_` is a day or month that one begins with.
  EventDuration offset_{0};
  std::string name_;
  std::shared_ptr<const Zone> zone_;
  Window last_;
};

[[nodiscard]] Calendar tumbling(std::chrono::days size, std::string zone);
[[nodiscard]] Calendar tumbling(std::chrono::weeks size, std::string zone);
[[nodiscard]] Calendar tumbling(std::chrono::months size, std::string zone);

}  // namespace sluice
