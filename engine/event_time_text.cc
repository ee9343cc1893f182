#include <sluice/engine/event_time_text.h>

#include <charconv>
#include <optional>

namespace sluice {
namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::milliseconds;

/// Reads from the front. (The date library and std::chrono::parse read from a stream: an allocation and a locale a record; and both
/// refuse second 60 in a time that is not a utc_clock's.)
class Reader {
 public:
  explicit Reader(std::string_view text) : left_(text) {}
  /// Exactly so many digits.
  [[nodiscard]] std::optional<int> digits(std::size_t count) {
    if (left_.size() < count) return {};
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (left_[i] < '0' || left_[i] > '9') return {};
      value = value * 10 + (left_[i] - '0');
    }
    left_.remove_prefix(count);
    return value;
  }
  [[nodiscard]] bool take(std::string_view any_of) {
    if (left_.empty() || any_of.find(left_.front()) == std::string_view::npos) return false;
    left_.remove_prefix(1);
    return true;
  }
  [[nodiscard]] char next() const { return left_.empty() ? '\0' : left_.front(); }
  [[nodiscard]] bool end() const { return left_.empty(); }

 private:
  std::string_view left_;
};

Status unreadable(std::string_view text, const char* why) {
  return Status(Code::kInvalid, fmt::format("\"{}\" is no event time ({}): expected 2016-12-31T23:59:59.250Z, an offset like +01:00 "
                                            "in place of Z, or a whole number",
                                            text.substr(0, 64), why));
}

/// Milliseconds of ".25"; more digits are read and cut off.
std::optional<int> fraction(Reader& in) {
  int ms = 0, scale = 100;
  std::optional<int> digit = in.digits(1);
  if (!digit) return {};
  for (; digit; digit = in.digits(1)) {
    ms += *digit * scale;
    scale /= 10;
  }
  return ms;
}

/// Minutes east of UTC.
std::optional<int> offset(Reader& in) {
  if (in.take("Zz")) return 0;
  const int sign = in.next() == '-' ? -1 : 1;
  if (!in.take("+-")) return {};
  const auto hours = in.digits(2);
  if (!hours || *hours > 23) return {};
  const bool colon = in.take(":");
  if (in.end() && !colon) return sign * *hours * 60;
  const auto minutes = in.digits(2);
  if (!minutes || *minutes > 59) return {};
  return sign * (*hours * 60 + *minutes);
}

Result<EventTime> parse_date_time(std::string_view text, NoOffset without) {
  Reader in(text);
  const auto year = in.digits(4);
  if (!year || !in.take("-")) return unreadable(text, "a year of four digits and '-' begin it");
  const auto month = in.digits(2);
  if (!month || !in.take("-")) return unreadable(text, "month");
  const auto day = in.digits(2);
  if (!day) return unreadable(text, "day");
  const std::chrono::year_month_day date(std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok()) return unreadable(text, "there is no such day");
  milliseconds of_day{0};
  if (!in.end()) {
    if (!in.take("Tt ")) return unreadable(text, "'T' stands between date and time");
    const auto hour = in.digits(2);
    if (!hour || *hour > 23 || !in.take(":")) return unreadable(text, "hour");
    const auto minute = in.digits(2);
    if (!minute || *minute > 59) return unreadable(text, "minute");
    int second = 0, ms = 0;
    if (in.take(":")) {
      const auto read = in.digits(2);
      if (!read || *read > 60) return unreadable(text, "second");
      second = *read;
      if (in.take(".,")) {
        const auto part = fraction(in);
        if (!part) return unreadable(text, "fraction of a second");
        ms = *part;
      }
    }
    if (second == 60) {
      second = 59;
      ms = 999;
    }
    of_day = std::chrono::hours(*hour) + std::chrono::minutes(*minute) + std::chrono::seconds(second) + milliseconds(ms);
  }
  int east = 0;
  if (!in.end()) {
    const auto read = offset(in);
    if (!read || !in.end()) return unreadable(text, "offset from UTC");
    east = *read;
  } else if (without == NoOffset::kRefuse) {
    return unreadable(text, "no offset from UTC; NoOffset::kUtc reads such texts as UTC");
  }
  return EventTime(std::chrono::sys_days(date) + of_day - std::chrono::minutes(east));
}

}  // namespace

EventTime event_time(std::int64_t value, TimeUnit unit) noexcept {
  EventTime time;
  switch (unit) {
    case TimeUnit::kSeconds: {
      constexpr std::int64_t most = kLatestEventTime.time_since_epoch().count() / 1000;
      if (value > most || value < -most) return kNoEventTime;
      return EventTime(std::chrono::seconds(value));
    }
    case TimeUnit::kMilliseconds: time = EventTime(milliseconds(value)); break;
    case TimeUnit::kMicroseconds: time = EventTime(floor<milliseconds>(std::chrono::microseconds(value))); break;
    case TimeUnit::kNanoseconds: time = EventTime(floor<milliseconds>(std::chrono::nanoseconds(value))); break;
  }
  return time < kEarliestEventTime || time > kLatestEventTime ? kNoEventTime : time;
}

Result<EventTime> parse_event_time(std::string_view text, TimeUnit unit, NoOffset without) {
  if (text.empty()) return unreadable(text, "it is empty");
  // A date has a '-' that is not the first; a number has not.
  if (text.find('-', 1) != std::string_view::npos) return parse_date_time(text, without);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) return unreadable(text, "the number is out of range");
  if (error != std::errc() || end != text.data() + text.size()) return unreadable(text, "neither a date nor a number");
  const EventTime time = event_time(value, unit);
  if (time == kNoEventTime) return unreadable(text, "the number is out of range; is its unit right?");
  return time;
}

}  // namespace sluice
