#pragma once

#include <sluice/engine/batch.h>
#include <sluice/engine/function.h>
#include <sluice/engine/record.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

inline Record record_of(std::string_view value) {
  Record record;
  record.value = Bytes(value);
  return record;
}

/// What a step makes of a document; none: refused or dropped. The bytes are exactly as long as the
/// document, so that a sanitizer sees what reads past them.
template <class Step>
std::optional<std::string> made_of(Step& step, std::string_view document) {
  auto bytes = std::make_unique_for_overwrite<char[]>(document.size());
  std::memcpy(bytes.get(), document.data(), document.size());
  const Record in = record_of({bytes.get(), document.size()});
  Record out = in;
  Arena arena;
  if (step.apply(in, arena, out) != Outcome::kPassed) return {};
  return std::string(out.value.view());
}
/// Why a step refuses a document; empty: it does not.
template <class Step>
std::string refusal_of(Step& step, std::string_view document) {
  const Record in = record_of(document);
  Record out = in;
  Arena arena;
  if (step.apply(in, arena, out) != Outcome::kRefused) return {};
  return std::string(step.why(in).message());
}

}  // namespace sluice
