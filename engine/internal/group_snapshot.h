#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/engine/context.h>
#include <sluice/engine/event_time.h>
#include <sluice/engine/key_group.h>
#include <sluice/io/base/result.h>

namespace sluice::internal {

/// The bytes of keyed state, indexed by key group; field by field in engine/keyed-state.md.
struct GroupHeader {
  KeyGroups groups;
  std::string type;     ///< its hash is in the bytes
  bool changes = false; ///< what changed since an earlier one, not all there is
  bool timed = false;   ///< entries carry when they were last used
  EventTime now{};      ///< the time that time-to-live is measured in
};

struct GroupBlock {
  KeyGroup group;
  bool whole = true;    ///< all of its group: what was there goes
  std::uint64_t entries = 0;  ///< about; room to be made
  std::string_view bytes;
};

/// Writes blocks one after the other; the number of blocks must be known before.
class GroupWriter {
 public:
  GroupWriter(std::string& out, const GroupHeader& header, std::uint16_t blocks);
  /// A block's entries are then appended to out().
  void begin(KeyGroup group, bool whole, std::uint64_t entries);
  void end();
  /// Requires: as many blocks as announced.
  void finish();
  [[nodiscard]] std::string& out() noexcept { return out_; }

 private:
  std::string& out_;
  const std::size_t start_;
  std::size_t index_ = 0, block_ = 0;  // Where the next row of the index goes, where the open block began.
  std::size_t end_of_index_ = 0;
};

struct GroupSnapshot {
  bool changes = false, timed = false;
  EventTime now{};
  std::vector<GroupBlock> blocks;  ///< of this shard only
};

/// The blocks in `bytes` that belong to the shard of `context`; only these are read and their checksums compared.
/// kCorrupt: damaged, or of another type. kInvalid: other key groups than the job's.
[[nodiscard]] Result<GroupSnapshot> read_groups(std::string_view bytes, const GroupHeader& expected, const Context& context);

/// Whether `bytes` say that they are of that type.
[[nodiscard]] bool written_as(const std::string& type, std::string_view bytes) noexcept;

/// For an entry that cannot be read although its block's checksum is right: a Codec that does not read what it wrote.
[[nodiscard]] Status unreadable(const Context& context, KeyGroup group);

}  // namespace sluice::internal
