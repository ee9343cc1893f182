#include <sluice/engine/snapshot.h>

#include <iterator>

namespace sluice {

void CheckpointData::merge(CheckpointData&& other) {
  const auto move_behind = [](auto& into, auto& from) {
    into.insert(into.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  move_behind(positions, other.positions);
  move_behind(states, other.states);
  move_behind(prepared, other.prepared);
}

}  // namespace sluice
