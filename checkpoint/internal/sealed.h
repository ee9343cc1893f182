#pragma once

#include <sluice/io/base/result.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::internal {

// What a sealed file is, by its first eight bytes.
inline constexpr std::string_view kJobMagic = "sluice-J";
inline constexpr std::string_view kManifestMagic = "sluice-M";
inline constexpr std::string_view kDecisionMagic = "sluice-D";
inline constexpr std::string_view kStateMagic =
    "sluice-S";  // A state file is not sealed: the manifest has its digest.

inline constexpr std::uint32_t kFormatVersion = 1;
inline constexpr std::uint64_t kSealBytes = 8 + 4 + 8 + 8;

/// Magic, format version, length, payload, checksum: the frame of every small file. It stays the
/// same in every version, so that a newer one can be told from a damaged one.
[[nodiscard]] std::string seal(std::string_view magic, std::string_view payload);
/// The payload, a view into `bytes`. Damage: kCorrupt with what differs; another format version:
/// kInvalid, exit 65.
[[nodiscard]] Result<std::string_view> unseal(std::string_view magic, std::string_view bytes);

}  // namespace sluice::internal
