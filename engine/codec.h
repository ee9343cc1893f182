#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace sluice {

/// How a type is written into state, and what its layout is called. Specialise for own types:
///   static std::string name();                              // changes when the layout does
///   static void write(const T& value, std::string& out);
///   static bool read(std::string_view& in, T& value);       // takes its bytes off the front; false: damaged
template <class T>
struct Codec;

/// Little-endian, fixed width.
template <class T>
  requires std::is_arithmetic_v<T>
struct Codec<T> {
  static std::string name() {
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
    std::memcpy(&value, in.data(), sizeof(T));
    in.remove_prefix(sizeof(T));
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
