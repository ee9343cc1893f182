#pragma once

#include <cstdint>

namespace sluice {

/// What becomes of a record that cannot be read: by a source's deserializer, or by an operator that
/// reads its value.
enum class OnError : std::uint8_t {
  kFail,
  kSkip,    ///< counted, logged now and then
  kReject,  ///< sent on to the rejected stream of whoever refused it: original bytes and headers,
            ///< reason and origin in more headers
};

}  // namespace sluice
