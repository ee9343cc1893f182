#pragma once

#include <sluice/engine/batch.h>
#include <sluice/engine/formats/json_literal.h>
#include <sluice/engine/function.h>
#include <sluice/engine/record.h>
#include <sluice/io/base/result.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice {

/// A condition on a JSON document, as a tree; made by the functions below.
///
/// Missing    a comparison or match with a field that is not there is false, `!=` included; a null
///            is there: it equals `null`, and no match finds anything in it. What is null, missing
///            and zero are three things: exists() tells the first from the second.
/// Types      values of different types are unequal (`!=` is true), and in no order (`<` is false).
///            Only numbers and texts have an order: texts by their UTF-8 bytes, as code points.
/// Numbers    integers of any size are compared digit for digit, never through a double; integers
///            with fractions exactly. An integer over 64 bits with a fraction: as doubles.
struct JsonCondition {
  enum class Kind : std::uint8_t { kCompare, kExists, kMatch, kAnd, kOr, kNot };
  enum class Comparison : std::uint8_t {
    kEqual,
    kNotEqual,
    kLess,
    kLessOrEqual,
    kGreater,
    kGreaterOrEqual
  };
  Kind kind = Kind::kAnd;
  std::string path = {};  ///< RFC 6901: kCompare, kExists, kMatch
  Comparison comparison = Comparison::kEqual;
  JsonLiteral literal = {};               ///< kCompare
  std::string pattern = {};               ///< kMatch: RE2, found anywhere in the text
  std::vector<JsonCondition> parts = {};  ///< kAnd, kOr: none is true, false; kNot: one
};

[[nodiscard]] JsonCondition json_compare(std::string path, JsonCondition::Comparison comparison,
                                         JsonLiteral literal);
[[nodiscard]] JsonCondition json_exists(std::string path);
[[nodiscard]] JsonCondition json_match(std::string path, std::string pattern);
[[nodiscard]] JsonCondition json_and(std::vector<JsonCondition> parts);
[[nodiscard]] JsonCondition json_or(std::vector<JsonCondition> parts);
[[nodiscard]] JsonCondition json_not(JsonCondition part);

/// Lets records pass whose document fulfils a condition.
///
/// Null       a null value (tombstone) has no fields: comparisons are false, and it is not refused.
/// Refuses    values that are not JSON, governed by on_error; a field that is looked at is checked.
/// Order      parts are looked at from the left, and only as far as the answer needs: what is wrong
///            with a field behind that is not found.
///
///     .filter(JsonFilter(json_compare("/level", JsonCondition::Comparison::kEqual, "error")))
class JsonFilter {
 public:
  static constexpr std::size_t kLevelsMax = 32, kConditionsMax = 1'000;

  explicit JsonFilter(JsonCondition condition);
  /// kInvalid: what is wrong with which part of it.
  [[nodiscard]] static Result<JsonFilter> make(JsonCondition condition);
  JsonFilter(const JsonFilter&);
  JsonFilter(JsonFilter&&) noexcept;
  JsonFilter& operator=(JsonFilter) noexcept;
  ~JsonFilter();

  [[nodiscard]] Status check() const;
  /// For Stream::filter; a value that is refused ends the attempt.
  [[nodiscard]] Result<bool> operator()(const Record& in);
  /// For Stream::apply.
  [[nodiscard]] Outcome apply(const Record& in, Arena& arena, Record& out);
  [[nodiscard]] Status why(const Record& in) const;

 private:
  struct Impl;
  JsonCondition condition_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
