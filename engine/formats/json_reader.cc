#include <sluice/engine/formats/json_reader.h>
#include <sluice/engine/internal/json_error.h>

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>

namespace sluice {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::size_t kDepthMax = 1024;  // As find_json_error's.

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

/// simdjson reads past the end of a document, and ignores what it reads there. Memory is mapped in
/// pages, so what lies in the page of the last byte can be read, whoever owns it.
bool readable_behind(std::string_view document) noexcept {
  constexpr std::uintptr_t kPageBytes = 4096;  // The smallest there is.
  const auto last = reinterpret_cast<std::uintptr_t>(document.data() + document.size() - 1);
  return !kSanitized && last % kPageBytes + simdjson::SIMDJSON_PADDING < kPageBytes;
}

/// simdjson skips what is not looked for without a stack, so depth costs nothing there; it would
/// cost whoever reads the document next.
bool is_too_deep(std::string_view document) noexcept {
  if (document.size() <= kDepthMax) return false;
  // '[' and '{' differ in one bit. Few documents have so many of them that it is worth a closer
  // look.
  const auto opens =
      std::count_if(document.begin(), document.end(), [](char c) { return (c | 0x20) == '{'; });
  if (opens <= static_cast<std::ptrdiff_t>(kDepthMax)) return false;
  std::size_t depth = 0;
  bool in_text = false;
  for (std::size_t at = 0; at < document.size(); ++at) {
    const char c = document[at];
    if (c == '"') in_text = !in_text;
    if (in_text) {
      if (c == '\\') ++at;
    } else if ((c | 0x20) == '{') {
      if (++depth > kDepthMax) return true;
    } else if ((c | 0x20) == '}' && depth > 0) {
      --depth;
    }
  }
  return false;
}

/// What a byte that stands outside texts does to the depth.
constexpr std::array<std::int8_t, 256> kDepthOf = [] {
  std::array<std::int8_t, 256> made{};
  made['['] = made['{'] = 1;
  made[']'] = made['}'] = -1;
  return made;
}();

std::string_view without_space_behind(std::string_view token) noexcept {
  while (!token.empty() && static_cast<unsigned char>(token.back()) <= ' ') token.remove_suffix(1);
  return token;
}

/// simdjson's iterator knows the places of all brackets, commas and values (stage 1).
class Document : public ondemand::document {
 public:
  using ondemand::document::document;
  [[nodiscard]] const ondemand::json_iterator& iterator() const noexcept { return iter; }
};

}  // namespace

struct JsonReader::Impl {
  bool open(std::string_view document);
  JsonFound find(const JsonPointer& pointer, JsonSpan& span);

  JsonFound whole(JsonSpan& span);
  JsonFound step(ondemand::object& object, const JsonPointer::Token& token);
  JsonFound step(ondemand::array array, const JsonPointer::Token& token);
  JsonFound descend(const JsonPointer& pointer);
  /// Counts brackets from where the search stopped up to the document's end, once a document.
  bool finish();
  JsonFound measure(JsonSpan& span);
  bool read_number(std::string_view token);
  bool escapes() noexcept {
    if (escapes_ < 0) {
      escapes_ = std::memchr(parsed_, '\\', size_) != nullptr ? 1 : 0;
    }
    return escapes_ != 0;
  }

  ondemand::parser parser_;
  Document document_;
  ondemand::value value_;
  const char* parsed_ = nullptr;  // The caller's bytes behind a mark, or a copy.
  std::size_t size_ = 0;
  std::size_t mark_ = 0;  // Bytes of a byte order mark.
  std::unique_ptr<char[]> copy_;
  std::size_t copy_size_ = 0;
  int escapes_ = -1;  // Not looked for yet.
  bool fresh_ = false, finished_ = false;
  bool at_scalar_ = false;  // The iterator stands in front of the value found, not behind it.
  std::string_view text_;
  JsonNumber number_;
};

