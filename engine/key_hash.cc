#include <sluice/engine/key_hash.h>

#include <xxhash.h>

#include <sluice/io/base/random.h>

namespace sluice::internal {

std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::uint64_t table_seed() noexcept {
  static const std::uint64_t seed = Random::seed_from_system();
  return seed;
}

}  // namespace sluice::internal
