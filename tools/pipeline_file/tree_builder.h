#pragma once

#include "pipeline_file/problem.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Puts a tree together from what a YAML parser meets, one call an event, and keeps the limits.
namespace sluice::tools {

class TreeBuilder {
 public:
  explicit TreeBuilder(Problems& problems) : problems_(problems) {}

  // Each returns false when reading must end: a limit was passed.
  [[nodiscard]] bool scalar(std::string_view text, bool quoted, std::string_view anchor,
                            const Place& place);
  [[nodiscard]] bool begin(Node::Kind kind, std::string_view anchor, const Place& place);
  [[nodiscard]] bool end();
  [[nodiscard]] bool alias(std::string_view anchor, const Place& place);

  [[nodiscard]] bool done() const noexcept { return done_; }
  [[nodiscard]] Node take() { return std::move(root_); }

 private:
  struct Open {
    Node node;
    std::string anchor;
    bool has_key = false;
    bool drop = false;  // The key is there already, or no key at all: the value is read and left.
    std::string key;
    Place key_place;
  };
  [[nodiscard]] bool room(std::size_t nodes, const Place& place);
  void key(Open& map, const Node& node);
  void put(Node node, std::string_view anchor);

  Problems& problems_;
  std::vector<Open> open_;
  std::map<std::string, Node, std::less<>> anchors_;
  std::size_t nodes_ = 0;
  Node root_;
  bool done_ = false;
};

}  // namespace sluice::tools
