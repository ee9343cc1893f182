#pragma once

#include <memory>

#include <spdlog/spdlog.h>

namespace sluice {

/// The engine's logger, to stderr; embedders may replace it before an engine starts. Not for use a record.
/// SLUICE_LOG=trace|debug|info|warn|error chooses the level at first use (default info).
spdlog::logger& log() noexcept;
void set_logger(std::shared_ptr<spdlog::logger> logger);

}  // namespace sluice
