#include <sluice/engine/internal/json_error.h>
#include <sluice/kafka/serde.h>

#include <simdjson.h>

namespace sluice::kafka {

struct JsonChecker::Impl {
  simdjson::dom::parser parser;
};

JsonChecker::JsonChecker() : impl_(std::make_unique<Impl>()) {}
JsonChecker::JsonChecker(const JsonChecker&)
    : JsonChecker() {}  // NOLINT(bugprone-copy-constructor-init)
JsonChecker::JsonChecker(JsonChecker&&) noexcept = default;
JsonChecker& JsonChecker::operator=(JsonChecker other) noexcept {
  impl_.swap(other.impl_);
  return *this;
}
JsonChecker::~JsonChecker() = default;

Status JsonChecker::check(std::string_view text) {
  if (!impl_) impl_ = std::make_unique<Impl>();  // Moved from.
  const auto parsed = impl_->parser.parse(text.data(), text.size());
  if (parsed.error() == simdjson::SUCCESS) [[likely]]
    return {};
  // simdjson does not say where, and refuses integers above 64 bits, which are valid JSON. The slow
  // way tells.
  if (const auto found = sluice::internal::find_json_error(text)) {
    return Status(Code::kCorrupt, fmt::format("not JSON: {} at byte {} of {}", found->what,
                                              found->at, text.size()));
  }
  if (parsed.error() == simdjson::NUMBER_ERROR) return {};
  return Status(Code::kCorrupt,
                fmt::format("not JSON: {}", simdjson::error_message(parsed.error())));
}

Status check_utf8(std::string_view text) {
  if (simdjson::validate_utf8(text.data() == nullptr ? "" : text.data(), text.size())) [[likely]]
    return {};
  return Status(Code::kCorrupt, fmt::format("not UTF-8 at byte {} of {}",
                                            sluice::internal::find_utf8_error(text), text.size()));
}

Status StringDeserializer::operator()(const Record& record, std::string& out) const {
  if (record.value.null()) {
    return Status(Code::kCorrupt,
                  "a null value (tombstone) is no std::string; use std::string_view or Record");
  }
  out.assign(record.value.view());
  return {};
}

Status IntegerDeserializer::wrong_size(const Record& record, std::size_t wanted) {
  if (record.value.null()) {
    return Status(
        Code::kCorrupt,
        "a null value (tombstone) is no integer; leave it out with a deserializer of your own");
  }
  return Status(Code::kCorrupt,
                fmt::format("an integer of {} bytes has {}", wanted, record.value.size()));
}

Status JsonDeserializer::operator()(const Record& record, Json& out) {
  out.record = record;
  out.text = record.value.view();
  if (record.value.null()) return {};
  const auto framed = sluice::internal::schema_id(out.text);
  if (framing == Framing::kConfluent) {
    if (!framed)
      return Status(
          Code::kCorrupt,
          "no schema id in front (a zero byte and 4 bytes), as Framing::kConfluent wants");
    out.text.remove_prefix(5);
  }
  Status checked = checker.check(out.text);
  if (!checked.ok() && framed && framing == Framing::kNone) {
    return checked.with(
        fmt::format("(it looks framed by a schema registry, schema id {}: use "
                    "JsonDeserializer{{.framing = Framing::kConfluent}})",
                    *framed));
  }
  return checked;
}

}  // namespace sluice::kafka
