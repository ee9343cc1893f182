#include "commands/interrupt.h"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>

namespace sluice::tools {

namespace {

std::atomic<bool> g_asked{false};
std::atomic<std::int64_t> g_asked_at_ms{0};
static_assert(std::atomic<bool>::is_always_lock_free &&
                  std::atomic<std::int64_t>::is_always_lock_free,
              "a signal handler may touch them");

// timeout(1) and some shells send one signal to the process and again to its group: within this
// time it is the same one.
constexpr std::int64_t kSame_ms = 500;

void ask(int signal) {
  std::timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t now_ms = now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
  if (!g_asked.exchange(true, std::memory_order_relaxed)) {
    g_asked_at_ms.store(now_ms, std::memory_order_relaxed);
  } else if (now_ms - g_asked_at_ms.load(std::memory_order_relaxed) > kSame_ms) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

}  // namespace

Interrupt::Interrupt() {
  struct sigaction action {};
  action.sa_handler = ask;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

Interrupt::~Interrupt() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool Interrupt::asked() noexcept { return g_asked.load(std::memory_order_relaxed); }

}  // namespace sluice::tools
