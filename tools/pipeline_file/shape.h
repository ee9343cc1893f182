#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// What may stand in a pipeline file, as data. From these tables (keys.h) come the checks
/// (check.h), the JSON Schema for editors (schema_json.h) and the reference page (reference.h), so
/// the three cannot differ.
namespace sluice::tools {

struct Section;

enum class Scalar : std::uint8_t { kNone, kText, kBoolean, kInteger, kDuration };

/// The values that a key takes. Several forms may be allowed: "latest", or a map with a timestamp.
struct Shape {
  /// Says what is wrong with a text, or nothing.
  using Check = std::optional<std::string> (*)(std::string_view text);

  Scalar scalar = Scalar::kNone;
  std::int64_t low = 0;                          ///< of an integer; of a duration in microseconds
  std::int64_t high = 0;                         ///< the same
  Check check = nullptr;                         ///< of a text
  std::span<const std::string_view> words = {};  ///< texts that are possible
  std::span<const std::string_view> later = {};  ///< texts that are not supported yet
  const Section* section = nullptr;              ///< a map of these keys
  const Shape* values = nullptr;                 ///< a map of free keys, each with such a value
  const Shape* items = nullptr;                  ///< a list of these
  std::string_view free_key = {};                ///< what the free keys are: "name"
  Check key_check = nullptr;                     ///< of a free key
  std::size_t items_min = 0;
  bool secret_file = false;  ///< a text that may also be {file: PATH}
  bool any = false;          ///< any value at all; becomes JSON
};

enum class Need : std::uint8_t {
  kOptional,
  kRequired,
  kOneOf,  ///< exactly one of the section's keys with this mark
};

struct Key {
  std::string_view name;
  Shape shape;
  Need need = Need::kOptional;
  std::string_view fallback = {};  ///< the default, as it would be written
  std::string_view help = {};      ///< one sentence
  std::string_view example = {};   ///< a value, as it would be written
  std::string_view not_yet = {};   ///< why the key is refused for now
};

struct Section {
  std::string_view title;  ///< "checkpoint", "kafka (of a source)"
  std::string_view help;
  std::span<const Key> keys;
  std::string_view example = {};  ///< a whole pipeline, which a test runs; of operators
  [[nodiscard]] const Key* find(std::string_view name) const;
};

}  // namespace sluice::tools
