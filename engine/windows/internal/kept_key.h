#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include <sluice/engine/collector.h>
#include <sluice/engine/key_hash.h>

namespace sluice::internal {

/// What is kept of a key beyond its batch: itself, or the bytes that it shows. give() makes a key for a result.
template <class Key>
struct KeptKey {
  using Type = Key;
  static const Key& show(const Type& kept) noexcept { return kept; }
  static const Type& keep(const Key& key) noexcept { return key; }
  template <class Out>
  static const Key& give(const Type& kept, Collector<Out>&) noexcept {
    return kept;
  }
};
template <>
struct KeptKey<std::string_view> {
  using Type = std::string;
  static std::string_view show(const Type& kept) noexcept { return kept; }
  static Type keep(std::string_view key) { return Type(key); }
  template <class Out>
  static std::string_view give(const Type& kept, Collector<Out>& out) {
    return out.arena().copy(kept);
  }
};
template <>
struct KeptKey<Bytes> {
  using Type = std::optional<std::string>;
  static Bytes show(const Type& kept) noexcept { return kept ? Bytes(std::string_view(*kept)) : Bytes(); }
  static Type keep(const Bytes& key) { return key.null() ? Type() : Type(std::string(key.view())); }
  template <class Out>
  static Bytes give(const Type& kept, Collector<Out>& out) {
    return kept ? Bytes(out.arena().copy(*kept)) : Bytes();
  }
};

template <class Key>
struct KeptHash {
  using Kept = typename KeptKey<Key>::Type;
  using is_avalanching = void;  // What KeyHash gives needs no second mixing.
  using is_transparent = void;
  std::uint64_t seed = table_seed();
  std::size_t operator()(const Key& key) const { return KeyHash<Key>::hash(key, seed); }
  std::size_t operator()(const Kept& kept) const requires(!std::same_as<Kept, Key>) {
    return KeyHash<Key>::hash(KeptKey<Key>::show(kept), seed);
  }
};
template <class Key>
struct KeptEqual {
  using Kept = typename KeptKey<Key>::Type;
  using is_transparent = void;
  static const Key& show(const Key& key) noexcept { return key; }
  static Key show(const Kept& kept) noexcept requires(!std::same_as<Kept, Key>) { return KeptKey<Key>::show(kept); }
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return show(a) == show(b);
  }
};

/// A key for a log line; never the whole of a long one.
template <class Key>
[[nodiscard]] std::string text_of(const Key& key) {
  constexpr std::size_t kShown = 64;
  const auto quoted = [](std::string_view text) {
    return fmt::format("\"{}\"{}", text.substr(0, kShown), text.size() > kShown ? "…" : "");
  };
  if constexpr (std::same_as<Key, Bytes>) {
    return key.null() ? "null" : quoted(key.view());
  } else if constexpr (std::convertible_to<Key, std::string_view>) {
    return quoted(key);
  } else if constexpr (std::is_enum_v<Key>) {
    return fmt::format("{}", static_cast<std::int64_t>(key));
  } else if constexpr (fmt::is_formattable<Key>::value) {
    return fmt::format("{}", key);
  } else {
    return "of its own type";
  }
}

}  // namespace sluice::internal
