#include <sluice/checkpoint/internal/bytes.h>
#include <sluice/checkpoint/internal/digest.h>
#include <sluice/checkpoint/internal/sealed.h>

namespace sluice::internal {

std::string seal(std::string_view magic, std::string_view payload) {
  SLUICE_ASSERT(magic.size() == 8);
  ByteWriter out;
  out.raw(magic);
  out.u32(kFormatVersion);
  out.u64(payload.size());
  out.raw(payload);
  out.u64(checksum_of(out.bytes()));
  return std::move(out).take();
}

Result<std::string_view> unseal(std::string_view magic, std::string_view bytes) {
  const auto damaged = [](std::string why) { return Status(Code::kCorrupt, why); };
  if (bytes.empty()) return damaged("is empty");
  if (bytes.size() < kSealBytes)
    return damaged(fmt::format("is cut short, after {} bytes", bytes.size()));
  ByteReader reader(bytes);
  if (reader.raw(8) != magic) return damaged(fmt::format("does not begin with \"{}\"", magic));
  const std::uint32_t version = reader.u32();
  const std::uint64_t payload_bytes = reader.u64();
  if (payload_bytes != bytes.size() - kSealBytes) {
    return damaged(fmt::format("has {} bytes, but its length field asks for {} and a frame of {}",
                               bytes.size(), payload_bytes, kSealBytes));
  }
  const std::string_view payload = reader.raw(payload_bytes);
  if (reader.u64() != checksum_of(bytes.substr(0, bytes.size() - 8)))
    return damaged("differs from its checksum");
  if (version != kFormatVersion) {
    return Status(Code::kInvalid, "has format version", version, "and this sluice knows",
                  kFormatVersion, "only; use the version that wrote it")
        .exit(ExitStatus::kData);
  }
  return payload;
}

}  // namespace sluice::internal
