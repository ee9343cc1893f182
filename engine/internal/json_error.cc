#include <sluice/engine/internal/json_error.h>

#include <vector>

namespace sluice::internal {
namespace {

constexpr std::size_t kDepthMax = 1024;

/// A scanner with an explicit stack: depth is bounded by a number, not by the thread's stack.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::optional<JsonError> run() {
    if (!document() && !error_) fail("unexpected character");
    return error_;
  }

 private:
  bool fail(std::string_view what) {
    if (!error_)
      error_ =
          JsonError{at_, at_ < text_.size() ? what : std::string_view("the text ends too early")};
    return false;
  }
  [[nodiscard]] char peek() const noexcept { return at_ < text_.size() ? text_[at_] : '\0'; }
  void space() noexcept {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }
  bool document() {
    if (text_.empty()) {
      error_ = JsonError{0, "an empty text"};
      return false;
    }
    bool value_next = true;  // Otherwise a value has just ended.
    for (;;) {
      space();
      if (value_next) {
        const char c = peek();
        if (c == '{' || c == '[') {
          if (open_.size() == kDepthMax) return fail("nested deeper than 1,024 levels");
          open_.push_back(c);
          ++at_;
          space();
          if (peek() == (c == '{' ? '}' : ']')) {
            ++at_;
            open_.pop_back();
            value_next = false;
          } else if (c == '{' && !name()) {
            return false;
          }
          continue;
        }
        if (!scalar(c)) return false;
        value_next = false;
        continue;
      }
      if (open_.empty()) {
        if (at_ < text_.size()) return fail("more text behind the document");
        return true;
      }
      const bool object = open_.back() == '{';
      if (peek() == ',') {
        ++at_;
        space();
        if (object && !name()) return false;
        value_next = true;
      } else if (peek() == (object ? '}' : ']')) {
        ++at_;
        open_.pop_back();
      } else {
        return fail(object ? "expected ',' or '}'" : "expected ',' or ']'");
      }
    }
  }
  bool name() {
    if (peek() != '"') return fail("expected a name in quotes");
    if (!string()) return false;
    space();
    if (peek() != ':') return fail("expected ':'");
    ++at_;
    return true;
  }
  bool scalar(char c) {
    if (c == '"') return string();
    if (c == '-' || (c >= '0' && c <= '9')) return number();
    if (c == 't') return word("true");
    if (c == 'f') return word("false");
    if (c == 'n') return word("null");
    return fail("expected a value");
  }
  bool word(std::string_view expected) {
    for (const char c : expected) {
      if (peek() != c) return fail("expected true, false or null");
      ++at_;
    }
    return true;
  }
  bool string() {
    ++at_;
    for (;;) {
      if (at_ >= text_.size()) return fail("");
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') {
        ++at_;
        return true;
      }
      if (c < 0x20) return fail("a control character in a string");
      if (c == '\\') {
        if (!escape()) return false;
      } else if (c >= 0x80) {
        const std::size_t bad = find_utf8_error(text_.substr(at_, 4));
        if (bad == 0) return fail("not UTF-8");
        ++at_;
        while (at_ < text_.size() && (static_cast<unsigned char>(text_[at_]) & 0xc0) == 0x80) ++at_;
      } else {
        ++at_;
      }
    }
  }
  bool escape() {
    ++at_;
    const char c = peek();
    if (c != 'u') {
      if (c == '\0' || std::string_view("\"\\/bfnrt").find(c) == std::string_view::npos)
        return fail("an unknown escape");
      ++at_;
      return true;
    }
    std::uint32_t code = 0;
    if (!hex(code)) return false;
    if (code >= 0xdc00 && code <= 0xdfff) return fail("half a surrogate pair");
    if (code < 0xd800 || code > 0xdbff) return true;
    if (text_.substr(at_, 2) != "\\u") return fail("half a surrogate pair");
    ++at_;
    if (!hex(code)) return false;
    return (code >= 0xdc00 && code <= 0xdfff) || fail("half a surrogate pair");
  }
  bool hex(std::uint32_t& code) {
    ++at_;  // The 'u'.
    code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = peek();
      const bool digit = c >= '0' && c <= '9';
      const char lower = static_cast<char>(c | 0x20);
      if (!digit && (lower < 'a' || lower > 'f')) return fail("expected four hexadecimal digits");
      code = code * 16 + static_cast<std::uint32_t>(digit ? c - '0' : lower - 'a' + 10);
    }
    return true;
  }
  bool digits() {
    if (peek() < '0' || peek() > '9') return fail("expected a digit");
    while (peek() >= '0' && peek() <= '9') ++at_;
    return true;
  }
  bool number() {
    if (peek() == '-') ++at_;
    if (peek() == '0') {
      ++at_;
      if (peek() >= '0' && peek() <= '9') return fail("a number with a zero in front");
    } else if (!digits()) {
      return false;
    }
    if (peek() == '.') {
      ++at_;
      if (!digits()) return false;
    }
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!digits()) return false;
    }
    return true;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::vector<char> open_;
  std::optional<JsonError> error_;
};

}  // namespace

std::optional<JsonError> find_json_error(std::string_view text) { return Scanner(text).run(); }

std::size_t find_utf8_error(std::string_view text) noexcept {
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = [&](std::size_t i) {
      return at + i < text.size() ? static_cast<unsigned char>(text[at + i])
                                  : static_cast<unsigned char>(0);
    };
    const unsigned first = byte(0);
    std::size_t size = 0;
    unsigned low = 0x80, high = 0xbf;  // What the second byte may be: no overlong forms,
                                       // surrogates, or over U+10FFFF.
    if (first < 0x80) {
      ++at;
      continue;
    }
    if (first >= 0xc2 && first <= 0xdf) size = 2;
    if (first >= 0xe0 && first <= 0xef) size = 3;
    if (first >= 0xf0 && first <= 0xf4) size = 4;
    if (first == 0xe0) low = 0xa0;
    if (first == 0xed) high = 0x9f;
    if (first == 0xf0) low = 0x90;
    if (first == 0xf4) high = 0x8f;
    if (size == 0 || byte(1) < low || byte(1) > high) return at;
    for (std::size_t i = 2; i < size; ++i) {
      if (byte(i) < 0x80 || byte(i) > 0xbf) return at;
    }
    at += size;
  }
  return text.size();
}

std::optional<std::uint32_t> schema_id(std::string_view text) noexcept {
  if (text.size() < 5 || text[0] != '\0') return {};
  std::uint32_t id = 0;
  for (std::size_t i = 1; i < 5; ++i) id = id << 8 | static_cast<unsigned char>(text[i]);
  return id;
}

}  // namespace sluice::internal
