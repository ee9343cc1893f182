#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/describe/members.hpp>
#include <boost/mp11/algorithm.hpp>

#include <sluice/engine/batch.h>
#include <sluice/engine/keyed.h>
#include <sluice/engine/record.h>
#include <sluice/io/base/id.h>

namespace sluice {

/// How a value's views follow it into the memory of another batch, when it crosses to another shard. Values of types that nobody
/// has told about cross as they are, and their batch keeps the memory of the one that they come from: right for all, but a slow
/// shard then pins what other shards read. Specialise for own types that are not described with Boost.Describe:
///   static std::size_t bytes(const T& value) noexcept;   // exactly what into() will allocate, at most
///   static void into(T& value, Arena& arena);            // copies what its views show, and points them there
template <class T>
struct Carry;

template <class T>
concept Carried = requires(T& value, const T& constant, Arena& arena) {
  { Carry<T>::bytes(constant) } -> std::same_as<std::size_t>;
  Carry<T>::into(value, arena);
};

// ---- how ----

namespace internal {

/// A value that shows nothing but itself.
template <class T>
struct CarryNothing {
  static constexpr std::size_t bytes(const T&) noexcept { return 0; }
  static constexpr void into(T&, Arena&) noexcept {}
};
[[nodiscard]] inline bool within(std::string_view part, std::string_view whole) noexcept {
  const std::less_equal<const char*> not_behind;
  return not_behind(whole.data(), part.data()) && not_behind(part.data() + part.size(), whole.data() + whole.size());
}

}  // namespace internal

template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
struct Carry<T> : internal::CarryNothing<T> {};
template <>
struct Carry<std::string> : internal::CarryNothing<std::string> {};
template <class Tag, class Rep>
struct Carry<Id<Tag, Rep>> : internal::CarryNothing<Id<Tag, Rep>> {};
template <class Rep, class Period>
struct Carry<std::chrono::duration<Rep, Period>> : internal::CarryNothing<std::chrono::duration<Rep, Period>> {};
template <class Clock, class Duration>
struct Carry<std::chrono::time_point<Clock, Duration>>
    : internal::CarryNothing<std::chrono::time_point<Clock, Duration>> {};

template <>
struct Carry<std::string_view> {
  static std::size_t bytes(std::string_view text) noexcept { return text.size(); }
  static void into(std::string_view& text, Arena& arena) { text = arena.copy(text); }
};
template <>
struct Carry<Bytes> {
  static std::size_t bytes(const Bytes& view) noexcept { return view.size(); }
  static void into(Bytes& view, Arena& arena) {
    if (!view.null()) view = Bytes(arena.copy(view.view()));
  }
};
template <>
struct Carry<Record> {
  static std::size_t bytes(const Record& record) noexcept {
    std::size_t total = record.key.size() + record.value.size();
    if (record.headers.empty()) return total;
    total += record.headers.size_bytes() + alignof(Header) - 1;
    for (const Header& header : record.headers) total += header.name.size() + header.value.size();
    return total;
  }
  static void into(Record& record, Arena& arena) {
    Carry<Bytes>::into(record.key, arena);
    Carry<Bytes>::into(record.value, arena);
    if (record.headers.empty()) return;
    void* place = arena.allocate(record.headers.size_bytes() + alignof(Header) - 1);
    std::size_t space = record.headers.size_bytes() + alignof(Header) - 1;
    auto* const first = static_cast<Header*>(std::align(alignof(Header), record.headers.size_bytes(), place, space));
    std::uninitialized_copy(record.headers.begin(), record.headers.end(), first);
    record.headers = {first, record.headers.size()};
    for (Header& header : std::span<Header>(first, record.headers.size())) {
      header.name = arena.copy(header.name);
      Carry<Bytes>::into(header.value, arena);
    }
  }
};

template <Carried T>
struct Carry<std::optional<T>> {
  static std::size_t bytes(const std::optional<T>& value) noexcept { return value ? Carry<T>::bytes(*value) : 0; }
  static void into(std::optional<T>& value, Arena& arena) {
    if (value) Carry<T>::into(*value, arena);
  }
};
template <Carried T>
  requires(!std::same_as<T, bool>)
struct Carry<std::vector<T>> {
  static std::size_t bytes(const std::vector<T>& values) noexcept {
    std::size_t total = 0;
    for (const T& value : values) total += Carry<T>::bytes(value);
    return total;
  }
  static void into(std::vector<T>& values, Arena& arena) {
    for (T& value : values) Carry<T>::into(value, arena);
  }
};
template <Carried First, Carried Second>
struct Carry<std::pair<First, Second>> {
  static std::size_t bytes(const std::pair<First, Second>& value) noexcept {
    return Carry<First>::bytes(value.first) + Carry<Second>::bytes(value.second);
  }
  static void into(std::pair<First, Second>& value, Arena& arena) {
    Carry<First>::into(value.first, arena);
    Carry<Second>::into(value.second, arena);
  }
};
template <Carried... T>
struct Carry<std::tuple<T...>> {
  static std::size_t bytes(const std::tuple<T...>& value) noexcept {
    return std::apply([](const T&... part) { return (std::size_t{0} + ... + Carry<T>::bytes(part)); }, value);
  }
  static void into(std::tuple<T...>& value, Arena& arena) {
    std::apply([&](T&... part) { (Carry<T>::into(part, arena), ...); }, value);
  }
};
/// A key is often a part of its record: then it is copied with it, once.
template <Carried Key, Carried T>
struct Carry<Keyed<Key, T>> {
  static constexpr bool kPart = std::same_as<T, Record> && (std::same_as<Key, Bytes> || std::same_as<Key, std::string_view>);
  static std::size_t bytes(const Key& key, const T& value) noexcept {
    if constexpr (kPart) {
      if (part_of(key, value) != nullptr) return Carry<T>::bytes(value);
    }
    return Carry<Key>::bytes(key) + Carry<T>::bytes(value);
  }
  static std::size_t bytes(const Keyed<Key, T>& record) noexcept { return bytes(record.key, record.value); }
  static void into(Keyed<Key, T>& record, Arena& arena) {
    if constexpr (kPart) {
      if (Bytes Record::*const part = part_of(record.key, record.value)) {
        const std::size_t at = static_cast<std::size_t>(record.key.data() - (record.value.*part).data());
        Carry<T>::into(record.value, arena);
        record.key = Key((record.value.*part).data() + at, record.key.size());
        return;
      }
    }
    Carry<Key>::into(record.key, arena);
    Carry<T>::into(record.value, arena);
  }

