#include <sluice/io/base/kill_point.h>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <string>

namespace sluice {
namespace {

struct Armed {
  std::string name;
  std::atomic<int> left{0};
  Armed() {
    const char* setting = std::getenv("SLUICE_KILL_AT");
    if (setting == nullptr) return;
    name = setting;
    int times = 1;
    if (const auto colon = name.rfind(':'); colon != std::string::npos) {
      std::from_chars(name.data() + colon + 1, name.data() + name.size(), times);
      name.resize(colon);
    }
    left = times;
  }
};

}  // namespace

void kill_point(std::string_view name) noexcept {
  static Armed armed;
  if (armed.name.empty() || armed.name != name) [[likely]] return;
  if (armed.left.fetch_sub(1) != 1) return;
  if (const char* log = std::getenv("SLUICE_KILL_LOG")) {
    const int fd = ::open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd >= 0) {
      const std::string line = std::string(name) + '\n';
      [[maybe_unused]] const auto written = ::write(fd, line.data(), line.size());
      ::close(fd);
    }
  }
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();  // The signal is ours and on its way.
}

}  // namespace sluice
