#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include <sluice/io/base/id.h>

namespace sluice {

/// One ordered part of a source, read by one shard at a time: a partition of a topic, a file.
struct Split {
  std::string name;            ///< topic, or path
  std::int32_t partition = 0;  ///< 0 where a source has no partitions
  auto operator<=>(const Split&) const = default;
};

/// The shard that reads a split and holds the state that belongs to it. A pure function of its arguments, so that the
/// source and an operator's restored state agree without talking; partitions of a topic go round the shards.
[[nodiscard]] ShardId split_owner(const Split& split, std::uint16_t shards) noexcept;

/// Where reading goes on.
struct SplitPosition {
  std::string source;  ///< id of the source in the graph
  Split split;
  Offset next{0};      ///< everything below is in the checkpoint
  auto operator<=>(const SplitPosition&) const = default;
};

}  // namespace sluice
