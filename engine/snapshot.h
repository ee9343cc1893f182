#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sluice/engine/split.h>
#include <sluice/io/base/id.h>

namespace sluice {

/// One state of one operator instance, as bytes.
struct StateSnapshot {
  std::string operator_id;
  std::string state;
  std::string type;     ///< name of the state's type and layout; must be the same at restore
  ShardId shard;
  std::string bytes;
  /// 0: these bytes are all there is. Otherwise they are what changed since the checkpoint of that epoch was taken, or since an
  /// earlier one: applied behind what that one holds. Where a checkpoint is handed back, the first of a state is all there was
  /// once, and those behind it are changes, in order.
  Epoch since{0};
};

/// What a sink prepared in an epoch and can finish after a crash (files to be renamed). Opaque to all but the sink.
struct PreparedOutput {
  std::string sink;  ///< its id in the graph
  ShardId shard;
  std::string bytes;
};

/// Everything of one barrier, from all shards: what a checkpoint stores and a restore hands back.
struct CheckpointData {
  std::vector<SplitPosition> positions;
  std::vector<StateSnapshot> states;
  std::vector<PreparedOutput> prepared;

  /// Positions are all there is: the decision alone can carry them, nothing needs to be written.
  [[nodiscard]] bool positions_only() const noexcept { return states.empty() && prepared.empty(); }
  /// Appends what another stage or shard acknowledged.
  void merge(CheckpointData&& other);
};

}  // namespace sluice
