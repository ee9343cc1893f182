#pragma once

#include "pipeline_file/problem.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

/// From text to a tree, with libfyaml; the only door to it.
namespace sluice::tools {

inline constexpr std::size_t kFileBytesMax = 1u << 20;
inline constexpr std::size_t kDepthMax = 32;
inline constexpr std::size_t kNodesMax = 10'000;  ///< after aliases

/// One document. Limits are kept while reading, so that no input costs more than they allow.
/// Nothing when there is no tree to check further: a problem then says why.
[[nodiscard]] std::optional<Node> read_yaml(std::string_view text,
                                            std::shared_ptr<const std::string> source,
                                            Problems& problems);

}  // namespace sluice::tools
