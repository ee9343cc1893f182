#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <sluice/engine/key_group.h>
#include <sluice/io/base/status.h>
#include <sluice/io/file.h>

namespace sluice {

struct CheckpointOptions {
  std::chrono::nanoseconds interval = std::chrono::seconds(1);  ///< 1 ms to 1 h, between barriers
  std::chrono::nanoseconds timeout = std::chrono::minutes(10);  ///< barrier to durable; then the checkpoint has failed
  std::chrono::nanoseconds min_pause{0};                        ///< between a decision and the next barrier
  std::uint32_t tolerable_failures = 3;  ///< in a row; the epoch merges into the next one. Then the job recovers.
  std::uint32_t keep = 3;                ///< decided checkpoints, 1 or more
  std::filesystem::path directory = {};  ///< default "state/<job>"
};

/// What follows a failed attempt, in process. Counted in sluice_restarts_total.
struct RestartOptions {
  enum class Strategy : std::uint8_t { kNone, kFixedDelay, kExponential, kFailureRate };
  Strategy strategy = Strategy::kExponential;
  std::chrono::nanoseconds delay = std::chrono::milliseconds(100);  ///< the first one of kExponential
  std::chrono::nanoseconds delay_max = std::chrono::seconds(30);
  std::uint32_t attempts_max = 0;                                   ///< kFixedDelay: 0 = no limit
  std::chrono::nanoseconds reset_after = std::chrono::minutes(1);   ///< of work without a failure: counted anew
  std::uint32_t failures_max = 3;                                   ///< kFailureRate: within `interval`
  std::chrono::nanoseconds interval = std::chrono::minutes(5);
};

struct JobOptions {
  CheckpointOptions checkpoint;
  RestartOptions restart;
  std::uint16_t shards = 1;
  std::vector<int> pin;
  std::uint16_t key_groups = KeyGroups::kDefaultCount;  ///< 1 to 32,768; fixed for a job's life: keyed state lies under them
  std::size_t hold_bytes_max = 64u << 20;  ///< output behind a barrier, all sinks and shards together
  io::FileBackend files = io::FileBackend::kAutomatic;
  std::string file_faults;                 ///< for tests: see io/file.h; environment SLUICE_FILE_FAULTS
  bool reset_decision = false;             ///< forget what is decided and start from nothing
  std::chrono::nanoseconds idle_skip_max = std::chrono::seconds(30);  ///< an idle job decides at least this often

  /// kInvalid with the option's name, its value and its range.
  [[nodiscard]] Status check() const;
};

}  // namespace sluice
