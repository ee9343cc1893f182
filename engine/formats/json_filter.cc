#include <sluice/engine/formats/json_filter.h>
#include <sluice/engine/formats/json_reader.h>

#include <re2/re2.h>

#include <compare>
#include <limits>
#include <optional>
#include <utility>

namespace sluice {
namespace {

using Kind = JsonCondition::Kind;
using Comparison = JsonCondition::Comparison;

/// Integers of any size, as they are written: no zeros in front, "-0" is zero.
std::strong_ordering compare_digits(std::string_view a, std::string_view b) {
  if (a == "-0") a = "0";
  if (b == "-0") b = "0";
  const bool a_negative = a[0] == '-', b_negative = b[0] == '-';
  if (a_negative != b_negative) {
    return a_negative ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  const std::strong_ordering size = a.size() <=> b.size();
  const std::strong_ordering order = size != 0 ? size : a.compare(b) <=> 0;
  return a_negative ? 0 <=> order : order;
}

/// Holds every 64-bit integer and every double, exactly.
long double wide(const JsonNumber& number) {
  static_assert(std::numeric_limits<long double>::digits >= 64);
  switch (number.kind) {
    case JsonNumber::Kind::kSigned:
      return static_cast<long double>(number.signed_value);
    case JsonNumber::Kind::kUnsigned:
      return static_cast<long double>(number.unsigned_value);
    default:
      return number.double_value;
  }
}

std::partial_ordering compare(const JsonNumber& a, const JsonNumber& b) {
  using enum JsonNumber::Kind;
  if (a.kind == kSigned && b.kind == kSigned) return a.signed_value <=> b.signed_value;
  if (a.kind != kDouble && b.kind != kDouble) return compare_digits(a.text, b.text);
  return wide(a) <=> wide(b);
}

bool holds(Comparison comparison, std::partial_ordering order) {
  switch (comparison) {
    case Comparison::kEqual:
      return order == 0;
    case Comparison::kNotEqual:
      return order != 0;
    case Comparison::kLess:
      return order < 0;
    case Comparison::kLessOrEqual:
      return order <= 0;
    case Comparison::kGreater:
      return order > 0;
    case Comparison::kGreaterOrEqual:
      return order >= 0;
  }
  return false;
}

/// A condition made ready: pointers parsed, patterns compiled, literals read.
struct Compiled {
  Kind kind = Kind::kAnd;
  JsonPointer pointer;
  Comparison comparison = Comparison::kEqual;
  JsonType type = JsonType::kNull;
  std::string json;  // The literal; `number` points into it, so it never moves.
  std::string text;
  JsonNumber number;
  std::unique_ptr<RE2> pattern;
  std::vector<std::unique_ptr<Compiled>> parts;
};

}  // namespace

struct JsonFilter::Impl {
  Status problem;
  std::unique_ptr<Compiled> root;
  JsonReader reader;
  std::size_t conditions = 0;

