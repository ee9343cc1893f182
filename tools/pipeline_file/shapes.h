#pragma once

#include "pipeline_file/shape.h"

#include <chrono>
#include <span>
#include <string_view>

/// The words that the tables of keys are written in.
namespace sluice::tools {

constexpr Shape text(Shape::Check check = nullptr) {
  return {.scalar = Scalar::kText, .check = check};
}
constexpr Shape boolean() { return {.scalar = Scalar::kBoolean}; }
constexpr Shape integer(std::int64_t low, std::int64_t high) {
  return {.scalar = Scalar::kInteger, .low = low, .high = high};
}
constexpr Shape duration(std::chrono::microseconds low, std::chrono::microseconds high) {
  return {.scalar = Scalar::kDuration, .low = low.count(), .high = high.count()};
}
constexpr Shape one_of(std::span<const std::string_view> words,
                       std::span<const std::string_view> later = {}) {
  return {.words = words, .later = later};
}
/// A map of the section's keys.
constexpr Shape map_of(const Section& section) { return {.section = &section}; }
/// A map of free keys.
constexpr Shape map_by(std::string_view free_key, const Shape& values, std::size_t least = 0,
                       Shape::Check key_check = nullptr) {
  return {.values = &values, .free_key = free_key, .key_check = key_check, .items_min = least};
}
constexpr Shape list_of(const Shape& items, std::size_t least = 1) {
  return {.items = &items, .items_min = least};
}
/// One, or a list of them.
constexpr Shape text_or_list(const Shape& items) {
  return {.scalar = Scalar::kText, .check = items.check, .items = &items, .items_min = 1};
}
/// One of the words, or a map of the section's keys.
constexpr Shape word_or_map(std::span<const std::string_view> words, const Section& section) {
  return {.words = words, .section = &section};
}

}  // namespace sluice::tools