bool JsonReader::Impl::open(std::string_view document) {
  mark_ = document.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  document.remove_prefix(mark_);
  size_ = document.size();
  escapes_ = -1;
  fresh_ = true;
  finished_ = false;
  if (document.empty()) return false;
  if (is_too_deep(document)) [[unlikely]]
    return false;
  parsed_ = document.data();
  const std::size_t padded = size_ + simdjson::SIMDJSON_PADDING;
  if (!readable_behind(document)) [[unlikely]] {
    if (copy_size_ < padded) {
      copy_size_ = std::max<std::size_t>(2 * padded, 4096);
      copy_ = std::make_unique<char[]>(copy_size_);
    }
    std::memcpy(copy_.get(), document.data(), size_);
    parsed_ = copy_.get();
  }
  // It would grow to the size of each document that is larger than all before.
  if (parser_.capacity() < size_ &&
      parser_.allocate(std::max<std::size_t>(2 * size_, 4096)) != simdjson::SUCCESS)
    return false;
  return parser_.iterate(parsed_, size_, padded).get(static_cast<ondemand::document&>(document_)) ==
         simdjson::SUCCESS;
}

JsonFound JsonReader::Impl::find(const JsonPointer& pointer, JsonSpan& span) {
  if (pointer.whole()) return whole(span);
  if (!fresh_) document_.rewind();
  fresh_ = false;
  at_scalar_ = false;
  JsonFound found = descend(pointer);
  if (found == JsonFound::kFound) found = measure(span);
  if (found != JsonFound::kMalformed && !finished_ && !finish()) return JsonFound::kMalformed;
  return found;
}

JsonFound JsonReader::Impl::descend(const JsonPointer& pointer) {
  ondemand::json_type type;
  if (document_.type().get(type) != simdjson::SUCCESS) return JsonFound::kMalformed;
  const std::vector<JsonPointer::Token>& tokens = pointer.tokens();
  JsonFound found = JsonFound::kMissing;
  if (type == ondemand::json_type::object) {
    ondemand::object object;
    if (document_.get_object().get(object) != simdjson::SUCCESS) return JsonFound::kMalformed;
    found = step(object, tokens.front());
  } else if (type == ondemand::json_type::array) {
    ondemand::array array;
    if (document_.get_array().get(array) != simdjson::SUCCESS) return JsonFound::kMalformed;
    found = step(array, tokens.front());
  } else {
    finished_ = true;
    return internal::find_json_error({parsed_, size_}) ? JsonFound::kMalformed
                                                       : JsonFound::kMissing;
  }
  for (std::size_t i = 1; i < tokens.size() && found == JsonFound::kFound; ++i) {
    if (value_.type().get(type) != simdjson::SUCCESS) return JsonFound::kMalformed;
    if (type == ondemand::json_type::object) {
      ondemand::object object;
      if (value_.get_object().get(object) != simdjson::SUCCESS) return JsonFound::kMalformed;
      found = step(object, tokens[i]);
    } else if (type == ondemand::json_type::array) {
      ondemand::array array;
      if (value_.get_array().get(array) != simdjson::SUCCESS) return JsonFound::kMalformed;
      found = step(array, tokens[i]);
    } else {
      JsonSpan scalar;
      return measure(scalar) == JsonFound::kFound ? JsonFound::kMissing : JsonFound::kMalformed;
    }
  }
  return found;
}

JsonFound JsonReader::Impl::step(ondemand::object& object, const JsonPointer::Token& token) {
  if (token.plain && !escapes()) [[likely]] {
    const simdjson::error_code error = object.find_field(token.name).get(value_);
    if (error == simdjson::SUCCESS) return JsonFound::kFound;
    return error == simdjson::NO_SUCH_FIELD ? JsonFound::kMissing : JsonFound::kMalformed;
  }
  for (auto each : object) {
    ondemand::field field;
    if (std::move(each).get(field) != simdjson::SUCCESS) return JsonFound::kMalformed;
    const char* const raw = field.key().raw();
    const char* at = raw;
    while (*at != '"' && *at != '\\') ++at;  // Stage 1 has seen the quote.
    std::string_view name(raw, static_cast<std::size_t>(at - raw));
    if (*at == '\\' && field.unescaped_key().get(name) != simdjson::SUCCESS)
      return JsonFound::kMalformed;
    if (name == token.name) {
      value_ = field.value();
      return JsonFound::kFound;
    }
  }
  return JsonFound::kMissing;
}

