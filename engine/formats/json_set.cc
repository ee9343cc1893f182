#include <sluice/engine/formats/json_literal.h>
#include <sluice/engine/formats/json_reader.h>
#include <sluice/engine/formats/json_set.h>

#include <cstring>
#include <initializer_list>

namespace sluice {
namespace {

enum class Place : std::uint8_t { kFound, kMalformed, kNoParent, kNotAContainer, kNoRoom };

bool is_space(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

struct JsonSet::Impl {
  Status problem;
  JsonPointer pointer, parent;
  std::string name;  // `"name":`, as an object takes it.
  JsonReader reader;

  /// Where in the document the value goes: instead of [start, end), behind `comma` and `label`.
  struct Splice {
    std::size_t start = 0, end = 0;
    bool comma = false, labelled = false;
  };
  Place place(std::string_view document, Splice& splice);
  Place room(std::string_view document, const JsonSpan& array);
};

Place JsonSet::Impl::place(std::string_view document, Splice& splice) {
  JsonSpan span;
  switch (reader.locate(document, pointer, span)) {
    case JsonFound::kMalformed:
      return Place::kMalformed;
    case JsonFound::kFound:
      splice = {span.start, span.end, false, false};
      return Place::kFound;
    case JsonFound::kMissing:
      break;
  }
  if (parent.whole()) {
    // Found by its brackets: open() and the search have seen that they are there.
    const std::size_t start = document.find_first_of("{[");
    const std::size_t end = document.find_last_of("}]");
    if (start == document.npos || end == document.npos) return Place::kNotAContainer;
    const bool scalar = document.find_first_of("\"-0123456789tfn") < start;
    if (scalar) return Place::kNotAContainer;
    span = {document[start] == '{' ? JsonType::kObject : JsonType::kArray, start, end + 1};
  } else {
    switch (reader.find(parent, span)) {
      case JsonFound::kMalformed:
        return Place::kMalformed;
      case JsonFound::kMissing:
        return Place::kNoParent;
      case JsonFound::kFound:
        break;
    }
  }
  if (span.type == JsonType::kArray) {
    if (const Place found = room(document, span); found != Place::kFound) return found;
  } else if (span.type != JsonType::kObject) {
    return Place::kNotAContainer;
  }
  std::size_t at = span.end - 1;  // The bracket that closes it; before it comes what is last in it.
  while (is_space(document[at - 1])) --at;
  splice = {at, at, at != span.start + 1, span.type == JsonType::kObject};
  return Place::kFound;
}

Place JsonSet::Impl::room(std::string_view, const JsonSpan&) {
  const JsonPointer::Token& last = pointer.tokens().back();
  if (last.name == "-") return Place::kFound;
  if (!last.index) return Place::kNoRoom;
  if (*last.index == 0) return Place::kFound;  // It was not found, so the array is empty.
  auto before = JsonPointer::make(fmt::format("{}/{}", parent.text(), *last.index - 1));
  SLUICE_ASSERT(before.ok());
  JsonSpan span;
  const JsonFound found = reader.find(*before, span);
  if (found == JsonFound::kMalformed) return Place::kMalformed;
  return found == JsonFound::kFound ? Place::kFound : Place::kNoRoom;
}

JsonSet::JsonSet(Options options) : options_(std::move(options)), impl_(std::make_unique<Impl>()) {
  auto pointer = JsonPointer::make(options_.path);
  if (!pointer.ok()) {
    impl_->problem = Status(Code::kInvalid, "json_set: path:", pointer.status().message());
    return;
  }
  if (Status wrong = JsonLiteral::json(options_.value).check(); !wrong.ok()) {
    impl_->problem = Status(Code::kInvalid, "json_set: value:", wrong.message());
    return;
  }
  impl_->pointer = *std::move(pointer);
  if (impl_->pointer.whole()) return;
  impl_->parent = impl_->pointer.parent();
  impl_->name = json_quoted(impl_->pointer.tokens().back().name) + ":";
}
Result<JsonSet> JsonSet::make(Options options) {
  JsonSet made(std::move(options));
  if (Status wrong = made.check(); !wrong.ok()) return wrong;
  return made;
}
JsonSet::JsonSet(const JsonSet& other) : JsonSet(other.options_) {}
JsonSet::JsonSet(JsonSet&&) noexcept = default;
JsonSet& JsonSet::operator=(JsonSet other) noexcept {
  std::swap(options_, other.options_);
  impl_.swap(other.impl_);
  return *this;
}
JsonSet::~JsonSet() = default;

Status JsonSet::check() const { return impl_->problem; }

Status JsonSet::why(const Record& in) const {
  Impl::Splice splice;
  JsonSet again(options_);
  const std::string what = fmt::format("json_set: {} cannot be set: ", options_.path);
  switch (again.impl_->place(in.value.view(), splice)) {
    case Place::kNoParent:
      return Status(Code::kCorrupt, what + fmt::format("the document has no {} (make it with a "
                                                       "json_set in front)",
                                                       impl_->parent.text()));
    case Place::kNotAContainer:
      return Status(
          Code::kCorrupt,
          what + fmt::format("{} is neither an object nor an array",
                             impl_->parent.whole() ? "the document" : impl_->parent.text()));
    case Place::kNoRoom:
      return Status(Code::kCorrupt,
                    what + "an array takes an index that it has, the next one, or \"-\" for that");
    case Place::kMalformed:
    case Place::kFound:
      break;
  }
  return JsonReader::why(in.value.view());
}

Result<Record> JsonSet::operator()(const Record& in, Arena& arena) {
  Record out = in;
  if (apply(in, arena, out) == Outcome::kRefused) [[unlikely]]
    return why(in);
  return out;
}

Outcome JsonSet::apply(const Record& in, Arena& arena, Record& out) {
  if (in.value.null()) return Outcome::kPassed;
  const std::string_view document = in.value.view();
  Impl::Splice splice;
  if (impl_->place(document, splice) != Place::kFound) return Outcome::kRefused;
  const std::string_view parts[] = {
      document.substr(0, splice.start), splice.comma ? std::string_view(",") : std::string_view(),
      splice.labelled ? std::string_view(impl_->name) : std::string_view(), options_.value,
      document.substr(splice.end)};
  std::size_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  char* const bytes = arena.allocate(size);
  char* at = bytes;
  for (const std::string_view part : parts) at += part.copy(at, part.size());
  out.value = Bytes(bytes, size);
  return Outcome::kPassed;
}

}  // namespace sluice
