#include <sluice/io/base/log.h>

#include <cstdlib>

#include <spdlog/sinks/stdout_sinks.h>

namespace sluice {
namespace {

std::shared_ptr<spdlog::logger>& current() {
  static std::shared_ptr<spdlog::logger> logger = [] {
    auto made = std::make_shared<spdlog::logger>("sluice", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
    if (const char* level = std::getenv("SLUICE_LOG")) made->set_level(spdlog::level::from_str(level));
    made->flush_on(spdlog::level::info);
    return made;
  }();
  return logger;
}

}  // namespace

spdlog::logger& log() noexcept { return *current(); }
void set_logger(std::shared_ptr<spdlog::logger> logger) { current() = std::move(logger); }

}  // namespace sluice