JsonFound JsonReader::Impl::step(ondemand::array array, const JsonPointer::Token& token) {
  std::uint64_t at = 0;
  for (auto element : array) {
    if (element.get(value_) != simdjson::SUCCESS) return JsonFound::kMalformed;
    if (token.index && at++ == *token.index) return JsonFound::kFound;
    if (value_.type().error() != simdjson::SUCCESS) return JsonFound::kMalformed;
  }
  return JsonFound::kMissing;
}

bool JsonReader::Impl::finish() {
  finished_ = true;
  const std::uint32_t* at = document_.iterator().position();
  std::int32_t depth = document_.iterator().depth();
  if (at_scalar_) {
    ++at;
    --depth;
  }
  std::int32_t low = 0;  // Negative once the outermost bracket was closed before the end.
  // No branch in the loop: which bracket comes is not foreseen.
  for (std::uint32_t place = *at; place < size_; place = *++at) {
    low |= depth - 1;
    depth += kDepthOf[static_cast<unsigned char>(parsed_[place])];
  }
  return depth == 0 && low >= 0;
}

JsonFound JsonReader::Impl::whole(JsonSpan& span) {
  finished_ = true;
  const std::string_view all(parsed_, size_);
  if (internal::find_json_error(all)) return JsonFound::kMalformed;
  const std::size_t start = all.find_first_not_of(" \t\r\n");
  const std::string_view token = without_space_behind(all.substr(start));
  span.start = mark_ + start;
  span.end = span.start + token.size();
  switch (token.front()) {
    case '{':
      span.type = JsonType::kObject;
      break;
    case '[':
      span.type = JsonType::kArray;
      break;
    case 'n':
      span.type = JsonType::kNull;
      break;
    case 't':
    case 'f':
      span.type = JsonType::kBool;
      break;
    case '"': {
      span.type = JsonType::kString;
      document_.rewind();
      if (document_.get_string().get(text_) != simdjson::SUCCESS) return JsonFound::kMalformed;
      break;
    }
    default:
      span.type = JsonType::kNumber;
      document_.rewind();
      if (!read_number(token)) return JsonFound::kMalformed;
  }
  fresh_ = false;
  return JsonFound::kFound;
}

JsonFound JsonReader::Impl::measure(JsonSpan& span) {
  ondemand::json_type type;
  if (value_.type().get(type) != simdjson::SUCCESS) return JsonFound::kMalformed;
  std::string_view token, raw;
  bool good = true;
  at_scalar_ = type != ondemand::json_type::object && type != ondemand::json_type::array;
  switch (type) {
    case ondemand::json_type::object: {
      span.type = JsonType::kObject;
      ondemand::object object;
      good = value_.get_object().get(object) == simdjson::SUCCESS &&
             object.raw_json().get(raw) == simdjson::SUCCESS;
      token = without_space_behind(raw);
      good = good && token.ends_with('}');
      break;
    }
    case ondemand::json_type::array: {
      span.type = JsonType::kArray;
      ondemand::array array;
      good = value_.get_array().get(array) == simdjson::SUCCESS &&
             array.raw_json().get(raw) == simdjson::SUCCESS;
      token = without_space_behind(raw);
      good = good && token.ends_with(']');
      break;
    }
    case ondemand::json_type::string:
      span.type = JsonType::kString;
      token = without_space_behind(raw = value_.raw_json_token());
      good = token.size() >= 2 && token.ends_with('"');
      if (!good) break;
      text_ = token.substr(1, token.size() - 2);
      if (escapes() && text_.find('\\') != std::string_view::npos) {
        good = value_.get_string().get(text_) == simdjson::SUCCESS;
        at_scalar_ = false;
      }
      break;
    case ondemand::json_type::number:
      span.type = JsonType::kNumber;
      token = without_space_behind(raw = value_.raw_json_token());
      good = read_number(token);
      break;
    case ondemand::json_type::boolean:
      span.type = JsonType::kBool;
      token = without_space_behind(raw = value_.raw_json_token());
      good = token == "true" || token == "false";
      break;
    case ondemand::json_type::null:
      span.type = JsonType::kNull;
      token = without_space_behind(raw = value_.raw_json_token());
      good = token == "null";
      break;
  }
  if (!good) return JsonFound::kMalformed;
  const auto start = static_cast<std::size_t>(token.data() - parsed_);
  span.start = mark_ + start;
  span.end = span.start + token.size();
  // A value ends where the next one, or the end of what holds it, is.
  const std::size_t next = start + raw.size();
  good = next < size_ && (parsed_[next] == ',' || parsed_[next] == '}' || parsed_[next] == ']');
  return good ? JsonFound::kFound : JsonFound::kMalformed;
}

