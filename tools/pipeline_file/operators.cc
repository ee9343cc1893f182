#include "pipeline_file/operators.h"

#include "pipeline_file/condition.h"
#include "pipeline_file/json_value.h"
#include "pipeline_file/values.h"

#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

namespace sluice::tools {
namespace {

/// `Made::make`, as the variant that all steps are.
template <class Made, class Options>
Result<Step> step(Options options) {
  Result<Made> made = Made::make(std::move(options));
  if (!made.ok()) return made.status();
  return Step(*std::move(made));
}

Result<Step> json_replace(const Node& node) {
  JsonReplace::Options options{.path = text_or(node.find("path"), ""), .rules = {}};
  const auto add = [&](const Node& rule) {
    options.rules.push_back({text_or(rule.find("pattern"), ""), text_or(rule.find("with"), "")});
  };
  const Node* const rules = node.find("rules");
  const bool with = node.find("with") != nullptr;
  if (rules != nullptr && with) {
    return Status(Code::kInvalid, "\"with\" stands beside rules:, which have their own");
  }
  if (rules == nullptr && !with) {
    return Status(Code::kInvalid, "\"pattern\" needs \"with\": what stands there instead");
  }
  if (rules == nullptr) add(node);
  if (rules != nullptr) {
    for (const Node& rule : rules->items) add(rule);
  }
  return step<JsonReplace>(std::move(options));
}

Result<Step> json_select(const Node& node) {
  JsonSelect::Options options;
  for (const Entry& entry : node.entries) {
    options.fields.emplace_back(entry.key, text_or(&entry.value, ""));
  }
  return step<JsonSelect>(std::move(options));
}

Result<Step> json_set(const Node& node) {
  const Node* const value = node.find("value");
  return step<JsonSet>(JsonSet::Options{.path = text_or(node.find("path"), ""),
                                        .value = value == nullptr ? "null" : to_json(*value)});
}

Result<Step> number(const Node& node) {
  const Node* const prefix = node.find("prefix");
  const auto place =
      prefix != nullptr ? NumberWriter::Place::kPrefix : NumberWriter::Place::kHeader;
  return Step(NumberWriter(place, text_or(prefix != nullptr ? prefix : node.find("header"), "")));
}

}  // namespace

Outcome PrintStep::apply(const Record& in, Arena&, Record&) const {
  std::string line;
  line.reserve(label_.size() + in.value.size() + 3);
  if (!label_.empty()) line.append(label_).append(": ");
  line += in.value.null() ? std::string_view("(null)") : in.value.view();
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stdout);  // One call, one lock: lines stay whole.
  return Outcome::kPassed;
}

Record NumberWriter::operator()(const Record& in, std::uint64_t number, Arena& arena) const {
  Record out = in;
  if (place_ == Place::kPrefix) {
    // A tombstone stays one: there is no value to stand in front of.
    if (in.value.null()) return out;
    const std::string prefix = fmt::format("{}={};", name_, number);
    const std::size_t size = prefix.size() + in.value.size();
    char* const bytes = arena.allocate(size);
    std::memcpy(bytes, prefix.data(), prefix.size());
    std::memcpy(bytes + prefix.size(), in.value.data(), in.value.size());
    out.value = Bytes(bytes, size);
    return out;
  }
  static_assert(std::is_trivially_destructible_v<Header>, "nobody destroys what lies in an arena");
  const std::size_t count = in.headers.size() + 1;
  void* raw = arena.allocate(sizeof(Header) * count + alignof(Header));
  std::size_t room = sizeof(Header) * count + alignof(Header);
  std::align(alignof(Header), sizeof(Header) * count, raw, room);
  auto* const headers = static_cast<Header*>(raw);
  std::uninitialized_copy(in.headers.begin(), in.headers.end(), headers);
  new (headers + count - 1) Header{arena.copy(name_), Bytes(arena.copy(fmt::format("{}", number)))};
  out.headers = {headers, count};
  return out;
}

Result<Step> make_step(const OperatorSpec& spec) {
  const Node& options = *spec.options;
  if (spec.kind == "json_replace") return json_replace(options);
  if (spec.kind == "json_select") return json_select(options);
  if (spec.kind == "json_set") return json_set(options);
  if (spec.kind == "number") return number(options);
  if (spec.kind == "print") return Step(PrintStep(text_or(options.find("label"), "")));
  SLUICE_ASSERT(spec.kind == "filter");
  return step<JsonFilter>(read_condition(options));
}

bool may_refuse(const std::string& kind) { return kind != "number" && kind != "print"; }

}  // namespace sluice::tools
