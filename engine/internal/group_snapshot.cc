#include <sluice/engine/internal/group_snapshot.h>

#include <cstring>

#include <fmt/format.h>

#include <sluice/engine/codec.h>
#include <sluice/io/base/assert.h>

namespace sluice::internal {
namespace {

constexpr std::uint32_t kMagic = 0x534b4c53;  // "SLKS"
constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kChanges = 1, kTimed = 2;
constexpr std::size_t kRowBytes = 2 + 1 + 8 + 8 + 8 + 8;
constexpr std::size_t kFlagsAt = 4 + 1, kTypeAt = kFlagsAt + 1 + 2 + 8;
constexpr std::size_t kHeaderBytes = kTypeAt + 8 + 8 + 2;

template <class T>
void put(std::string& out, std::size_t at, T value) {
  std::memcpy(out.data() + at, &value, sizeof(T));
}

std::uint64_t checksum(std::string_view bytes) noexcept { return hash_bytes(bytes, 0); }

Status damaged(const Context& context, std::string_view what) {
  return Status(Code::kCorrupt, fmt::format("keyed state of operator \"{}\": {}; restore an older checkpoint",
                                            context.operator_id, what));
}

struct Row {
  KeyGroup group;
  bool whole = false;
  std::uint64_t entries = 0, offset = 0, size = 0, checksum = 0;
};

bool read_row(std::string_view& in, Row& row) {
  return Codec<KeyGroup>::read(in, row.group) && Codec<bool>::read(in, row.whole) &&
         Codec<std::uint64_t>::read(in, row.entries) && Codec<std::uint64_t>::read(in, row.offset) &&
         Codec<std::uint64_t>::read(in, row.size) && Codec<std::uint64_t>::read(in, row.checksum);
}

}  // namespace

GroupWriter::GroupWriter(std::string& out, const GroupHeader& header, std::uint16_t blocks) : out_(out), start_(out.size()) {
  Codec<std::uint32_t>::write(kMagic, out_);
  Codec<std::uint8_t>::write(kVersion, out_);
  const unsigned flags = (header.changes ? kChanges : 0u) | (header.timed ? kTimed : 0u);
  Codec<std::uint8_t>::write(static_cast<std::uint8_t>(flags), out_);
  Codec<std::uint16_t>::write(header.groups.count(), out_);
  Codec<std::uint64_t>::write(header.groups.seed(), out_);
  Codec<std::uint64_t>::write(checksum(header.type), out_);
  Codec<EventTime>::write(header.now, out_);
  Codec<std::uint16_t>::write(blocks, out_);
  index_ = out_.size();
  end_of_index_ = index_ + blocks * kRowBytes;
  out_.resize(end_of_index_ + 8);  // Rows and their checksum are filled in when the blocks are known.
}

void GroupWriter::begin(KeyGroup group, bool whole, std::uint64_t entries) {
  SLUICE_ASSERT(index_ < end_of_index_);
  block_ = out_.size();
  put(out_, index_, group.value());
  put(out_, index_ + 2, static_cast<std::uint8_t>(whole));
  put(out_, index_ + 3, entries);
}

void GroupWriter::end() {
  const std::string_view bytes = std::string_view(out_).substr(block_);
  put(out_, index_ + 11, static_cast<std::uint64_t>(block_ - start_));
  put(out_, index_ + 19, static_cast<std::uint64_t>(bytes.size()));
  put(out_, index_ + 27, checksum(bytes));
  index_ += kRowBytes;
}

void GroupWriter::finish() {
  SLUICE_ASSERT(index_ == end_of_index_);
  put(out_, end_of_index_, checksum(std::string_view(out_).substr(start_, end_of_index_ - start_)));
}

Result<GroupSnapshot> read_groups(std::string_view bytes, const GroupHeader& expected, const Context& context) {
  std::string_view in = bytes;
  std::uint32_t magic = 0;
  std::uint8_t version = 0, flags = 0;
  std::uint16_t groups = 0, blocks = 0;
  std::uint64_t seed = 0, type = 0, sum = 0;
  GroupSnapshot snapshot;
  if (!Codec<std::uint32_t>::read(in, magic) || magic != kMagic) return damaged(context, "these are not its bytes");
  if (!Codec<std::uint8_t>::read(in, version)) return damaged(context, "ends in its header");
  if (version != kVersion) {
    return Status(Code::kCorrupt, fmt::format("keyed state of operator \"{}\" has format {}, this program reads {}: "
                                              "restore it with the version that wrote it, or newer",
                                              context.operator_id, version, kVersion));
  }
  if (!Codec<std::uint8_t>::read(in, flags) || !Codec<std::uint16_t>::read(in, groups) ||
      !Codec<std::uint64_t>::read(in, seed) || !Codec<std::uint64_t>::read(in, type) ||
      !Codec<EventTime>::read(in, snapshot.now) || !Codec<std::uint16_t>::read(in, blocks)) {
    return damaged(context, "ends in its header");
  }
  if (in.size() < blocks * kRowBytes + 8) return damaged(context, "ends in its index");
  std::string_view rows = in.substr(0, blocks * kRowBytes);
  in.remove_prefix(rows.size());
  Codec<std::uint64_t>::read(in, sum);
  if (sum != checksum(bytes.substr(0, kHeaderBytes + rows.size()))) return damaged(context, "the checksum of its index differs");
  if (type != checksum(expected.type)) {
    return Status(Code::kCorrupt, fmt::format("keyed state of operator \"{}\" was not written as {}: restore with the "
                                              "program that wrote it, or start from nothing with --reset-decision",
                                              context.operator_id, expected.type));
  }
  if (groups != expected.groups.count() || seed != expected.groups.seed()) {
    return Status(Code::kInvalid,
                  fmt::format("keyed state of operator \"{}\" has {} key groups with seed {:x} in the checkpoint, the job has "
                              "{} with seed {:x}: both are fixed for a job's life, set them back",
                              context.operator_id, groups, seed, expected.groups.count(), expected.groups.seed()));
  }
  snapshot.changes = (flags & kChanges) != 0;
  snapshot.timed = (flags & kTimed) != 0;
  Row row;
  while (read_row(rows, row)) {
    if (row.group.value() >= groups || row.offset > bytes.size() || row.size > bytes.size() - row.offset) {
      return damaged(context, fmt::format("key group {} lies outside of its bytes", row.group));
    }
    if (expected.groups.owner(row.group, context.parallelism) != context.shard) continue;
    const std::string_view block = bytes.substr(row.offset, row.size);
    if (checksum(block) != row.checksum) {
      return damaged(context, fmt::format("the checksum of key group {} differs", row.group));
    }
    snapshot.blocks.push_back({row.group, row.whole, row.entries, block});
  }
  return snapshot;
}

bool written_as(const std::string& type, std::string_view bytes) noexcept {
  std::uint64_t hash = 0;
  if (bytes.size() < kHeaderBytes) return false;
  bytes.remove_prefix(kTypeAt);
  return Codec<std::uint64_t>::read(bytes, hash) && hash == checksum(type);
}

Status unreadable(const Context& context, KeyGroup group) {
  return Status(Code::kCorrupt, fmt::format("keyed state of operator \"{}\": an entry of key group {} is not what its Codec "
                                            "writes; check that Codec::read takes what Codec::write gave",
                                            context.operator_id, group));
}

}  // namespace sluice::internal
