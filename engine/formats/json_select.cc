#include <sluice/engine/formats/json_literal.h>
#include <sluice/engine/formats/json_reader.h>
#include <sluice/engine/formats/json_select.h>
#include <sluice/engine/internal/json_error.h>

#include <cstring>
#include <set>

namespace sluice {

struct JsonSelect::Impl {
  struct Field {
    std::string name;  // `"name":`
    JsonPointer pointer;
  };
  Status problem;
  std::vector<Field> fields;
  JsonReader reader;
  std::vector<std::pair<const Field*, std::string_view>> found;  // Of one document; reused.
};

JsonSelect::JsonSelect(Options options)
    : options_(std::move(options)), impl_(std::make_unique<Impl>()) {
  if (options_.fields.empty() || options_.fields.size() > kFieldsMax) {
    impl_->problem = Status(Code::kInvalid, fmt::format("json_select: {} fields, expected 1 to {}",
                                                        options_.fields.size(), kFieldsMax));
    return;
  }
  std::set<std::string> names;
  for (const auto& [name, path] : options_.fields) {
    const std::string what = fmt::format("json_select: field \"{}\":", name);
    auto pointer = JsonPointer::make(path);
    if (!pointer.ok()) {
      impl_->problem = Status(Code::kInvalid, what, pointer.status().message());
    } else if (!names.insert(name).second) {
      impl_->problem = Status(Code::kInvalid, what, "named twice");
    } else if (internal::find_utf8_error(name) != name.size()) {
      impl_->problem = Status(Code::kInvalid, "json_select: a field's name is not UTF-8");
    }
    if (!impl_->problem.ok()) return;
    impl_->fields.push_back({json_quoted(name) + ":", *std::move(pointer)});
  }
  impl_->found.reserve(impl_->fields.size());
}
Result<JsonSelect> JsonSelect::make(Options options) {
  JsonSelect made(std::move(options));
  if (Status wrong = made.check(); !wrong.ok()) return wrong;
  return made;
}
JsonSelect::JsonSelect(const JsonSelect& other) : JsonSelect(other.options_) {}
JsonSelect::JsonSelect(JsonSelect&&) noexcept = default;
JsonSelect& JsonSelect::operator=(JsonSelect other) noexcept {
  std::swap(options_, other.options_);
  std::swap(counts_, other.counts_);
  impl_.swap(other.impl_);
  return *this;
}
JsonSelect::~JsonSelect() = default;

Status JsonSelect::check() const { return impl_->problem; }
Status JsonSelect::why(const Record& in) const { return JsonReader::why(in.value.view()); }

Result<Record> JsonSelect::operator()(const Record& in, Arena& arena) {
  Record out = in;
  if (apply(in, arena, out) == Outcome::kRefused) [[unlikely]]
    return why(in);
  return out;
}

Outcome JsonSelect::apply(const Record& in, Arena& arena, Record& out) {
  if (in.value.null()) return Outcome::kPassed;
  const std::string_view document = in.value.view();
  if (!impl_->reader.open(document)) return Outcome::kRefused;
  impl_->found.clear();
  std::size_t size = 2;  // The braces.
  for (const Impl::Field& field : impl_->fields) {
    JsonSpan span;
    const JsonFound found = impl_->reader.find(field.pointer, span);
    if (found == JsonFound::kMalformed) return Outcome::kRefused;
    if (found == JsonFound::kMissing) {
      counts_.add_missing();
      continue;
    }
    size += (impl_->found.empty() ? 0 : 1) + field.name.size() + (span.end - span.start);
    impl_->found.emplace_back(&field, span.in(document));
  }
  char* const bytes = arena.allocate(size);
  char* at = bytes;
  *at++ = '{';
  for (const auto& [field, value] : impl_->found) {
    if (at != bytes + 1) *at++ = ',';
    std::memcpy(at, field->name.data(), field->name.size());
    at += field->name.size();
    std::memcpy(at, value.data(), value.size());
    at += value.size();
  }
  *at++ = '}';
  SLUICE_ASSERT(at == bytes + size);
  out.value = Bytes(bytes, size);
  return Outcome::kPassed;
}

}  // namespace sluice
