#include "commands/units.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace sluice::tools {

namespace {

Status bad_duration(std::string_view text) {
  return Status(
      Code::kInvalid,
      fmt::format("\"{}\" is not a duration: write a number and a unit, as 250ms, 10s, 2m or 1h",
                  text));
}

constexpr std::int32_t kPartitionMax = 1'000'000;

bool parse_partition(std::string_view text, std::int32_t& partition) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), partition);
  return error == std::errc() && end == text.data() + text.size() && partition >= 0 &&
         partition <= kPartitionMax;
}

}  // namespace

Result<std::chrono::microseconds> parse_duration(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return bad_duration(text);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  double unit_us = 0;
  if (unit == "us")
    unit_us = 1;
  else if (unit == "ms")
    unit_us = 1e3;
  else if (unit == "s")
    unit_us = 1e6;
  else if (unit == "m" || unit == "min")
    unit_us = 60e6;
  else if (unit == "h")
    unit_us = 3600e6;
  else
    return bad_duration(text);
  if (number * unit_us > 1e17) return bad_duration(text);
  return std::chrono::microseconds(std::llround(number * unit_us));
}

Result<std::vector<std::int32_t>> parse_partitions(std::string_view text) {
  std::vector<std::int32_t> partitions;
  if (text == "all") return partitions;
  const Status bad(
      Code::kInvalid,
      fmt::format("\"{}\" names no partitions: write all, or a list as 0,2,5-7", text));
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view item = text.substr(at, comma - at);
    const std::size_t dash = item.find('-');
    std::int32_t first = 0;
    std::int32_t last = 0;
    if (!parse_partition(item.substr(0, dash), first)) return bad;
    last = first;
    if (dash != std::string_view::npos && !parse_partition(item.substr(dash + 1), last)) return bad;
    if (last < first || last - first > 100'000) return bad;
    for (std::int32_t partition = first; partition <= last; ++partition)
      partitions.push_back(partition);
    at = comma + 1;
  }
  std::sort(partitions.begin(), partitions.end());
  partitions.erase(std::unique(partitions.begin(), partitions.end()), partitions.end());
  return partitions;
}

std::int64_t wall_now_us() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

std::string with_commas(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

CLI::Option* add_duration(CLI::App& app, const std::string& names, std::chrono::microseconds& into,
                          const std::string& description) {
  return app
      .add_option_function<std::string>(
          names,
          [&into, names](const std::string& text) {
            const auto duration = parse_duration(text);
            if (!duration.ok())
              throw CLI::ValidationError(names, std::string(duration.status().message()));
            into = *duration;
          },
          description)
      ->type_name("DURATION");
}

}  // namespace sluice::tools
