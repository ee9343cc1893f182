#include <sluice/engine/formats/json_pointer.h>
#include <sluice/engine/internal/json_error.h>

#include <charconv>

namespace sluice {
namespace {

Status wrong(std::string_view text, std::size_t at, std::string_view what) {
  return Status(Code::kInvalid, fmt::format("JSON pointer \"{}\": {} at byte {}", text, what, at));
}

std::optional<std::uint64_t> index_of(std::string_view name) {
  if (name.empty() || (name.size() > 1 && name[0] == '0')) return {};
  std::uint64_t index = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  if (error != std::errc() || end != name.data() + name.size()) return {};
  return index;
}

/// A quote, a backslash or a control character never stands in a document as it is.
bool is_plain(std::string_view name) {
  for (const char c : name) {
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20) return false;
  }
  return true;
}

}  // namespace

Result<JsonPointer> JsonPointer::make(std::string_view text) {
  JsonPointer made;
  made.text_ = text;
  if (text.empty()) return made;
  if (text[0] != '/') {
    return wrong(text, 0,
                 fmt::format("expected '/', as in \"/{}\" (\"\" is the whole document)", text));
  }
  if (const std::size_t bad = internal::find_utf8_error(text); bad != text.size()) {
    return Status(Code::kInvalid, fmt::format("a JSON pointer is not UTF-8 at byte {}", bad));
  }
  std::string name;
  const auto finish = [&] {
    made.tokens_.push_back(Token{name, index_of(name), is_plain(name)});
    name.clear();
  };
  for (std::size_t at = 1; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '/') {
      if (made.tokens_.size() + 1 == kLevelsMax)
        return wrong(text, at, fmt::format("more than {} levels", kLevelsMax));
      finish();
    } else if (c == '~') {
      const char escaped = at + 1 < text.size() ? text[at + 1] : '\0';
      if (escaped != '0' && escaped != '1')
        return wrong(text, at, "'~' must be written \"~0\" (and '/' in a name \"~1\")");
      name += escaped == '0' ? '~' : '/';
      ++at;
    } else {
      name += c;
    }
  }
  finish();
  return made;
}

JsonPointer JsonPointer::parent() const {
  SLUICE_ASSERT(!whole());
  JsonPointer made;
  made.text_ = text_.substr(0, text_.rfind('/'));
  made.tokens_.assign(tokens_.begin(), tokens_.end() - 1);
  return made;
}

}  // namespace sluice
