#include "pipeline_file/tree_builder.h"

#include "pipeline_file/yaml.h"
#include <fmt/format.h>

#include <algorithm>

namespace sluice::tools {

bool TreeBuilder::room(std::size_t nodes, const Place& place) {
  nodes_ += nodes;
  if (nodes_ <= kNodesMax) return true;
  problems_.add(place, ProblemCode::kTooMuch,
                fmt::format("more than {} values after aliases are expanded", kNodesMax),
                "a pipeline has a few hundred; split the job, or look for an alias of aliases");
  return false;
}

bool TreeBuilder::scalar(std::string_view text, bool quoted, std::string_view anchor,
                         const Place& place) {
  if (!room(1, place)) return false;
  Node node;
  const bool null = !quoted && (text.empty() || text == "~" || text == "null" || text == "Null" ||
                                text == "NULL");
  node.kind = null ? Node::Kind::kNull : Node::Kind::kScalar;
  node.text = text;
  node.quoted = quoted;
  node.place = place;
  put(std::move(node), anchor);
  return true;
}

bool TreeBuilder::begin(Node::Kind kind, std::string_view anchor, const Place& place) {
  if (!room(1, place)) return false;
  if (open_.size() == kDepthMax) {
    problems_.add(place, ProblemCode::kTooMuch, fmt::format("nested deeper than {}", kDepthMax),
                  "no key of a pipeline lies that deep");
    return false;
  }
  Open open;
  open.node.kind = kind;
  open.node.place = place;
  open.anchor = anchor;
  open_.push_back(std::move(open));
  return true;
}

bool TreeBuilder::end() {
  Open open = std::move(open_.back());
  open_.pop_back();
  put(std::move(open.node), open.anchor);
  return true;
}

bool TreeBuilder::alias(std::string_view anchor, const Place& place) {
  const auto found = anchors_.find(anchor);
  if (found == anchors_.end()) {
    const bool inside =
        std::ranges::any_of(open_, [&](const Open& o) { return o.anchor == anchor; });
    problems_.add(place, inside ? ProblemCode::kCycle : ProblemCode::kUndefined,
                  inside ? fmt::format("alias *{} stands inside of what it means", anchor)
                         : fmt::format("alias *{} has no anchor &{} before it", anchor, anchor));
    Node nothing;
    nothing.place = place;
    put(std::move(nothing), {});
    return room(1, place);
  }
  if (!room(found->second.count(), place)) return false;
  put(found->second, {});
  return true;
}

void TreeBuilder::key(Open& map, const Node& node) {
  map.has_key = true;
  map.drop = true;
  map.key = node.text;
  map.key_place = node.place;
  if (node.kind != Node::Kind::kScalar) {
    problems_.add(node.place, ProblemCode::kYamlFeature,
                  fmt::format("{} as a key", node.kind_name()), "keys are plain texts");
  } else if (node.text == "<<" && !node.quoted) {
    problems_.add(node.place, ProblemCode::kYamlFeature, "merge keys (<<) are not used here",
                  "write the keys out, or use an alias for the whole map");
  } else if (const Entry* const same = map.node.entry(node.text)) {
    problems_.add(node.place, ProblemCode::kDuplicate,
                  fmt::format("key \"{}\" stands here a second time", node.text),
                  fmt::format("the first one is at {}; remove one", same->place.text()));
  } else {
    map.drop = false;
  }
}

void TreeBuilder::put(Node node, std::string_view anchor) {
  if (!anchor.empty()) anchors_.insert_or_assign(std::string(anchor), node);
  if (open_.empty()) {
    root_ = std::move(node);
    done_ = true;
    return;
  }
  Open& into = open_.back();
  if (into.node.kind == Node::Kind::kList) {
    into.node.items.push_back(std::move(node));
  } else if (!into.has_key) {
    key(into, node);
  } else {
    if (!into.drop) {
      into.node.entries.push_back({std::move(into.key), into.key_place, std::move(node)});
    }
    into.has_key = false;
  }
}

}  // namespace sluice::tools
