#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

#include <fmt/format.h>

namespace sluice {

/// A number that means one thing: an Offset handed to an Epoch parameter does not compile.
template <class Tag, class Rep>
class Id {
 public:
  constexpr Id() noexcept = default;
  explicit constexpr Id(Rep value) noexcept : value_(value) {}
  [[nodiscard]] constexpr Rep value() const noexcept { return value_; }
  constexpr auto operator<=>(const Id&) const noexcept = default;
  constexpr Id& operator++() noexcept {
    ++value_;
    return *this;
  }
  [[nodiscard]] constexpr Id next() const noexcept { return Id(static_cast<Rep>(value_ + 1)); }

 private:
  Rep value_{};
};

using ShardId = Id<struct ShardTag, std::uint16_t>;  ///< one thread, its ring, its share of the work
using Epoch = Id<struct EpochTag, std::uint64_t>;    ///< the records between two barriers; 0 is "none yet"
using Offset = Id<struct OffsetTag, std::int64_t>;   ///< place of a record in its source split

}  // namespace sluice

template <class Tag, class Rep>
struct fmt::formatter<sluice::Id<Tag, Rep>> : fmt::formatter<Rep> {
  template <class Context>
  auto format(const sluice::Id<Tag, Rep>& id, Context& context) const {
    return fmt::formatter<Rep>::format(id.value(), context);
  }
};
template <class Tag, class Rep>
struct std::hash<sluice::Id<Tag, Rep>> {
  std::size_t operator()(const sluice::Id<Tag, Rep>& id) const noexcept {
    return std::hash<Rep>()(id.value());
  }
};
