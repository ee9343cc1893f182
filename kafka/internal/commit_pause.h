#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace sluice::kafka::internal {

/// How long to leave a coordinator alone behind a commit that it has acknowledged.
///
/// It acknowledges when the decision is written, and completes it (a marker in each partition) after that. Partitions that are
/// added to the next transaction before then are refused with CONCURRENT_TRANSACTIONS, and librdkafka tries again 20 ms later,
/// whatever retry.backoff.ms says: a fifth of all commits took 25 ms instead of 5 at an interval of 10 ms (bench/kafka/latency).
/// How long completing takes depends on the broker, so it is learnt: a refusal makes the pause a quarter longer, each commit
/// without one a thousandth shorter, which keeps refusals near one in two hundred.
///
/// A new handle begins anew.
///
/// Shard      sent() and answered() on the library's threads, next() on one thread.
class CommitPause {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds kShortest{200}, kLongest{8'000};

  /// A request that adds partitions, and an answer to one. Only the first answer behind a commit can be such a refusal.
  void sent(Clock::time_point now) noexcept {
    Clock::rep answered = answered_.load(std::memory_order_relaxed);
    if (answered == kNone || answered == kSeen) return;
    if (!answered_.compare_exchange_strong(answered, kSeen, std::memory_order_relaxed)) return;
    const auto since = now.time_since_epoch() - Clock::duration(answered);
    if (since > kBackoff - kSlack && since < kBackoff + kSlack) refused_.store(true, std::memory_order_relaxed);
  }
  void answered(Clock::time_point now) noexcept {
    Clock::rep none = kNone;
    answered_.compare_exchange_strong(none, now.time_since_epoch().count(), std::memory_order_relaxed);
  }

  /// The pause behind this commit. It learns from the transaction that the commit ended, if that had partitions.
  [[nodiscard]] std::chrono::microseconds next() noexcept {
    if (answered_.exchange(kNone, std::memory_order_relaxed) != kNone) {
      pause_us_ *= refused_.exchange(false, std::memory_order_relaxed) ? 1.25 : 0.999;
      pause_us_ = std::clamp(pause_us_, static_cast<double>(kShortest.count()), static_cast<double>(kLongest.count()));
    }
    return std::chrono::microseconds(static_cast<std::int64_t>(pause_us_));
  }

 private:
  static constexpr std::chrono::milliseconds kBackoff{20}, kSlack{4};  // The library's, and what its timers are late by.
  static constexpr Clock::rep kNone = 0, kSeen = -1;
  std::atomic<Clock::rep> answered_{kNone};  // When the first answer behind the last commit came; kSeen: and a request behind it went.
  std::atomic<bool> refused_{false};
  double pause_us_ = 2'000;
};

}  // namespace sluice::kafka::internal
