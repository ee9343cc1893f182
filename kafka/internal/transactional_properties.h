#pragma once

#include <sluice/io/base/status.h>

#include <chrono>
#include <string>
#include <string_view>

namespace sluice::kafka::internal {

/// ok, or why a property of the client library does not go with exactly once. kInvalid.
[[nodiscard]] Status check_transactional_property(std::string_view name, const std::string& value,
                                                  std::chrono::milliseconds transaction_timeout);

}  // namespace sluice::kafka::internal
