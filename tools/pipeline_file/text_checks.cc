#include "pipeline_file/text_checks.h"

#include <sluice/engine/formats/json_pointer.h>

#include "pipeline_file/values.h"
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

namespace sluice::tools {
namespace {

bool plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

std::optional<std::string> check_name(std::string_view text, std::size_t most) {
  if (!text.empty() && text.size() <= most && std::ranges::all_of(text, plain)) return {};
  return fmt::format("is no name: 1 to {} of A-Z a-z 0-9 . _ - are allowed", most);
}

bool is_address(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return !address.empty();  // Port 9092.
  const auto port = parse_integer(address.substr(colon + 1));
  return colon > 0 && port && *port > 0 && *port < 65536;
}

}  // namespace

std::optional<std::string> check_job_name(std::string_view text) { return check_name(text, 64); }
std::optional<std::string> check_id(std::string_view text) { return check_name(text, 64); }

std::optional<std::string> check_topic(std::string_view text) {
  if (text == "." || text == "..") return "is no name of a topic";
  return check_name(text, 249);
}

std::optional<std::string> check_partition(std::string_view text) {
  const auto number = parse_integer(text);
  if (number && *number >= 0 && *number <= 1'000'000) return {};
  return "is no number of a partition";
}

std::optional<std::string> check_brokers(std::string_view text) {
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    if (!is_address(text.substr(at, comma - at))) {
      return "is no list of brokers: write host:port, separated by commas";
    }
    at = comma + 1;
  }
  return {};
}

std::optional<std::string> check_not_empty(std::string_view text) {
  return text.empty() ? std::optional<std::string>("is empty") : std::nullopt;
}

std::optional<std::string> check_timestamp(std::string_view text) {
  if (parse_timestamp_ms(text)) return {};
  return "is no time: write 2026-01-31T08:00:00Z, or milliseconds since 1970";
}

std::optional<std::string> check_pattern(std::string_view text) {
  const RE2 pattern(re2::StringPiece(text.data(), text.size()), RE2::Quiet);
  if (pattern.ok()) return {};
  return fmt::format("is no RE2 regular expression: {}", pattern.error());
}

std::optional<std::string> check_pointer(std::string_view text) {
  const Result<JsonPointer> pointer = JsonPointer::make(text);
  if (pointer.ok()) return {};
  return fmt::format("is no JSON pointer: {}", pointer.status().message());
}

}  // namespace sluice::tools
