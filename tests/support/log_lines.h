#pragma once

#include <sluice/io/base/log.h>

#include <memory>
#include <sstream>
#include <string>

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

namespace sluice::support {

/// What the engine logs while this lives, in place of stderr. Read it where no other thread logs: behind the end of a job, or with a
/// TestDriver.
class LogLines {
 public:
  LogLines() { set_logger(std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(lines_))); }
  LogLines(const LogLines&) = delete;
  LogLines& operator=(const LogLines&) = delete;
  ~LogLines() { set_logger(std::make_shared<spdlog::logger>("sluice", std::make_shared<spdlog::sinks::stderr_sink_mt>())); }

  [[nodiscard]] std::string text() const { return lines_.str(); }
  /// How many lines hold `part`.
  [[nodiscard]] int count(const std::string& part) const {
    std::istringstream lines(text());
    int count = 0;
    for (std::string line; std::getline(lines, line);) count += line.find(part) != std::string::npos ? 1 : 0;
    return count;
  }

 private:
  std::ostringstream lines_;
};

}  // namespace sluice::support
