#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <boost/describe/members.hpp>

#include <sluice/engine/codec.h>
#include <sluice/engine/record.h>

namespace sluice {

namespace internal {

/// XXH3 with a seed, little-endian input: the same on every machine.
[[nodiscard]] std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed) noexcept;
/// Drawn once a process: who chooses the keys does not know where they fall in a table.
[[nodiscard]] std::uint64_t table_seed() noexcept;

/// Both halves of a 128-bit product: every bit of the result hangs on every bit of the number.
[[nodiscard]] inline std::uint64_t fold(std::uint64_t number, std::uint64_t factor) noexcept {
  __extension__ typedef unsigned __int128 Wide;
  const Wide product = static_cast<Wide>(number) * factor;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}
[[nodiscard]] inline std::uint64_t hash_number(std::uint64_t number, std::uint64_t seed) noexcept {
  return fold(number ^ seed, 0x9e3779b97f4a7c15ull);
}

}  // namespace internal

/// A window of a key: state of it lives in the key group of the key, whatever the window.
template <class Key, class Window>
struct WindowKey {
  Key key{};
  Window window{};
  auto operator<=>(const WindowKey&) const = default;
};

template <class Key, class Window>
struct Codec<WindowKey<Key, Window>> {
  static std::string name() { return "window<" + Codec<Key>::name() + "," + Codec<Window>::name() + ">"; }
  static void write(const WindowKey<Key, Window>& value, std::string& out) {
    Codec<Key>::write(value.key, out);
    Codec<Window>::write(value.window, out);
  }
  static bool read(std::string_view& in, WindowKey<Key, Window>& value) {
    return Codec<Key>::read(in, value.key) && Codec<Window>::read(in, value.window);
  }
};

/// How a key is passed: a string by a view, so that looking it up copies nothing.
template <class Key>
using KeyArg = std::conditional_t<std::same_as<Key, std::string>, std::string_view, const Key&>;

/// How a key is hashed, for its key group and for its place in a table. `hash` is a function of the value and the seed alone, fixed
/// for ever: a restored job must find its keys. An own type hashes by the bytes of its Codec, unless this is specialised too.
///   static std::uint64_t hash(const T& key, std::uint64_t seed);
template <class T>
struct KeyHash {
  static std::uint64_t hash(const T& key, std::uint64_t seed) {
    if constexpr (boost::describe::has_describe_members<T>::value) {
      using namespace boost::describe;
      boost::mp11::mp_for_each<describe_members<T, mod_any_access | mod_inherited>>([&](auto member) {
        using Field = std::remove_cvref_t<decltype(key.*member.pointer)>;
        seed = KeyHash<Field>::hash(key.*member.pointer, seed);
      });
      return seed;
    } else {
      thread_local std::string bytes;
      bytes.clear();
      Codec<T>::write(key, bytes);
      return internal::hash_bytes(bytes, seed);
    }
  }
};

/// The same number has the same hash in any width.
template <std::integral T>
struct KeyHash<T> {
  static std::uint64_t hash(T key, std::uint64_t seed) noexcept {
    return internal::hash_number(static_cast<std::uint64_t>(key), seed);
  }
};
template <std::floating_point T>
struct KeyHash<T> {
  static_assert(!std::floating_point<T>, "a floating-point number is no key: NaN is not equal to itself, 0.0 is to -0.0");
};
template <class T>
  requires std::is_enum_v<T>
struct KeyHash<T> {
  static std::uint64_t hash(T key, std::uint64_t seed) noexcept {
    return internal::hash_number(static_cast<std::uint64_t>(key), seed);
  }
};
template <class Tag, class Rep>
struct KeyHash<Id<Tag, Rep>> {
  static std::uint64_t hash(Id<Tag, Rep> key, std::uint64_t seed) noexcept { return KeyHash<Rep>::hash(key.value(), seed); }
};
template <class Clock, class Duration>
struct KeyHash<std::chrono::time_point<Clock, Duration>> {
  static std::uint64_t hash(std::chrono::time_point<Clock, Duration> key, std::uint64_t seed) noexcept {
    return KeyHash<typename Duration::rep>::hash(key.time_since_epoch().count(), seed);
  }
};

/// A string and a view of its bytes have one hash.
template <class T>
  requires std::same_as<T, std::string> || std::same_as<T, std::string_view>
struct KeyHash<T> {
  static std::uint64_t hash(std::string_view key, std::uint64_t seed) noexcept { return internal::hash_bytes(key, seed); }
};
/// Null is a key of its own, not the empty one; every other hashes as its string.
template <>
struct KeyHash<Bytes> {
  static std::uint64_t hash(const Bytes& key, std::uint64_t seed) noexcept {
    return key.null() ? internal::hash_number(0, seed) : internal::hash_bytes(key.view(), seed);
  }
};

template <class A, class B>
struct KeyHash<std::pair<A, B>> {
  static std::uint64_t hash(const std::pair<A, B>& key, std::uint64_t seed) {
    return KeyHash<B>::hash(key.second, KeyHash<A>::hash(key.first, seed));
  }
};
template <class... Ts>
struct KeyHash<std::tuple<Ts...>> {
  static std::uint64_t hash(const std::tuple<Ts...>& key, std::uint64_t seed) {
    std::apply([&](const Ts&... part) { ((seed = KeyHash<Ts>::hash(part, seed)), ...); }, key);
    return seed;
  }
};
template <class Key, class Window>
struct KeyHash<WindowKey<Key, Window>> {
  static std::uint64_t hash(const WindowKey<Key, Window>& key, std::uint64_t seed) {
    return KeyHash<Window>::hash(key.window, KeyHash<Key>::hash(key.key, seed));
  }
};

}  // namespace sluice