 private:
  /// Null keys and empty ones are nobody's part.
  static Bytes Record::*part_of(const Key& key, const Record& record) noexcept
    requires kPart
  {
    if (key.size() == 0) return nullptr;
    const std::string_view text(key.data(), key.size());
    if (internal::within(text, record.key.view())) return &Record::key;
    return internal::within(text, record.value.view()) ? &Record::value : nullptr;
  }
};

namespace internal {

template <class T, class Members>
inline constexpr bool kMembersCarried = false;
template <class T, template <class...> class List, class... Member>
inline constexpr bool kMembersCarried<T, List<Member...>> =
    (Carried<std::remove_cvref_t<decltype(std::declval<T&>().*Member::pointer)>> && ...);
template <class T>
using MembersOf = boost::describe::describe_members<T, boost::describe::mod_any_access>;

}  // namespace internal

/// An aggregate that is described with Boost.Describe, when all of its members can be carried.
template <class T>
  requires(boost::describe::has_describe_members<T>::value && !std::is_union_v<T> &&
           internal::kMembersCarried<T, internal::MembersOf<T>>)
struct Carry<T> {
  static std::size_t bytes(const T& value) noexcept {
    std::size_t total = 0;
    boost::mp11::mp_for_each<internal::MembersOf<T>>([&](auto member) {
      total += Carry<std::remove_cvref_t<decltype(value.*member.pointer)>>::bytes(value.*member.pointer);
    });
    return total;
  }
  static void into(T& value, Arena& arena) {
    boost::mp11::mp_for_each<internal::MembersOf<T>>([&](auto member) {
      Carry<std::remove_cvref_t<decltype(value.*member.pointer)>>::into(value.*member.pointer, arena);
    });
  }
};

}  // namespace sluice
