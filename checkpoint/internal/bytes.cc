#include <sluice/checkpoint/internal/bytes.h>
#include <sluice/checkpoint/internal/digest.h>

namespace sluice::internal {
namespace {

constexpr std::uint64_t kPositionBytesMin = 1 + 1 + 4 + 8;

}  // namespace

void ByteWriter::fixed(std::uint64_t value, int width) {
  for (int at = 0; at < width; ++at) bytes_ += static_cast<char>(value >> (8 * at) & 0xff);
}

void ByteWriter::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7f) | 0x80);
  bytes_ += static_cast<char>(value);
}

void ByteWriter::string(std::string_view text) {
  varint(text.size());
  raw(text);
}

void ByteWriter::positions(const std::vector<SplitPosition>& positions) {
  varint(positions.size());
  for (const SplitPosition& position : positions) {
    string(position.source);
    string(position.split.name);
    u32(static_cast<std::uint32_t>(position.split.partition));
    u64(static_cast<std::uint64_t>(position.next.value()));
  }
}

std::string_view ByteReader::raw(std::uint64_t size) {
  if (size > left_.size()) {
    fail();
    return {};
  }
  const std::string_view bytes = left_.substr(0, size);
  left_.remove_prefix(size);
  return bytes;
}

std::uint64_t ByteReader::fixed(unsigned width) {
  std::uint64_t value = 0;
  unsigned shift = 0;
  for (const char byte : raw(width)) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(byte)) << shift;
    shift += 8;
  }
  return value;
}

std::uint64_t ByteReader::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const std::uint64_t byte = u8();
    if (!ok()) return 0;
    const bool beyond_64_bits = shift == 63 && byte > 1;
    const bool longer_than_needed = shift > 0 && byte == 0;
    if (beyond_64_bits || longer_than_needed) break;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  fail();
  return 0;
}

std::string ByteReader::string() { return std::string(raw(varint())); }

Uuid ByteReader::uuid() {
  const std::string_view text = raw(32);
  const Uuid id = Uuid::parse(text);
  if (id.nil() || id.to_string() != text) fail();
  return ok() ? id : Uuid();
}

std::string ByteReader::digest() {
  const std::string_view text = raw(32);
  if (!is_digest(text)) fail();
  return ok() ? std::string(text) : std::string();
}

std::uint64_t ByteReader::count(std::uint64_t bytes_min) {
  const std::uint64_t records = varint();
  if (records > left_.size() / bytes_min) fail();
  return ok() ? records : 0;
}

std::vector<SplitPosition> ByteReader::positions() {
  std::vector<SplitPosition> positions;
  for (std::uint64_t left = count(kPositionBytesMin); left > 0 && ok(); --left) {
    SplitPosition position;
    position.source = string();
    position.split.name = string();
    position.split.partition = static_cast<std::int32_t>(u32());
    position.next = Offset(static_cast<std::int64_t>(u64()));
    positions.push_back(std::move(position));
  }
  return positions;
}

}  // namespace sluice::internal
