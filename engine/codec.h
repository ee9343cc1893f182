#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include <sluice/io/base/id.h>

namespace sluice {

/// How a type is written into state, and what its layout is called. There are ones for numbers, enums, strings, times, ids, containers,
/// optionals, variants, tuples, and aggregates described with BOOST_DESCRIBE_STRUCT. Specialise for own types:
///   static std::string name();                              // changes when the layout does
///   static void write(const T& value, std::string& out);
///   static bool read(std::string_view& in, T& value);       // takes its bytes off the front; false: damaged
template <class T>
struct Codec;

/// What a key or a value of keyed state must have.
template <class T>
concept Encodable = requires(const T& value, T& into, std::string& out, std::string_view& in) {
  { Codec<T>::name() } -> std::convertible_to<std::string>;
  Codec<T>::write(value, out);
  { Codec<T>::read(in, into) } -> std::same_as<bool>;
};

/// Little-endian, fixed width.
template <class T>
  requires std::is_arithmetic_v<T>
struct Codec<T> {
  static std::string name() {
    if constexpr (std::same_as<T, bool>) return "bool";
    const char kind = std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u';
    return kind + std::to_string(sizeof(T) * 8);
  }
  static void write(const T& value, std::string& out) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    out.append(bytes, sizeof(T));
  }
  static bool read(std::string_view& in, T& value) {
    if (in.size() < sizeof(T)) return false;
    if constexpr (std::same_as<T, bool>) {
      if (static_cast<unsigned char>(in.front()) > 1) return false;  // A bool that is neither is undefined behaviour.
    }
    std::memcpy(&value, in.data(), sizeof(T));
    in.remove_prefix(sizeof(T));
    return true;
  }
};

template <class T>
  requires std::is_enum_v<T>
struct Codec<T> {
  using Number = std::underlying_type_t<T>;
  static std::string name() { return "enum:" + Codec<Number>::name(); }
  static void write(const T& value, std::string& out) { Codec<Number>::write(static_cast<Number>(value), out); }
  static bool read(std::string_view& in, T& value) {
    Number number{};
    if (!Codec<Number>::read(in, number)) return false;
    value = static_cast<T>(number);
    return true;
  }
};

template <class Tag, class Rep>
struct Codec<Id<Tag, Rep>> {
  static std::string name() { return Codec<Rep>::name(); }
  static void write(const Id<Tag, Rep>& value, std::string& out) { Codec<Rep>::write(value.value(), out); }
  static bool read(std::string_view& in, Id<Tag, Rep>& value) {
    Rep number{};
    if (!Codec<Rep>::read(in, number)) return false;
    value = Id<Tag, Rep>(number);
    return true;
  }
};

/// The unit is in the name: milliseconds are not read as seconds.
template <class Rep, class Period>
struct Codec<std::chrono::duration<Rep, Period>> {
  using Duration = std::chrono::duration<Rep, Period>;
  static std::string name() {
    return "duration<" + Codec<Rep>::name() + "," + std::to_string(Period::num) + "/" + std::to_string(Period::den) + ">";
  }
  static void write(const Duration& value, std::string& out) { Codec<Rep>::write(value.count(), out); }
  static bool read(std::string_view& in, Duration& value) {
    Rep count{};
    if (!Codec<Rep>::read(in, count)) return false;
    value = Duration(count);
    return true;
  }
};
template <class Duration>
struct Codec<std::chrono::sys_time<Duration>> {
  static std::string name() { return "time:" + Codec<Duration>::name(); }
  static void write(const std::chrono::sys_time<Duration>& value, std::string& out) {
    Codec<Duration>::write(value.time_since_epoch(), out);
  }
  static bool read(std::string_view& in, std::chrono::sys_time<Duration>& value) {
    Duration since{};
    if (!Codec<Duration>::read(in, since)) return false;
    value = std::chrono::sys_time<Duration>(since);
    return true;
  }
};

/// A 64-bit length, then the bytes.
template <>
struct Codec<std::string> {
  static std::string name() { return "string"; }
  static void write(const std::string& value, std::string& out) {
    Codec<std::uint64_t>::write(value.size(), out);
    out += value;
  }
  static bool read(std::string_view& in, std::string& value) {
    std::uint64_t size = 0;
    if (!Codec<std::uint64_t>::read(in, size) || in.size() < size) return false;
    value.assign(in.substr(0, size));
    in.remove_prefix(size);
    return true;
  }
};

}  // namespace sluice

// Found by whoever includes this: a container of a type, a type of containers.
#include <sluice/engine/codec_composed.h>
