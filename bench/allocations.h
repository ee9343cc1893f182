#pragma once

#include <cstdint>

namespace sluice::bench {

/// Allocations of this process so far (operator new is replaced in allocations.cc). What cannot be noise is asserted exactly.
[[nodiscard]] std::uint64_t allocations() noexcept;

}  // namespace sluice::bench
