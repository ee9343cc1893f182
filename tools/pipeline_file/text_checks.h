#pragma once

#include <optional>
#include <string>
#include <string_view>

/// What a text may be, for the tables of keys. Each says what is wrong, or nothing.
namespace sluice::tools {

[[nodiscard]] std::optional<std::string> check_job_name(std::string_view text);
[[nodiscard]] std::optional<std::string> check_id(std::string_view text);
[[nodiscard]] std::optional<std::string> check_topic(std::string_view text);
[[nodiscard]] std::optional<std::string> check_partition(std::string_view text);
[[nodiscard]] std::optional<std::string> check_brokers(std::string_view text);
[[nodiscard]] std::optional<std::string> check_not_empty(std::string_view text);
[[nodiscard]] std::optional<std::string> check_timestamp(std::string_view text);
[[nodiscard]] std::optional<std::string> check_pattern(std::string_view text);
[[nodiscard]] std::optional<std::string> check_pointer(std::string_view text);

}  // namespace sluice::tools
