#include <sluice/engine/formats/json_literal.h>
#include <sluice/engine/formats/json_reader.h>
#include <sluice/engine/formats/json_replace.h>
#include <sluice/engine/internal/json_error.h>

#include <re2/re2.h>

#include <array>
#include <cstring>
#include <utility>

namespace sluice {
namespace {

constexpr int kGroupsMax = 10;  // \0 to \9.

std::string_view inner(std::string_view quoted) { return quoted.substr(1, quoted.size() - 2); }

struct Compiled {
  std::unique_ptr<RE2> pattern;
  std::string with;
  std::string verbatim;  // What is written, escaped, where `with` names no groups.
  bool constant = false;
  int groups = 1;  // That `with` needs, and \0.
};

/// "\C" matches one byte, so what is left of a text may not be UTF-8 any more.
bool splits_characters(std::string_view pattern) {
  for (std::size_t at = 0; at + 1 < pattern.size(); ++at) {
    if (pattern[at] != '\\') continue;
    if (pattern[++at] == 'C') return true;
  }
  return false;
}

Status compile(const JsonReplace::Rule& given, Compiled& rule) {
  const std::string what = fmt::format("json_replace: pattern \"{}\"", given.pattern);
  RE2::Options options;
  options.set_log_errors(false);
  rule.pattern = std::make_unique<RE2>(given.pattern, options);
  if (!rule.pattern->ok()) {
    return Status(Code::kInvalid, what, "is no RE2 pattern:", rule.pattern->error());
  }
  if (splits_characters(given.pattern)) {
    return Status(Code::kInvalid, what, "has \\C, which would cut characters in two; use \".\"");
  }
  std::string wrong;
  if (!rule.pattern->CheckRewriteString(given.with, &wrong)) {
    return Status(Code::kInvalid, what, fmt::format("cannot be replaced with \"{}\":", given.with),
                  wrong, "(\\0 to \\9 are groups, \\\\ is a backslash)");
  }
  if (const std::size_t bad = internal::find_utf8_error(given.with); bad != given.with.size()) {
    return Status(Code::kInvalid, what, "is to be replaced with what is not UTF-8 at byte", bad);
  }
  rule.with = given.with;
  rule.groups = 1 + RE2::MaxSubmatch(given.with);
  rule.constant = given.with.find('\\') == std::string::npos;
  if (rule.constant) rule.verbatim = inner(json_quoted(given.with));
  return {};
}

}  // namespace

struct JsonReplace::Impl {
  Status problem;
  JsonPointer pointer;
  std::vector<Compiled> rules;
  JsonReader reader;
  std::string plain, made;  // Reused, as the groups of a match are.
  std::array<re2::StringPiece, kGroupsMax> groups;

  /// The bytes that stand for `text` from now on, in the document's escaping, or none: no rule
  /// finds anything. What is before and behind them in `raw` stays.
  bool rewrite(std::string_view text, std::string_view raw, std::size_t& before,
               std::size_t& behind, std::string_view& with);
};

bool JsonReplace::Impl::rewrite(std::string_view text, std::string_view raw, std::size_t& before,
                                std::size_t& behind, std::string_view& with) {
  const bool verbatim = text.data() == raw.data();  // No escapes in it: positions are the same.
  for (const Compiled& rule : rules) {
    if (!rule.pattern->Match({text.data(), text.size()}, 0, text.size(), RE2::UNANCHORED,
                             groups.data(), rule.groups))
      continue;
    before = static_cast<std::size_t>(groups[0].data() - text.data());
    behind = text.size() - before - groups[0].size();
    if (rule.constant && verbatim) {
      with = rule.verbatim;
      return true;
    }
    plain.clear();
    if (!verbatim) plain = text.substr(0, before);
    rule.pattern->Rewrite(&plain, rule.with, groups.data(), rule.groups);
    if (!verbatim) {
      plain += text.substr(text.size() - behind);
      before = behind = 0;
    }
    made.clear();
    append_json_quoted(plain, made);
    with = inner(made);
    return true;
  }
  return false;
}

JsonReplace::JsonReplace(Options options)
    : options_(std::move(options)), impl_(std::make_unique<Impl>()) {
  auto pointer = JsonPointer::make(options_.path);
  if (!pointer.ok()) {
    impl_->problem = Status(Code::kInvalid, "json_replace: path:", pointer.status().message());
    return;
  }
  impl_->pointer = *std::move(pointer);
  if (options_.rules.empty() || options_.rules.size() > kRulesMax) {
    impl_->problem = Status(Code::kInvalid, fmt::format("json_replace: {} rules, expected 1 to {}",
                                                        options_.rules.size(), kRulesMax));
    return;
  }
  for (const JsonReplace::Rule& given : options_.rules) {
    impl_->problem = compile(given, impl_->rules.emplace_back());
    if (!impl_->problem.ok()) return;
  }
}
Result<JsonReplace> JsonReplace::make(Options options) {
  JsonReplace made(std::move(options));
  if (Status wrong = made.check(); !wrong.ok()) return wrong;
  return made;
}
JsonReplace::JsonReplace(const JsonReplace& other) : JsonReplace(other.options_) {}
JsonReplace::JsonReplace(JsonReplace&&) noexcept = default;
JsonReplace& JsonReplace::operator=(JsonReplace other) noexcept {
  std::swap(options_, other.options_);
  std::swap(counts_, other.counts_);
  impl_.swap(other.impl_);
  return *this;
}
JsonReplace::~JsonReplace() = default;

Status JsonReplace::check() const { return impl_->problem; }
Status JsonReplace::why(const Record& in) const { return JsonReader::why(in.value.view()); }

Result<Record> JsonReplace::operator()(const Record& in, Arena& arena) {
  Record out = in;
  if (apply(in, arena, out) == Outcome::kRefused) [[unlikely]]
    return why(in);
  return out;
}

Outcome JsonReplace::apply(const Record& in, Arena& arena, Record& out) {
  if (in.value.null()) return Outcome::kPassed;
  const std::string_view document = in.value.view();
  JsonSpan span;
  const JsonFound found = impl_->reader.locate(document, impl_->pointer, span);
  if (found != JsonFound::kFound) {
    if (found == JsonFound::kMalformed) return Outcome::kRefused;
    counts_.add_missing();
    return Outcome::kPassed;
  }
  if (span.type != JsonType::kString) {
    counts_.add_other_type();
    return Outcome::kPassed;
  }
  const std::string_view raw = inner(span.in(document));
  std::string_view text = impl_->reader.text();
  if (text.size() == raw.size()) text = raw;  // No escapes: each makes a text shorter.
  std::size_t before = 0, behind = 0;
  std::string_view with;
  if (!impl_->rewrite(text, raw, before, behind, with)) return Outcome::kPassed;
  const std::string_view head = document.substr(0, span.start + 1 + before);
  const std::string_view tail = document.substr(span.end - 1 - behind);
  char* const bytes = arena.allocate(head.size() + with.size() + tail.size());
  std::memcpy(bytes, head.data(), head.size());
  std::memcpy(bytes + head.size(), with.data(), with.size());
  std::memcpy(bytes + head.size() + with.size(), tail.data(), tail.size());
  out.value = Bytes(bytes, head.size() + with.size() + tail.size());
  return Outcome::kPassed;
}

}  // namespace sluice
