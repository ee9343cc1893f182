#include <sluice/engine/windows/calendar.h>

#include <algorithm>
#include <exception>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include <date/tz.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sluice {
namespace {

using std::chrono::days;

constexpr std::int64_t floor_div(std::int64_t number, std::int64_t by) noexcept {
  return number / by - (number % by < 0 ? 1 : 0);
}

/// Changes, letter by letter, that make `b` of `a`; case does not count.
std::size_t distance(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t corner = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = corner + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      corner = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row[b.size()];
}

/// Up to three names that look like it, by themselves or by their last part ("New_York").
std::vector<std::string> like(const std::string& name) {
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const date::time_zone& zone : date::get_tzdb().zones) {
    const std::string& known = zone.name();
    const std::size_t far = std::min(distance(name, known), distance(name, known.substr(known.rfind('/') + 1)));
    if (far <= std::max<std::size_t>(2, name.size() / 4)) found.emplace_back(far, known);
  }
  std::ranges::sort(found);
  std::vector<std::string> names;
  for (const auto& [far, known] : found) {
    if (names.size() < 3) names.push_back(known);
  }
  return names;
}

}  // namespace

struct Calendar::Zone {
  const date::time_zone* zone = nullptr;
  Status problem;
};

Calendar::Calendar(Unit unit, int count, int first, std::string zone)
    : unit_(unit), count_(count), first_(first), name_(std::move(zone)) {
  auto found = std::make_shared<Zone>();
  try {
    found->zone = date::locate_zone(name_);
  } catch (const std::exception&) {
    found->problem = Status(Code::kInvalid, fmt::format("the time zone \"{}\" is not known", name_));
    try {
      if (const std::vector<std::string> names = like(name_); !names.empty()) {
        found->problem = found->problem.with(fmt::format("(did you mean {}?)", fmt::join(names, ", ")));
      } else {
        found->problem = found->problem.with("(names are like \"Europe/Berlin\" or \"UTC\")");
      }
    } catch (const std::exception& thrown) {
      found->problem = found->problem.with("and the system's zones cannot be read: install the package tzdata;", thrown.what());
    }
  }
  zone_ = std::move(found);
}

Calendar Calendar::offset(EventDuration offset) const {
  Calendar moved = *this;
  moved.offset_ = offset;
  moved.last_ = {};
  return moved;
}

Status Calendar::check() const {
  if (!zone_->problem.ok()) return zone_->problem;
  if (count_ < 1 || count_ > 10'000) {
    return Status(Code::kInvalid, fmt::format("calendar windows of {} {}: from 1 to 10,000", count_,
                                              unit_ == Unit::kDay ? "days" : "months"));
  }
  if (offset_ < EventDuration::zero() || offset_ >= std::chrono::hours(24 * 28)) {
    return Status(Code::kInvalid, "an offset of", offset_.count(), "ms: calendar windows take one from 0 to 28 days");
  }
  return {};
}

std::string Calendar::describe() const {
  return fmt::format("{} {} from {} and {} ms in {}", count_, unit_ == Unit::kDay ? "days" : "months", first_, offset_.count(),
                     name_);
}

/// When the clocks there show the beginning of a window; the first time if they do twice, the next instant if they never do.
EventTime Calendar::boundary(std::int64_t number) const {
  const std::int64_t unit = number * count_ + first_;
  date::local_days date{days(unit)};
  if (unit_ == Unit::kMonth) {
    const date::year_month month = date::year(1970) / date::January + date::months(unit);
    date = date::local_days(month / 1);
  }
  const date::local_time<EventDuration> local = date + offset_;
  return std::chrono::floor<EventDuration>(zone_->zone->to_sys(local, date::choose::earliest));
}

Window Calendar::find(EventTime time) const {
  const auto local = zone_->zone->to_local(time) - offset_;
  const date::local_days date = date::floor<days>(local);
  std::int64_t unit = date.time_since_epoch().count();
  if (unit_ == Unit::kMonth) {
    const date::year_month_day ymd(date);
    unit = (static_cast<int>(ymd.year()) - 1970) * std::int64_t{12} + (static_cast<unsigned>(ymd.month()) - 1);
  }
  std::int64_t number = floor_div(unit - first_, count_);
  Window window{boundary(number), boundary(number + 1)};
  // Where clocks are set back across midnight a date comes twice: the instant decides, so that windows never overlap.
  while (time < window.start) window = {boundary(--number), window.start};
  while (time >= window.end) window = {window.end, boundary(++number + 1)};
  return window;
}

Calendar tumbling(days size, std::string zone) {
  return Calendar(Calendar::Unit::kDay, static_cast<int>(size.count()), 0, std::move(zone));
}
Calendar tumbling(std::chrono::weeks size, std::string zone) {
  // 1970-01-05 was a Monday.
  return Calendar(Calendar::Unit::kDay, static_cast<int>(size.count()) * 7, 4, std::move(zone));
}
Calendar tumbling(std::chrono::months size, std::string zone) {
  return Calendar(Calendar::Unit::kMonth, static_cast<int>(size.count()), 0, std::move(zone));
}

}  // namespace sluice
