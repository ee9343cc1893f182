#include "pipeline_file/condition.h"

#include "pipeline_file/json_value.h"
#include "pipeline_file/values.h"

#include <array>
#include <optional>
#include <utility>

namespace sluice::tools {
namespace {

using Comparison = JsonCondition::Comparison;

std::optional<Comparison> comparison(std::string_view key) {
  constexpr auto kComparisons = std::to_array<std::pair<std::string_view, Comparison>>({
      {"equals", Comparison::kEqual},
      {"not_equals", Comparison::kNotEqual},
      {"less", Comparison::kLess},
      {"at_most", Comparison::kLessOrEqual},
      {"greater", Comparison::kGreater},
      {"at_least", Comparison::kGreaterOrEqual},
  });
  for (const auto& [name, found] : kComparisons) {
    if (name == key) return found;
  }
  return {};
}

std::vector<JsonCondition> parts_of(std::string_view key, const Node& value) {
  std::vector<JsonCondition> parts;
  if (key == "and" || key == "or") {
    for (const Node& item : value.items) parts.push_back(read_condition(item));
  } else if (key == "exists") {
    if (value.kind == Node::Kind::kScalar) parts.push_back(json_exists(value.text));
    for (const Node& item : value.items) parts.push_back(json_exists(text_or(&item, "")));
  }
  for (const Entry& field : value.entries) {
    if (const auto how = comparison(key)) {
      parts.push_back(json_compare(field.key, *how, JsonLiteral::json(to_json(field.value))));
    } else if (key == "matches") {
      parts.push_back(json_match(field.key, text_or(&field.value, "")));
    }
  }
  return parts;
}

}  // namespace

JsonCondition read_condition(const Node& node) {
  if (node.entries.empty()) return json_and({});
  const Entry& entry = node.entries.front();
  if (entry.key == "not") return json_not(read_condition(entry.value));
  std::vector<JsonCondition> parts = parts_of(entry.key, entry.value);
  if (entry.key == "or") return json_or(std::move(parts));
  if (parts.size() == 1) return std::move(parts.front());
  return json_and(std::move(parts));
}

}  // namespace sluice::tools
