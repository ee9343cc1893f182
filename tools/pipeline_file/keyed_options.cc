#include "pipeline_file/keyed_options.h"

#include "pipeline_file/values.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

namespace sluice::tools {

using namespace std::chrono_literals;

Result<JsonKey::Options> key_of(const Node* node) {
  JsonKey::Options key;
  if (node == nullptr) return key;
  const auto add = [&](const Node& one) -> Status {
    Result<JsonPointer> pointer = JsonPointer::make(one.text);
    if (!pointer.ok()) return pointer.status();
    key.fields.push_back(*std::move(pointer));
    return {};
  };
  key.list = node->kind == Node::Kind::kList;
  key.from_record = node->kind == Node::Kind::kMap;
  if (node->kind == Node::Kind::kScalar) SLUICE_TRY(add(*node));
  for (const Node& item : node->items) SLUICE_TRY(add(item));
  return key;
}

std::string key_text(const Node* node) {
  if (node == nullptr || node->kind == Node::Kind::kScalar) return text_or(node, "");
  if (node->kind == Node::Kind::kMap) return "the record's key";
  std::vector<std::string> names;
  for (const Node& item : node->items) names.push_back(item.text);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string key_contents(const JsonKey::Options& key) {
  if (key.from_record) return "the record's key";
  std::string text;
  for (const JsonPointer& field : key.fields) text += (text.empty() ? "" : " ") + field.text();
  if (key.list) text += " list";
  if (key.as_text) text += " as text";
  return text;
}

Status whole_ms(const Node* node, std::string_view name) {
  const auto us = duration_or(node, 0us);
  if (us.count() % 1000 == 0) return {};
  return Status(Code::kInvalid, fmt::format("{} is {}, but event time has whole milliseconds", name,
                                            format_duration(us)));
}

std::chrono::milliseconds ms(const Node* node) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration_or(node, 0us));
}

}  // namespace sluice::tools
