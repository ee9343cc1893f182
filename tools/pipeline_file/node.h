#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// A pipeline file as a tree that knows where everything stands.
namespace sluice::tools {

/// Where a value comes from: a place in a file, a flag, or a variable of the environment.
struct Place {
  std::shared_ptr<const std::string> source;  ///< "orders.yaml", "--set shards", "SLUICE_SHARDS"
  std::uint32_t line = 0;                     ///< from 1; 0: the source as a whole
  std::uint32_t column = 0;                   ///< from 1, in characters
  /// "orders.yaml:3:17", or the name of the flag or variable.
  [[nodiscard]] std::string text() const;
};

struct Entry;

/// A scalar, a list or a map. Aliases are expanded, variables are filled in.
struct Node {
  enum class Kind : std::uint8_t { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  std::string text = {};  ///< of a scalar
  bool quoted = false;    ///< '5' and "5" are texts, 5 is a number
  bool secret = false;    ///< never shown
  bool variable = false;  ///< its text holds, or held, a ${VARIABLE}
  Place place = {};
  std::vector<Node> items = {};     ///< of a list
  // Without = {}, for which clang wants to know what an Entry is.
  std::vector<Entry> entries;  ///< of a map, in the order of the file

  [[nodiscard]] const Entry* entry(std::string_view key) const;
  /// The value under a key of a map; null where there is none, or this is no map.
  [[nodiscard]] const Node* find(std::string_view key) const;
  [[nodiscard]] Node* find(std::string_view key);
  /// "a list", for messages.
  [[nodiscard]] std::string_view kind_name() const;
  /// Itself and all below it.
  [[nodiscard]] std::size_t count() const;
};

struct Entry {
  std::string key;
  Place place;  ///< of the key
  Node value;
};

}  // namespace sluice::tools
