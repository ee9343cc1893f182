#include "pipeline_file/node.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::tools {

std::string Place::text() const {
  if (!source) return "?";
  return line == 0 ? *source : fmt::format("{}:{}:{}", *source, line, column);
}

const Entry* Node::entry(std::string_view key) const {
  const auto at = std::ranges::find(entries, key, &Entry::key);
  return at == entries.end() ? nullptr : &*at;
}

const Node* Node::find(std::string_view key) const {
  const Entry* const found = entry(key);
  return found == nullptr ? nullptr : &found->value;
}

Node* Node::find(std::string_view key) {
  const auto at = std::ranges::find(entries, key, &Entry::key);
  return at == entries.end() ? nullptr : &at->value;
}

std::string_view Node::kind_name() const {
  switch (kind) {
    case Kind::kNull:
      return "nothing";
    case Kind::kScalar:
      return "a single value";
    case Kind::kList:
      return "a list";
    case Kind::kMap:
      return "a map of keys";
  }
  return "";
}

std::size_t Node::count() const {
  std::size_t sum = 1;
  for (const Node& item : items) sum += item.count();
  for (const Entry& entry : entries) sum += entry.value.count();
  return sum;
}

}  // namespace sluice::tools
