#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sluice/engine/context.h>
#include <sluice/engine/keyed_state.h>
#include <sluice/engine/snapshot.h>
#include <sluice/engine/state.h>

namespace sluice::internal {

/// What a barrier takes of one operator's states: of keyed state what changed since the last checkpoint that is known to be durable,
/// of others all of it. All of keyed state too where none is known (the first barrier of an attempt), and where a restore would
/// read more than that to get there: the changes of several checkpoints, or many small files.
///
/// Shard      its operator's.
/// Units      a file that a restore has to open counts as kFileBytes.
/// Errors     none. What a container throws passes through.
/// Ownership  the StateSet and what it names outlive it.
class StateSaver {
 public:
  static constexpr std::uint64_t kFileBytes = 64u << 10;
  static constexpr std::uint32_t kFilesMax = 128;

  void watch(const StateSet& states);
  /// Barrier `epoch`: marks, and appends a snapshot of each state.
  void save(Epoch epoch, const Context& context, CheckpointData& into);
  /// The checkpoint of `epoch` is durable. One that never is becomes part of the next.
  void confirm(Epoch epoch);

 private:
  struct Watched {
    std::string name;
    State* state = nullptr;
    KeyedState* keyed = nullptr;  // The same, where it knows what changed.
    Epoch since{0};               // The last confirmed; 0: none.
    Epoch marked{0};
    bool whole = false;           // What was saved at `marked`.
    std::uint64_t base_bytes = 0, bytes = 0;  // Of the last whole one, and of the changes behind it.
    std::uint32_t files = 0;                  // With changes.
  };
  std::vector<Watched> watched_;
};

}  // namespace sluice::internal
