#include <sluice/io/internal/fault_rules.h>

#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace sluice::internal {
namespace {

using Call = FaultRules::Call;
using Fault = FaultRules::Fault;

constexpr std::array<std::pair<std::string_view, Call>, 6> kCalls{{{"create", Call::kCreate},
                                                                   {"write", Call::kWrite},
                                                                   {"sync", Call::kSync},
                                                                   {"rename", Call::kRename},
                                                                   {"syncdir", Call::kSyncDirectory},
                                                                   {"read", Call::kRead}}};
constexpr std::array<std::pair<std::string_view, Fault>, 4> kFaults{
    {{"enospc", Fault::kNoSpace}, {"eio", Fault::kError}, {"short", Fault::kShort}, {"torn", Fault::kTorn}}};
constexpr std::array<std::pair<std::string_view, std::chrono::nanoseconds>, 3> kUnits{
    {{"us", std::chrono::microseconds(1)}, {"ms", std::chrono::milliseconds(1)}, {"s", std::chrono::seconds(1)}}};

template <class Value, std::size_t kSize>
const Value* find(const std::array<std::pair<std::string_view, Value>, kSize>& table, std::string_view name) {
  for (const auto& [key, value] : table) {
    if (key == name) return &value;
  }
  return nullptr;
}

/// Cuts off what stands before `mark`, or everything where there is none.
std::string_view cut(std::string_view& text, char mark) {
  const auto at = text.find(mark);
  const std::string_view before = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return before;
}

/// The number that `text` begins with, and the rest of it.
std::optional<std::pair<std::uint64_t, std::string_view>> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return std::pair(number, std::string_view(end, static_cast<std::size_t>(text.data() + text.size() - end)));
}

Status wrong(std::string_view what, std::string_view text, std::string_view remedy) {
  return Status(Code::kInvalid, fmt::format("could not read the file faults: {} \"{}\"; {}", what, text, remedy));
}

}  // namespace

Status FaultRules::parse_fault(std::string_view text, Rule& rule) {
  std::string_view value = text;
  const std::string_view name = cut(value, '=');
  if (const Fault* fault = find(kFaults, name); fault != nullptr && name.size() == text.size()) {
    const bool of_bytes = *fault == Fault::kShort || *fault == Fault::kTorn;
    if (of_bytes && rule.call != Call::kWrite) return wrong("not a fault of this call", text, "only a write has it");
    rule.fault = *fault;
    return Status();
  }
  const auto amount = number_of(value);
  const auto* unit = name == "slow" && amount ? find(kUnits, amount->second) : nullptr;
  // An hour is more than any test waits, and keeps the product in range.
  if (unit == nullptr || amount->first > 3'600'000) {
    return wrong("unknown fault", text, "use enospc, eio, short, torn or slow=<n>ms");
  }
  rule.delay = *unit * static_cast<std::int64_t>(amount->first);
  return Status();
}

Status FaultRules::parse_condition(std::string_view text, Rule& rule) {
  std::string_view value = text;
  const std::string_view key = cut(value, '=');
  if (key == "path" && !value.empty()) {
    rule.path = value;
    return Status();
  }
  const auto number = number_of(value);
  if ((key != "every" && key != "nth") || !number || !number->second.empty() || number->first == 0) {
    return wrong("unknown condition", text, "use every=<n>, nth=<n> or path=<part of the path>");
  }
  (key == "every" ? rule.every : rule.nth) = number->first;
  return Status();
}

Result<FaultRules::Rule> FaultRules::parse_rule(std::string_view text) {
  Rule rule;
  std::string_view rest = text;
  const std::string_view name = cut(rest, ':');
  const Call* call = find(kCalls, name);
  if (call == nullptr) return wrong("unknown call", name, "use create, write, sync, rename, syncdir or read");
  rule.call = *call;
  SLUICE_TRY(parse_fault(cut(rest, ':'), rule));
  while (!rest.empty()) SLUICE_TRY(parse_condition(cut(rest, ','), rule));
  if (rule.every != 0 && rule.nth != 0) return wrong("two counts in", text, "give every= or nth=");
  return rule;
}

Result<FaultRules> FaultRules::parse(std::string_view specification) {
  FaultRules rules;
  while (!specification.empty()) {
    Result<Rule> rule = parse_rule(cut(specification, ';'));
    if (!rule.ok()) return std::move(rule).status();
    rules.rules_.push_back(*std::move(rule));
  }
  return rules;
}

FaultRules::Verdict FaultRules::judge(Call call, std::string_view path) {
  Verdict verdict;
  for (Rule& rule : rules_) {
    if (rule.call != call || path.find(rule.path) == std::string_view::npos) continue;
    ++rule.matched;
    if (rule.nth != 0 && rule.matched != rule.nth) continue;
    if (rule.every != 0 && rule.matched % rule.every != 0) continue;
    verdict.delay += rule.delay;
    if (verdict.fault == Fault::kNone) verdict.fault = rule.fault;
  }
  return verdict;
}

}  // namespace sluice::internal
