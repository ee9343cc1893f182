#include "pipeline_file/values.h"

#include "commands/units.h"

#include <array>
#include <charconv>
#include <ctime>

namespace sluice::tools {

std::optional<bool> parse_boolean(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return {};
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

std::optional<std::int64_t> parse_timestamp_ms(std::string_view text) {
  if (const auto number = parse_integer(text)) {
    return *number < 0 ? std::nullopt : std::optional(*number);
  }
  std::tm time{};
  const std::string copy(text);
  const char* const end = strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%SZ", &time);
  if (end == nullptr || *end != '\0') return {};
  const std::time_t seconds = timegm(&time);
  return seconds < 0 ? std::nullopt : std::optional<std::int64_t>(std::int64_t{seconds} * 1000);
}

Result<std::chrono::microseconds> parse_signed_duration(std::string_view text) {
  const bool negative = text.size() > 1 && text[0] == '-' && text[1] != '-';
  Result<std::chrono::microseconds> duration = parse_duration(negative ? text.substr(1) : text);
  if (!duration.ok()) return duration.status();
  return negative ? -*duration : *duration;
}

std::string format_duration(std::chrono::microseconds duration) {
  struct Unit {
    std::int64_t us;
    const char* name;
  };
  constexpr auto kUnits = std::to_array<Unit>(
      {{3'600'000'000, "h"}, {60'000'000, "m"}, {1'000'000, "s"}, {1000, "ms"}});
  const std::int64_t us = duration.count();
  if (us == 0) return "0s";
  for (const Unit& unit : kUnits) {
    if (us % unit.us == 0) return fmt::format("{}{}", us / unit.us, unit.name);
  }
  return fmt::format("{}us", us);
}

namespace {

const std::string* scalar(const Node* node) {
  return node != nullptr && node->kind == Node::Kind::kScalar ? &node->text : nullptr;
}

}  // namespace

std::string text_or(const Node* node, std::string_view otherwise) {
  const std::string* const text = scalar(node);
  return text == nullptr ? std::string(otherwise) : *text;
}

std::int64_t integer_or(const Node* node, std::int64_t otherwise) {
  const std::string* const text = scalar(node);
  return text == nullptr ? otherwise : parse_integer(*text).value_or(otherwise);
}

bool boolean_or(const Node* node, bool otherwise) {
  const std::string* const text = scalar(node);
  return text == nullptr ? otherwise : parse_boolean(*text).value_or(otherwise);
}

std::chrono::microseconds duration_or(const Node* node, std::chrono::microseconds otherwise) {
  const std::string* const text = scalar(node);
  if (text == nullptr) return otherwise;
  const auto duration = parse_signed_duration(*text);
  return duration.ok() ? *duration : otherwise;
}

}  // namespace sluice::tools
