#include <sluice/engine/formats/json_literal.h>
#include <sluice/engine/internal/json_error.h>

#include <rapidjson/writer.h>

namespace sluice {
namespace {

/// What RapidJSON writes to.
struct Output {
  using Ch = char;
  std::string& text;
  void Put(char c) { text += c; }
  void Flush() {}
};

}  // namespace

void append_json_quoted(std::string_view text, std::string& out) {
  Output output{out};
  rapidjson::Writer<Output> writer(output);
  writer.String(text.data() == nullptr ? "" : text.data(),
                static_cast<rapidjson::SizeType>(text.size()));
}

std::string json_quoted(std::string_view text) {
  std::string made;
  append_json_quoted(text, made);
  return made;
}

JsonLiteral::JsonLiteral(std::string_view text) : json_(json_quoted(text)) {}

Status JsonLiteral::check() const {
  if (const auto found = internal::find_json_error(json_)) {
    return Status(
        Code::kInvalid,
        fmt::format("not one JSON value: {} at byte {} of \"{}\" (a text stands in double "
                    "quotes)",
                    found->what, found->at, json_));
  }
  return {};
}

}  // namespace sluice
