#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <boost/describe/members.hpp>
#include <boost/mp11/algorithm.hpp>

#include <sluice/engine/codec.h>

namespace sluice {

namespace internal {

/// "struct{zone:string,fare:f64}": the names that Boost.Describe knows are part of the layout, the C++ name of the type is not.
template <class T>
using FieldsOf = boost::describe::describe_members<T, boost::describe::mod_any_access | boost::describe::mod_inherited>;
template <class T>
concept Described = std::is_class_v<T> && boost::describe::has_describe_members<T>::value;

/// What std::vector, deque, list, set, map and their unordered and Boost cousins have in common.
template <class T>
concept Container = std::ranges::sized_range<T> && std::default_initializable<T> && requires(T& all) {
  typename T::value_type;
  all.clear();
  all.insert(all.end(), std::declval<typename T::value_type>());
};
template <class T>
concept Mapping = Container<T> && requires { typename T::mapped_type; };

template <class T>
struct ElementOf {
  using Type = typename T::value_type;
};
template <Mapping T>
struct ElementOf<T> {
  using Type = std::pair<typename T::key_type, typename T::mapped_type>;  // Its value_type has a constant key.
};

template <class... Ts>
std::string names_of() {
  std::string names;
  ((names += (names.empty() ? "" : ",") + Codec<Ts>::name()), ...);
  return names;
}

}  // namespace internal

template <class A, class B>
struct Codec<std::pair<A, B>> {
  static std::string name() { return "tuple<" + internal::names_of<A, B>() + ">"; }
  static void write(const std::pair<A, B>& value, std::string& out) {
    Codec<A>::write(value.first, out);
    Codec<B>::write(value.second, out);
  }
  static bool read(std::string_view& in, std::pair<A, B>& value) {
    return Codec<A>::read(in, value.first) && Codec<B>::read(in, value.second);
  }
};

template <class... Ts>
struct Codec<std::tuple<Ts...>> {
  static std::string name() { return "tuple<" + internal::names_of<Ts...>() + ">"; }
  static void write(const std::tuple<Ts...>& value, std::string& out) {
    std::apply([&](const Ts&... part) { (Codec<Ts>::write(part, out), ...); }, value);
  }
  static bool read(std::string_view& in, std::tuple<Ts...>& value) {
    return std::apply([&](Ts&... part) { return (Codec<Ts>::read(in, part) && ...); }, value);
  }
};

template <class T, std::size_t N>
struct Codec<std::array<T, N>> {
  static std::string name() { return "array<" + Codec<T>::name() + "," + std::to_string(N) + ">"; }
  static void write(const std::array<T, N>& value, std::string& out) {
    for (const T& element : value) Codec<T>::write(element, out);
  }
  static bool read(std::string_view& in, std::array<T, N>& value) {
    for (T& element : value) {
      if (!Codec<T>::read(in, element)) return false;
    }
    return true;
  }
};

/// One byte, then the value if there is one.
template <class T>
struct Codec<std::optional<T>> {
  static std::string name() { return "optional<" + Codec<T>::name() + ">"; }
  static void write(const std::optional<T>& value, std::string& out) {
    Codec<bool>::write(value.has_value(), out);
    if (value) Codec<T>::write(*value, out);
  }
  static bool read(std::string_view& in, std::optional<T>& value) {
    bool present = false;
    value.reset();
    return Codec<bool>::read(in, present) && (!present || Codec<T>::read(in, value.emplace()));
  }
};

template <>
struct Codec<std::monostate> {
  static std::string name() { return "nothing"; }
  static void write(const std::monostate&, std::string&) {}
  static bool read(std::string_view&, std::monostate&) { return true; }
};

/// The alternative's place in a byte, then its value. An alternative added at the end changes the name, hence the type.
template <class... Ts>
struct Codec<std::variant<Ts...>> {
  static_assert(sizeof...(Ts) <= 255, "the place of an alternative is one byte");
  using Variant = std::variant<Ts...>;
  static std::string name() { return "variant<" + internal::names_of<Ts...>() + ">"; }
  static void write(const Variant& value, std::string& out) {
    // One that a throwing assignment left without a value has no bytes: its place is none, and it is not read back.
    Codec<std::uint8_t>::write(static_cast<std::uint8_t>(value.index()), out);
    if (value.valueless_by_exception()) return;
    std::visit([&](const auto& held) { Codec<std::remove_cvref_t<decltype(held)>>::write(held, out); }, value);
  }
  static bool read(std::string_view& in, Variant& value) {
    std::uint8_t place = 0;
    if (!Codec<std::uint8_t>::read(in, place) || place >= sizeof...(Ts)) return false;
    return read_one(in, value, place, std::index_sequence_for<Ts...>());
  }

 private:
  template <std::size_t... I>
  static bool read_one(std::string_view& in, Variant& value, std::size_t place, std::index_sequence<I...>) {
    return ((place == I && Codec<Ts>::read(in, value.template emplace<I>())) || ...);
  }
};

/// A 64-bit number of elements, then each. A map's are its keys and values; the kind of container is not part of the layout, so a
/// std::map may become an unordered one.
template <class T>
  requires(internal::Container<T> && !internal::Described<T>)
struct Codec<T> {
  using Element = typename internal::ElementOf<T>::Type;
  static_assert(!std::is_empty_v<Element>, "elements without bytes: a damaged number of them could not be told");

  static std::string name() {
    if constexpr (internal::Mapping<T>) {
      return "map<" + internal::names_of<typename T::key_type, typename T::mapped_type>() + ">";
    } else if constexpr (requires { typename T::key_type; }) {
      return "set<" + Codec<Element>::name() + ">";
    } else {
      return "list<" + Codec<Element>::name() + ">";
    }
  }
  static void write(const T& value, std::string& out) {
    Codec<std::uint64_t>::write(value.size(), out);
    for (const auto& element : value) {
      if constexpr (internal::Mapping<T>) {
        Codec<typename T::key_type>::write(element.first, out);
        Codec<typename T::mapped_type>::write(element.second, out);
      } else {
        Codec<Element>::write(element, out);
      }
    }
  }
  static bool read(std::string_view& in, T& value) {
    std::uint64_t count = 0;
    value.clear();
    // Each element has a byte at least: a damaged number never makes us ask for more memory than there are bytes.
    if (!Codec<std::uint64_t>::read(in, count) || count > in.size()) return false;
    for (; count > 0; --count) {
      Element element{};
      if (!Codec<Element>::read(in, element)) return false;
      value.insert(value.end(), std::move(element));
    }
    return true;
  }
};

template <internal::Described T>
struct Codec<T> {
  static std::string name() {
    std::string names;
    boost::mp11::mp_for_each<internal::FieldsOf<T>>([&](auto field) {
      using Field = std::remove_cvref_t<decltype(std::declval<T&>().*field.pointer)>;
      names += (names.empty() ? "" : ",") + std::string(field.name) + ":" + Codec<Field>::name();
    });
    return "struct{" + names + "}";
  }
  static void write(const T& value, std::string& out) {
    boost::mp11::mp_for_each<internal::FieldsOf<T>>([&](auto field) {
      using Field = std::remove_cvref_t<decltype(value.*field.pointer)>;
      Codec<Field>::write(value.*field.pointer, out);
    });
  }
  static bool read(std::string_view& in, T& value) {
    bool whole = true;
    boost::mp11::mp_for_each<internal::FieldsOf<T>>([&](auto field) {
      using Field = std::remove_cvref_t<decltype(value.*field.pointer)>;
      whole = whole && Codec<Field>::read(in, value.*field.pointer);
    });
    return whole;
  }
};

}  // namespace sluice
