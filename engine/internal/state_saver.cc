#include <sluice/engine/internal/state_saver.h>

#include <utility>

namespace sluice::internal {

void StateSaver::watch(const StateSet& states) {
  for (const auto& [name, state] : states.all()) {
    watched_.push_back({.name = name, .state = state, .keyed = dynamic_cast<KeyedState*>(state)});
  }
}

void StateSaver::save(Epoch epoch, const Context& context, CheckpointData& into) {
  for (Watched& one : watched_) {
    StateSnapshot snapshot{context.operator_id, one.name, one.state->type(), context.shard, {}, Epoch(0)};
    if (one.keyed == nullptr) {
      one.state->save(snapshot.bytes);
    } else {
      one.keyed->mark(epoch);
      one.marked = epoch;
      one.whole = one.since == Epoch(0) || one.files >= kFilesMax || one.bytes + (one.files + 1) * kFileBytes >= one.base_bytes;
      if (one.whole) {
        one.keyed->save(snapshot.bytes);
        one.base_bytes = snapshot.bytes.size();
      } else {
        one.keyed->save_changes(snapshot.bytes);
        snapshot.since = one.since;
        one.bytes += snapshot.bytes.size();  // Those of a checkpoint that failed too: then all of it comes a little earlier.
        ++one.files;
      }
    }
    into.states.push_back(std::move(snapshot));
  }
}

void StateSaver::confirm(Epoch epoch) {
  for (Watched& one : watched_) {
    // With a later barrier in between, the container keeps everything marked until that one is confirmed.
    if (one.keyed == nullptr || one.marked != epoch) continue;
    one.keyed->confirm(epoch);
    one.since = epoch;
    if (std::exchange(one.whole, false)) one.bytes = one.files = 0;
  }
}

}  // namespace sluice::internal
