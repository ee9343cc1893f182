#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include <sluice/engine/carry.h>
#include <sluice/engine/codec.h>
#include <sluice/engine/key_hash.h>

namespace sluice::nexmark {

/// A text of the generator's tables, which live as long as the process: nobody has to copy it to keep it, or to show it to another
/// shard. What a checkpoint gives back lives as long.
struct Text {
  std::string_view view;
  bool operator==(const Text&) const = default;
};

/// `text` where it stays: for what is restored only.
[[nodiscard]] inline std::string_view kept_for_ever(std::string_view text) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> texts;
  const std::lock_guard lock(mutex);
  const auto found = texts.find(text);
  return found != texts.end() ? *found : *texts.emplace(text).first;
}

}  // namespace sluice::nexmark

namespace sluice {

template <>
struct Carry<nexmark::Text> : internal::CarryNothing<nexmark::Text> {};

template <>
struct KeyHash<nexmark::Text> {
  static std::uint64_t hash(const nexmark::Text& text, std::uint64_t seed) noexcept {
    return KeyHash<std::string_view>::hash(text.view, seed);
  }
};

template <>
struct Codec<nexmark::Text> {
  static std::string name() { return "string"; }
  static void write(const nexmark::Text& text, std::string& out) {
    Codec<std::uint64_t>::write(text.view.size(), out);
    out += text.view;
  }
  static bool read(std::string_view& in, nexmark::Text& text) {
    std::uint64_t size = 0;
    if (!Codec<std::uint64_t>::read(in, size) || in.size() < size) return false;
    text.view = nexmark::kept_for_ever(in.substr(0, size));
    in.remove_prefix(size);
    return true;
  }
};

}  // namespace sluice
