#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::internal {

struct JsonError {
  std::size_t at = 0;
  std::string_view what;
};

/// Where a document stops being JSON; none where it is JSON. Slow: for messages only. Nesting over
/// 1,024 is an error.
[[nodiscard]] std::optional<JsonError> find_json_error(std::string_view text);

/// Offset of the first byte that is not UTF-8; the size where there is none.
[[nodiscard]] std::size_t find_utf8_error(std::string_view text) noexcept;

/// The schema id, where the text starts like a schema registry's framing.
[[nodiscard]] std::optional<std::uint32_t> schema_id(std::string_view text) noexcept;

}  // namespace sluice::internal
