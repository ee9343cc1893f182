#include "pipeline_file/json_value.h"

#include <sluice/engine/formats/json_literal.h>

namespace sluice::tools {
namespace {

std::string scalar(const Node& node) {
  // What is no text in JSON is what stands there without quotes and is JSON by itself.
  const bool text = node.quoted || node.text.starts_with('"') || node.text.starts_with('[') ||
                    node.text.starts_with('{') || !JsonLiteral::json(node.text).check().ok();
  return text ? json_quoted(node.text) : node.text;
}

}  // namespace

std::string to_json(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return "null";
    case Node::Kind::kScalar:
      return scalar(node);
    case Node::Kind::kList: {
      std::string json = "[";
      for (const Node& item : node.items) json += (json.size() > 1 ? "," : "") + to_json(item);
      return json + "]";
    }
    case Node::Kind::kMap: {
      std::string json = "{";
      for (const Entry& entry : node.entries) {
        json += (json.size() > 1 ? "," : "") + json_quoted(entry.key) + ":" + to_json(entry.value);
      }
      return json + "}";
    }
  }
  return {};
}

}  // namespace sluice::tools
