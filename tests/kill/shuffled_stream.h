#pragma once

#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace sluice::testing {

/// A stream of many keys in a few partitions, as a function of the record's number: known to who writes it and to who judges what became
/// of it, and to nobody else.
///
/// Times grow with the number, but each is up to `disorder_ms` behind, and partitions are `skew_ms` apart: records come late, several at
/// one time, in between two sessions and exactly one gap behind another. None is late for a watermark that is `disorder_ms` behind each
/// partition's largest time. Few keys have most of the records: their sessions are long; most have few.
struct ShuffledStream {
  int partitions = 4;
  std::uint64_t keys = 8'000;
  std::int64_t per_ms = 8;  ///< records in a millisecond of event time
  std::int64_t disorder_ms = 1'000, skew_ms = 200, gap_ms = 2'000;
  std::uint64_t seed = 1;

  struct Event {
    int partition = 0;
    std::uint64_t key = 0;
    std::int64_t number = 0, time_ms = 0, amount = 0;
  };
  /// From 0.
  [[nodiscard]] Event at(std::int64_t number) const noexcept {
    const std::uint64_t which = mixed(static_cast<std::uint64_t>(number) + seed * 0x9e3779b97f4a7c15ull);
    const std::uint64_t when = mixed(which);
    Event event;
    event.number = number;
    event.partition = static_cast<int>(which % static_cast<std::uint64_t>(partitions));
    const std::uint64_t draw = which >> 48;  // 16 bits; squared, so that low keys are frequent.
    event.key = (draw * draw * keys) >> 32;
    event.time_ms = kStart_ms + number / per_ms + event.partition * skew_ms -
                    static_cast<std::int64_t>(when % static_cast<std::uint64_t>(disorder_ms + 1));
    event.amount = static_cast<std::int64_t>((when >> 40) % 1'000) - 300;
    return event;
  }
  /// Long, so that state is large against what a checkpoint changes of it.
  [[nodiscard]] static std::string key_text(std::uint64_t key) { return fmt::format("customer-{:0>200}", key); }
  /// Those records set a timer for their key, one gap later.
  [[nodiscard]] static bool sets_timer(std::int64_t number) noexcept { return number % 16 == 0; }

 private:
  static constexpr std::int64_t kStart_ms = 1'767'225'600'000;  // 2026.
  static std::uint64_t mixed(std::uint64_t bits) noexcept {
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ull;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebull;
    return bits ^ (bits >> 31);
  }
};

}  // namespace sluice::testing
