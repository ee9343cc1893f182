#include "pipeline_file/overrides.h"

#include "pipeline_file/check.h"
#include "pipeline_file/keys.h"
#include "pipeline_file/yaml.h"
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace sluice::tools {
namespace {

using Source = std::shared_ptr<const std::string>;

/// Everything of the tree comes from this flag or variable, as a whole.
void place_at(Node& node, const Source& source) {
  node.place = {source, 0, 0};
  for (Node& item : node.items) place_at(item, source);
  for (Entry& entry : node.entries) {
    entry.place = {source, 0, 0};
    place_at(entry.value, source);
  }
}

/// The element of a list that a part of a path names; null when it names none.
Node* element(Node& list, std::string_view part) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
  if (error != std::errc() || end != part.data() + part.size()) return nullptr;
  return index < list.items.size() ? &list.items[index] : nullptr;
}

/// Goes down by one key, making it where the map does not have it. Null where there is no way.
Node* step(Node& node, std::string_view part, const Source& source) {
  if (node.kind == Node::Kind::kList) return element(node, part);
  if (node.kind == Node::Kind::kNull) node.kind = Node::Kind::kMap;
  if (node.kind != Node::Kind::kMap) return nullptr;
  if (Node* const there = node.find(part)) return there;
  Node made;
  made.place = {source, 0, 0};
  node.entries.push_back({std::string(part), made.place, made});
  return &node.entries.back().value;
}

void put(Node& root, std::string_view path, std::string_view text, const Source& source,
         Problems& problems) {
  auto value = read_yaml(text, source, problems);
  if (!value) return;
  place_at(*value, source);
  Node* at = &root;
  for (std::size_t start = 0; start <= path.size() && at != nullptr;) {
    // The keys below properties have dots themselves, so the rest is one key.
    const bool property = start >= 11 && path.substr(0, start).ends_with("properties.");
    const std::size_t dot = property ? path.size() : std::min(path.find('.', start), path.size());
    at = step(*at, path.substr(start, dot - start), source);
    start = dot + 1;
  }
  if (at == nullptr) {
    problems.add({source, 0, 0}, ProblemCode::kOverride,
                 fmt::format("the path {} leads through something that is no map", path));
    return;
  }
  *at = std::move(*value);
}

/// The text of a variable is a value whatever is in it; only a --set may be a list or a map.
void put_text(Node& root, const std::string& path, std::string text, const Source& source) {
  Node* at = &root;
  for (std::size_t start = 0; start <= path.size() && at != nullptr;) {
    const std::size_t dot = std::min(path.find('.', start), path.size());
    at = step(*at, std::string_view(path).substr(start, dot - start), source);
    start = dot + 1;
  }
  if (at == nullptr) return;  // The check of the file says what stands in the way.
  Node value;
  value.kind = Node::Kind::kScalar;
  value.text = std::move(text);
  value.place = {source, 0, 0};
  *at = std::move(value);
}

}  // namespace

std::string variable_of(const std::string& path) {
  std::string name = "SLUICE_";
  for (const char c : path) {
    name += c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

void apply_overrides(Node& root, const std::vector<std::string>& settings,
                     const Environment& environment, Problems& problems) {
  if (root.kind != Node::Kind::kMap) return;
  for (const std::string& path : fixed_paths()) {
    // SLUICE_VERSION is what an image or a script calls the program's version.
    if (path == "version") continue;
    const std::string name = variable_of(path);
    if (auto text = environment.get(name)) {
      put_text(root, path, *std::move(text), std::make_shared<const std::string>(name));
    }
  }
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      problems.add({std::make_shared<const std::string>("--set"), 0, 0}, ProblemCode::kOverride,
                   "one of the values has no \"=\" or no path",
                   "write --set checkpoint.interval=100ms");
      continue;
    }
    const std::string path = setting.substr(0, equals);
    put(root, path, std::string_view(setting).substr(equals + 1),
        std::make_shared<const std::string>("--set " + path), problems);
  }
}

}  // namespace sluice::tools
