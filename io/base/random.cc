#include <sluice/io/base/random.h>

#include <sys/random.h>

#include <charconv>

#include <fmt/format.h>

#include <sluice/io/base/assert.h>

namespace sluice {

std::uint64_t Random::seed_from_system() {
  std::uint64_t seed = 0;
  const auto got = ::getrandom(&seed, sizeof seed, 0);
  SLUICE_ASSERT(got == sizeof seed);
  return seed;
}

Uuid Uuid::make() {
  Uuid made;
  while (made.nil()) made.words_ = {Random::seed_from_system(), Random::seed_from_system()};
  return made;
}

Uuid Uuid::parse(std::string_view text) {
  Uuid parsed;
  if (text.size() != 32) return {};
  for (int half = 0; half < 2; ++half) {
    const char* begin = text.data() + half * 16;
    const auto [end, error] = std::from_chars(begin, begin + 16, parsed.words_[static_cast<std::size_t>(half)], 16);
    if (error != std::errc() || end != begin + 16) return {};
  }
  return parsed;
}

std::string Uuid::to_string() const { return fmt::format("{:016x}{:016x}", words_[0], words_[1]); }

}  // namespace sluice
