#pragma once

#include <sluice/io/base/result.h>

#include "pipeline_file/node.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Scalars of a file as values. Those of a checked tree are there; a default stands in otherwise.
namespace sluice::tools {

[[nodiscard]] std::optional<bool> parse_boolean(std::string_view text);
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);
/// "2026-01-31T08:00:00Z", or milliseconds since 1970.
[[nodiscard]] std::optional<std::int64_t> parse_timestamp_ms(std::string_view text);
/// "10s", and "-10s".
[[nodiscard]] Result<std::chrono::microseconds> parse_signed_duration(std::string_view text);
/// 90 s as "90s", 250,000 us as "250ms": the largest unit that leaves a whole number.
[[nodiscard]] std::string format_duration(std::chrono::microseconds duration);

[[nodiscard]] std::string text_or(const Node* node, std::string_view otherwise);
[[nodiscard]] std::int64_t integer_or(const Node* node, std::int64_t otherwise);
[[nodiscard]] bool boolean_or(const Node* node, bool otherwise);
/// Below 0 too: the tables say where that is possible.
[[nodiscard]] std::chrono::microseconds duration_or(const Node* node,
                                                    std::chrono::microseconds otherwise);

}  // namespace sluice::tools