bool JsonReader::Impl::read_number(std::string_view token) {
  const bool integer = token.find_first_not_of("-0123456789") == std::string_view::npos;
  // Digits are converted by the standard library; what else a number may look like, the scanner
  // knows. simdjson's own conversion refuses integers over 64 bits, which are valid.
  if (internal::find_json_error(token)) return false;
  const char* const end = token.data() + token.size();
  number_.text = token;
  if (integer) {
    auto [signed_end, error] = std::from_chars(token.data(), end, number_.signed_value);
    if (error == std::errc() && signed_end == end) {
      number_.kind = JsonNumber::Kind::kSigned;
      return true;
    }
    auto [unsigned_end, too_large] = std::from_chars(token.data(), end, number_.unsigned_value);
    if (too_large == std::errc() && unsigned_end == end) {
      number_.kind = JsonNumber::Kind::kUnsigned;
      return true;
    }
  }
  number_.kind = integer ? JsonNumber::Kind::kBig : JsonNumber::Kind::kDouble;
  number_.double_value = 0;
  const auto [double_end, range] = std::from_chars(token.data(), end, number_.double_value);
  // Beyond what a double can hold: infinite, or nothing.
  if (range == std::errc::result_out_of_range)
    number_.double_value = std::strtod(std::string(token).c_str(), nullptr);
  return double_end == end;
}

JsonReader::JsonReader() = default;
JsonReader::JsonReader(const JsonReader&) {}  // A parser of its own, made when it is used.
JsonReader::JsonReader(JsonReader&&) noexcept = default;
JsonReader& JsonReader::operator=(JsonReader other) noexcept {
  impl_.swap(other.impl_);
  return *this;
}
JsonReader::~JsonReader() = default;

JsonFound JsonReader::locate(std::string_view document, const JsonPointer& pointer,
                             JsonSpan& span) {
  return open(document) ? impl_->find(pointer, span) : JsonFound::kMalformed;
}
bool JsonReader::open(std::string_view document) {
  if (!impl_) [[unlikely]]
    impl_ = std::make_unique<Impl>();
  return impl_->open(document);
}
JsonFound JsonReader::find(const JsonPointer& pointer, JsonSpan& span) {
  return impl_->find(pointer, span);
}
std::string_view JsonReader::text() const noexcept { return impl_->text_; }
const JsonNumber& JsonReader::number() const noexcept { return impl_->number_; }

Status JsonReader::why(std::string_view document) {
  const std::size_t mark = document.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  const auto found = internal::find_json_error(document.substr(mark));
  if (!found) return Status(Code::kCorrupt, "not JSON: simdjson refuses it");
  std::string text =
      fmt::format("not JSON: {} at byte {} of {}", found->what, mark + found->at, document.size());
  if (const auto framed = internal::schema_id(document)) {
    text += fmt::format(
        " (it looks framed by a schema registry, schema id {}: take the framing off in front, with "
        "a source's JsonDeserializer{{.framing = Framing::kConfluent}})",
        *framed);
  }
  return Status(Code::kCorrupt, text);
}

}  // namespace sluice
