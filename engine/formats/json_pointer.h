#pragma once

#include <sluice/io/base/result.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// A place in a JSON document (RFC 6901): "" is the whole document, "/a/0" the first element of the
/// array "a". "~1" stands for "/" in a name, "~0" for "~". Parsed once.
///
/// Shard      any; a value that does not change.
/// Units      kLevelsMax levels; names are UTF-8, compared byte for byte (nothing is normalised).
/// Errors     kInvalid with the byte at which the text stops being a pointer, and the remedy.
/// Ownership  owns its names.
class JsonPointer {
 public:
  static constexpr std::size_t kLevelsMax = 64;
  struct Token {
    std::string name;                    ///< unescaped
    std::optional<std::uint64_t> index;  ///< where it can be an array's: digits, no zero in front
    bool plain = true;                   ///< stands in a document as it stands here, if unescaped
  };
  [[nodiscard]] static Result<JsonPointer> make(std::string_view text);

  JsonPointer() = default;  ///< the whole document
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] const std::vector<Token>& tokens() const noexcept { return tokens_; }
  [[nodiscard]] bool whole() const noexcept { return tokens_.empty(); }
  /// All but the last level. Requires: not whole().
  [[nodiscard]] JsonPointer parent() const;

 private:
  std::string text_;
  std::vector<Token> tokens_;
};

}  // namespace sluice
