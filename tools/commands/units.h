#pragma once

#include <sluice/io/base/result.h>

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Times, partitions and counts as people write them.
namespace sluice::tools {

/// "250ms", "10s", "1.5m", "2h"; a number without a unit is refused, as nobody knows what it means.
Result<std::chrono::microseconds> parse_duration(std::string_view text);

/// "all" gives an empty list; "0,2,5-7" the five partitions named, without repetition, in ascending
/// order.
Result<std::vector<std::int32_t>> parse_partitions(std::string_view text);

/// Microseconds since the Unix epoch.
std::int64_t wall_now_us();

/// 1234567 as "1,234,567".
std::string with_commas(std::uint64_t count);

/// An option that takes a duration: CLI11 names the option when the text is none.
CLI::Option* add_duration(CLI::App& app, const std::string& names, std::chrono::microseconds& into,
                          const std::string& description);

}  // namespace sluice::tools
