#pragma once

#include <string_view>

namespace sluice {

/// A named step of the protocol at which a test can make the process kill itself with SIGKILL.
///
/// Set by the environment: SLUICE_KILL_AT=<name>[:<n>], the n-th time the point is passed (default 1).
/// Before it dies, the process writes the name as a line to the file named by SLUICE_KILL_LOG, so that a test
/// can count which points fired. Costs one predictable branch where nothing is set. Any thread.
void kill_point(std::string_view name) noexcept;

}  // namespace sluice
