#pragma once

#include <cstdint>
#include <span>
#include <string_view>

/// The codes of problems, and what `sluice explain CODE` says about each.
namespace sluice::tools {

enum class ProblemCode : std::uint8_t {
  kUnreadable,
  kSyntax,
  kTooMuch,
  kBytes,
  kDuplicate,
  kUnknownKey,
  kWrongType,
  kNotAllowed,
  kMissing,
  kVariable,
  kConflict,
  kUndefined,
  kCycle,
  kUnused,
  kSameId,
  kNotYet,
  kSecret,
  kProperty,
  kGuarantee,
  kExpression,
  kYamlFeature,
  kOverride,
  kOrder,
  kNoTime,
  kNotJson,
  kBroker,
  kEngine,
  kLiteralSecret,
  kUnusedPart,
};

struct ProblemText {
  ProblemCode value;
  std::string_view code;  ///< "E006", "W001"
  bool warning;
  std::string_view title;
  std::string_view text;  ///< what it means, why it is refused, what to do
};

[[nodiscard]] const ProblemText& explain(ProblemCode code);
/// By its name in any case of letters; null where there is none.
[[nodiscard]] const ProblemText* find_problem(std::string_view code);
[[nodiscard]] std::span<const ProblemText> all_problems();

}  // namespace sluice::tools
