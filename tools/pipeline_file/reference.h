#pragma once

#include <string>
#include <string_view>

namespace sluice::tools {

/// The reference page, reference.md: all sections, keys and codes.
[[nodiscard]] std::string reference_markdown();

/// What is known of a section, a key ("interval", "checkpoint.interval") or a code ("E006"), for a
/// terminal. Empty when nothing is.
[[nodiscard]] std::string explain_word(std::string_view word);

}  // namespace sluice::tools
