#include <sluice/io/base/log.h>

#include <cstdlib>
#include <string_view>

#include <spdlog/sinks/stdout_sinks.h>

namespace sluice {
namespace {

std::shared_ptr<spdlog::logger>& current() {
  static std::shared_ptr<spdlog::logger> logger = [] {
    auto made = std::make_shared<spdlog::logger>("sluice", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
    made->flush_on(spdlog::level::info);
    if (const char* asked = std::getenv("SLUICE_LOG")) {
      const auto level = spdlog::level::from_str(asked);
      if (level != spdlog::level::off || std::string_view(asked) == "off") {
        made->set_level(level);
      } else {  // A slip of the pen must not silence the engine.
        made->warn("could not set the log level \"{}\"; SLUICE_LOG is trace, debug, info, warn, error or off", asked);
      }
    }
    return made;
  }();
  return logger;
}

}  // namespace

spdlog::logger& log() noexcept { return *current(); }
void set_logger(std::shared_ptr<spdlog::logger> logger) { current() = std::move(logger); }

}  // namespace sluice
