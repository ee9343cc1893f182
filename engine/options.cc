#include <sluice/engine/options.h>

#include <chrono>

#include <fmt/chrono.h>

namespace sluice {
namespace {

using std::chrono::milliseconds;

Status between(const char* name, std::chrono::nanoseconds value, std::chrono::nanoseconds low, std::chrono::nanoseconds high) {
  if (value >= low && value <= high) return {};
  const auto ms = [](std::chrono::nanoseconds time) { return std::chrono::duration_cast<milliseconds>(time).count(); };
  return Status(Code::kInvalid, fmt::format("{} is {} ms: it must lie between {} ms and {} ms", name, ms(value), ms(low), ms(high)));
}

}  // namespace

Status JobOptions::check() const {
  using namespace std::chrono_literals;
  SLUICE_TRY(between("checkpoint.interval", checkpoint.interval, 1ms, 1h));
  SLUICE_TRY(between("checkpoint.timeout", checkpoint.timeout, 10ms, 24h));
  SLUICE_TRY(between("checkpoint.min_pause", checkpoint.min_pause, 0ms, 1h));
  SLUICE_TRY(between("restart.delay", restart.delay, 0ms, 1h));
  SLUICE_TRY(between("restart.delay_max", restart.delay_max, 0ms, 24h));
  if (checkpoint.keep < 1) return Status(Code::kInvalid, "checkpoint.keep is 0: at least the decided checkpoint must stay, set 1 or more");
  if (shards < 1 || shards > 1024) return Status(Code::kInvalid, "shards is", shards, "but must lie between 1 and 1024");
  if (key_groups < 1 || key_groups > KeyGroups::kMaxCount) return Status(Code::kInvalid, "key_groups is", key_groups, "but must lie between 1 and", KeyGroups::kMaxCount);
  if (hold_bytes_max < 1024) return Status(Code::kInvalid, "hold_bytes_max is", hold_bytes_max, "but must be 1024 or more");
  return {};
}

}  // namespace sluice
