#include "pipeline_file/settings.h"

#include "pipeline_file/json_value.h"
#include "pipeline_file/keys.h"
#include <fmt/format.h>

#include <algorithm>

namespace sluice::tools {
namespace {

class Lister {
 public:
  explicit Lister(std::vector<Setting>& into) : into_(into) {}

  void section(const Node& node, const Section& section, const std::string& path) {
    for (const Key& key : section.keys) {
      if (!key.not_yet.empty()) continue;
      const std::string here =
          path.empty() ? std::string(key.name) : fmt::format("{}.{}", path, key.name);
      const Node* const given = node.find(key.name);
      if (given != nullptr) {
        value(*given, key.shape, here);
      } else if (!key.fallback.empty()) {
        into_.push_back({here, std::string(key.fallback), "default"});
      } else if (key.shape.section != nullptr && key.need == Need::kOptional && path.empty()) {
        this->section(Node{}, *key.shape.section, here);  // checkpoint, restart: all defaults.
      }
    }
  }

 private:
  void value(const Node& node, const Shape& shape, const std::string& path) {
    if (node.kind == Node::Kind::kMap && shape.section != nullptr) {
      section(node, *shape.section, path);
    } else if (node.kind == Node::Kind::kMap && shape.values != nullptr) {
      for (const Entry& entry : node.entries) {
        value(entry.value, *shape.values, fmt::format("{}.{}", path, entry.key));
      }
    } else if (node.kind == Node::Kind::kList && shape.items != nullptr &&
               shape.items->section != nullptr) {
      for (std::size_t i = 0; i < node.items.size(); ++i) {
        value(node.items[i], *shape.items, fmt::format("{}[{}]", path, i));
      }
    } else {
      into_.push_back({path, shown(node), node.place.text()});
    }
  }
  static std::string shown(const Node& node) {
    if (node.secret) return "(secret)";
    return node.kind == Node::Kind::kScalar ? node.text : to_json(node);
  }

  std::vector<Setting>& into_;
};

}  // namespace

std::vector<Setting> settings_of(const Node& root) {
  std::vector<Setting> settings;
  Lister(settings).section(root, pipeline_section(), {});
  return settings;
}

}  // namespace sluice::tools
