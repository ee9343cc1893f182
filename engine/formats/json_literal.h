#pragma once

#include <sluice/io/base/result.h>

#include <concepts>
#include <string>
#include <string_view>
#include <utility>

namespace sluice {

/// One JSON value as it stands in a program or a pipeline file: kept as its JSON text, so that a
/// number is never rounded. `"error"` is a text, `JsonLiteral::json("1.50")` is JSON.
class JsonLiteral {
 public:
  JsonLiteral() : json_("null") {}
  /// Text; anything that is not UTF-8 is found by check().
  JsonLiteral(std::string_view text);  // NOLINT(google-explicit-constructor)
  JsonLiteral(const char* text) : JsonLiteral(std::string_view(text)) {}         // NOLINT
  JsonLiteral(const std::string& text) : JsonLiteral(std::string_view(text)) {}  // NOLINT
  template <std::same_as<bool> B>
  JsonLiteral(B value) : json_(value ? "true" : "false") {}  // NOLINT(google-explicit-constructor)
  template <std::integral I>
  requires(!std::same_as<I, bool>) JsonLiteral(I value)
      : json_(fmt::format("{}", value)) {}  // NOLINT(google-explicit-constructor)
  /// JSON text, whatever it is; check() tells whether it is.
  [[nodiscard]] static JsonLiteral json(std::string text) {
    JsonLiteral made;
    made.json_ = std::move(text);
    return made;
  }
  [[nodiscard]] const std::string& json() const noexcept { return json_; }
  /// ok, or where it stops being one JSON value.
  [[nodiscard]] Status check() const;

 private:
  std::string json_;
};

/// `text` as a JSON string, with its quotes. What is not UTF-8 stays as it is.
[[nodiscard]] std::string json_quoted(std::string_view text);
/// The same behind what is in `out`, which keeps its memory.
void append_json_quoted(std::string_view text, std::string& out);

}  // namespace sluice
