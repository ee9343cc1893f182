#include <sluice/engine/split.h>

namespace sluice {

ShardId split_owner(const Split& split, std::uint16_t shards) noexcept {
  // FNV-1a: fixed for ever, as a restored job must find the same owner on any machine and with any library.
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : split.name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  const std::uint64_t place = hash % shards + static_cast<std::uint64_t>(split.partition);
  return ShardId(static_cast<std::uint16_t>(place % shards));
}

}  // namespace sluice