  Status compile(const JsonCondition& given, std::size_t level, Compiled& into);
  Status compile_literal(const JsonCondition& given, Compiled& into);
  /// None: the document is not JSON.
  std::optional<bool> evaluate(const Compiled& condition);
  std::optional<bool> look(const Compiled& condition);
  /// With a null value nothing is found anywhere.
  bool nothing = false;
};

Status JsonFilter::Impl::compile_literal(const JsonCondition& given, Compiled& into) {
  if (Status wrong = given.literal.check(); !wrong.ok()) {
    return Status(Code::kInvalid, fmt::format("filter: {}:", given.path), wrong.message());
  }
  into.json = given.literal.json();
  JsonReader literal;
  JsonSpan span;
  if (literal.locate(into.json, JsonPointer(), span) != JsonFound::kFound) {
    return Status(Code::kInvalid,
                  fmt::format("filter: {}: {} cannot be read", given.path, into.json));
  }
  into.type = span.type;
  if (span.type == JsonType::kObject || span.type == JsonType::kArray) {
    return Status(Code::kInvalid,
                  fmt::format("filter: {} is compared with {}: expected a text, a number, true, "
                              "false or null",
                              given.path, into.json));
  }
  const bool ordered = span.type == JsonType::kNumber || span.type == JsonType::kString;
  const bool equality =
      given.comparison == Comparison::kEqual || given.comparison == Comparison::kNotEqual;
  if (!ordered && !equality) {
    return Status(Code::kInvalid, fmt::format("filter: {} cannot be less or greater than {}: only "
                                              "texts and numbers have an order",
                                              given.path, into.json));
  }
  if (span.type == JsonType::kString) into.text = literal.text();
  if (span.type == JsonType::kBool) into.text = span.in(into.json);
  if (span.type == JsonType::kNumber) {
    into.number = literal.number();
    into.number.text = span.in(into.json);
  }
  return {};
}

Status JsonFilter::Impl::compile(const JsonCondition& given, std::size_t level, Compiled& into) {
  if (level > kLevelsMax) {
    return Status(Code::kInvalid, fmt::format("filter: more than {} levels", kLevelsMax));
  }
  if (++conditions > kConditionsMax) {
    return Status(Code::kInvalid, fmt::format("filter: more than {} conditions", kConditionsMax));
  }
  into.kind = given.kind;
  into.comparison = given.comparison;
  const bool combines =
      given.kind == Kind::kAnd || given.kind == Kind::kOr || given.kind == Kind::kNot;
  if (combines) {
    if (given.kind == Kind::kNot && given.parts.size() != 1) {
      return Status(Code::kInvalid,
                    fmt::format("filter: not takes one condition, not {}", given.parts.size()));
    }
    for (const JsonCondition& part : given.parts) {
      SLUICE_TRY(compile(part, level + 1, *into.parts.emplace_back(std::make_unique<Compiled>())));
    }
    return {};
  }
  auto pointer = JsonPointer::make(given.path);
  if (!pointer.ok()) return Status(Code::kInvalid, "filter:", pointer.status().message());
  into.pointer = *std::move(pointer);
  if (given.kind == Kind::kCompare) return compile_literal(given, into);
  if (given.kind == Kind::kMatch) {
    RE2::Options options;
    options.set_log_errors(false);
    into.pattern = std::make_unique<RE2>(given.pattern, options);
    if (!into.pattern->ok()) {
      return Status(
          Code::kInvalid,
          fmt::format("filter: {}: pattern \"{}\" is no RE2 pattern:", given.path, given.pattern),
          into.pattern->error());
    }
  }
  return {};
}

std::optional<bool> JsonFilter::Impl::evaluate(const Compiled& condition) {
  switch (condition.kind) {
    case Kind::kAnd:
    case Kind::kOr: {
      const bool decides = condition.kind == Kind::kOr;
      for (const auto& part : condition.parts) {
        const std::optional<bool> answer = evaluate(*part);
        if (!answer || *answer == decides) return answer;
      }
      return !decides;
    }
    case Kind::kNot: {
      const std::optional<bool> answer = evaluate(*condition.parts.front());
      if (!answer) return answer;
      return !*answer;
    }
    default:
      return look(condition);
  }
}

std::optional<bool> JsonFilter::Impl::look(const Compiled& condition) {
  if (nothing) return false;
  JsonSpan span;
  const JsonFound found = reader.find(condition.pointer, span);
  if (found == JsonFound::kMalformed) return {};
  if (found == JsonFound::kMissing) return false;
  if (condition.kind == Kind::kExists) return true;
  if (condition.kind == Kind::kMatch) {
    if (span.type != JsonType::kString) return false;
    const std::string_view text = reader.text();
    return RE2::PartialMatch({text.data(), text.size()}, *condition.pattern);
  }
  if (span.type != condition.type) return condition.comparison == Comparison::kNotEqual;
  switch (span.type) {
    case JsonType::kNumber:
      return holds(condition.comparison, compare(reader.number(), condition.number));
    case JsonType::kString:
      return holds(condition.comparison, reader.text() <=> std::string_view(condition.text));
    case JsonType::kBool: {
      const bool is = condition.text.size() == span.end - span.start;  // "true" and "false" differ.
      return holds(condition.comparison,
                   is ? std::partial_ordering::equivalent : std::partial_ordering::unordered);
    }
    default:
      return condition.comparison == Comparison::kEqual;
  }
}

JsonFilter::JsonFilter(JsonCondition condition)
    : condition_(std::move(condition)), impl_(std::make_unique<Impl>()) {
  impl_->root = std::make_unique<Compiled>();
  impl_->problem = impl_->compile(condition_, 1, *impl_->root);
}
Result<JsonFilter> JsonFilter::make(JsonCondition condition) {
  JsonFilter made(std::move(condition));
  if (Status wrong = made.check(); !wrong.ok()) return wrong;
  return made;
}
JsonFilter::JsonFilter(const JsonFilter& other) : JsonFilter(other.condition_) {}
JsonFilter::JsonFilter(JsonFilter&&) noexcept = default;
JsonFilter& JsonFilter::operator=(JsonFilter other) noexcept {
  std::swap(condition_, other.condition_);
  impl_.swap(other.impl_);
  return *this;
}
JsonFilter::~JsonFilter() = default;

Status JsonFilter::check() const { return impl_->problem; }
Status JsonFilter::why(const Record& in) const { return JsonReader::why(in.value.view()); }

Result<bool> JsonFilter::operator()(const Record& in) {
  impl_->nothing = in.value.null();
  if (!impl_->nothing && !impl_->reader.open(in.value.view())) return why(in);
  const std::optional<bool> answer = impl_->evaluate(*impl_->root);
  if (!answer) return why(in);
  return *answer;
}

Outcome JsonFilter::apply(const Record& in, Arena&, Record&) {
  impl_->nothing = in.value.null();
  if (!impl_->nothing && !impl_->reader.open(in.value.view())) return Outcome::kRefused;
  const std::optional<bool> answer = impl_->evaluate(*impl_->root);
  if (!answer) return Outcome::kRefused;
  return *answer ? Outcome::kPassed : Outcome::kDropped;
}

JsonCondition json_compare(std::string path, Comparison comparison, JsonLiteral literal) {
  return {Kind::kCompare, std::move(path), comparison, std::move(literal)};
}
JsonCondition json_exists(std::string path) { return {Kind::kExists, std::move(path)}; }
JsonCondition json_match(std::string path, std::string pattern) {
  JsonCondition made{Kind::kMatch, std::move(path)};
  made.pattern = std::move(pattern);
  return made;
}
JsonCondition json_and(std::vector<JsonCondition> parts) {
  JsonCondition made;
  made.parts = std::move(parts);
  return made;
}
JsonCondition json_or(std::vector<JsonCondition> parts) {
  JsonCondition made{Kind::kOr};
  made.parts = std::move(parts);
  return made;
}
JsonCondition json_not(JsonCondition part) {
  JsonCondition made{Kind::kNot};
  made.parts.push_back(std::move(part));
  return made;
}

}  // namespace sluice
