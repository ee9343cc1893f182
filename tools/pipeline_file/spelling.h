#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice::tools {

/// The candidate that `word` was probably meant to be; empty when none is near.
[[nodiscard]] std::string nearest(std::string_view word,
                                  const std::vector<std::string>& candidates);

/// `did you mean "interval"?`, or empty.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       const std::vector<std::string>& candidates);

}  // namespace sluice::tools
