#include "pipeline_file/schema_json.h"

#include "pipeline_file/check.h"
#include "pipeline_file/keys.h"
#include <fmt/format.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <cctype>
#include <map>
#include <string_view>
#include <vector>

namespace sluice::tools {
namespace {

/// Writes each section once, under "definitions", since conditions contain conditions.
class SchemaWriter {
 public:
  std::string write() {
    writer_.SetIndent(' ', 1);
    writer_.StartObject();
    text("$schema", "http://json-schema.org/draft-07/schema#");
    text("title", "A pipeline of sluice");
    refer(pipeline_section());
    key("definitions");
    writer_.StartObject();
    // A definition may refer to sections that were not met before: the list grows meanwhile.
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      key(name_of(*sections_[i]));
      define(*sections_[i]);
    }
    writer_.EndObject();
    writer_.EndObject();
    return std::string(buffer_.GetString(), buffer_.GetSize()) + '\n';
  }

 private:
  using Writer = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

  void key(std::string_view name) {
    writer_.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
  }
  void string(std::string_view text) {
    writer_.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  }
  void text(std::string_view name, std::string_view value) {
    key(name);
    string(value);
  }
  std::string name_of(const Section& section) {
    const auto [at, added] = names_.emplace(&section, names_.size() + 1);
    if (added) sections_.push_back(&section);
    std::string name;
    // A reference is part of a URI; other characters would have to be escaped there.
    for (const char c : section.title) {
      name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    }
    return fmt::format("{}_{}", at->second, name);
  }
  void refer(const Section& section) { text("$ref", "#/definitions/" + name_of(section)); }

  void define(const Section& section) {
    writer_.StartObject();
    text("type", "object");
    text("description", section.help);
    key("additionalProperties");
    writer_.Bool(false);
    key("properties");
    writer_.StartObject();
    std::vector<std::string_view> required, one_of;
    for (const Key& one : section.keys) {
      if (!one.not_yet.empty()) continue;  // No editor should propose what is refused.
      if (one.need == Need::kRequired) required.push_back(one.name);
      if (one.need == Need::kOneOf) one_of.push_back(one.name);
      key(one.name);
      writer_.StartObject();
      text("description", one.fallback.empty()
                              ? std::string(one.help)
                              : fmt::format("{} Default: {}", one.help, one.fallback));
      forms(one.shape);
      writer_.EndObject();
    }
    writer_.EndObject();
    if (!required.empty()) {
      key("required");
      list(required);
    }
    if (!one_of.empty()) exactly_one(one_of);
    writer_.EndObject();
  }
  void list(const std::vector<std::string_view>& names) {
    writer_.StartArray();
    for (const std::string_view name : names) string(name);
    writer_.EndArray();
  }
  void exactly_one(const std::vector<std::string_view>& names) {
    key("oneOf");
    writer_.StartArray();
    for (const std::string_view name : names) {
      writer_.StartObject();
      key("required");
      list({name});
      writer_.EndObject();
    }
    writer_.EndArray();
  }

  /// All forms that a value may have, as members of the object that is open.
  void forms(const Shape& shape) {
    if (shape.any) return;
    key("anyOf");
    writer_.StartArray();
    scalar(shape);
    if (shape.section != nullptr) {
      writer_.StartObject();
      refer(*shape.section);
      writer_.EndObject();
    }
    if (shape.values != nullptr) free_map(shape);
    if (shape.items != nullptr) {
      writer_.StartObject();
      text("type", "array");
      key("minItems");
      writer_.Uint64(shape.items_min);
      key("items");
      writer_.StartObject();
      forms(*shape.items);
      writer_.EndObject();
      writer_.EndObject();
    }
    writer_.EndArray();
  }
  void free_map(const Shape& shape) {
    writer_.StartObject();
    text("type", "object");
    key("minProperties");
    writer_.Uint64(shape.items_min);
    key("additionalProperties");
    writer_.StartObject();
    forms(*shape.values);
    writer_.EndObject();
    writer_.EndObject();
  }
  void scalar(const Shape& shape) {
    if (!shape.words.empty()) {
      writer_.StartObject();
      key("enum");
      list({shape.words.begin(), shape.words.end()});
      writer_.EndObject();
    }
    switch (shape.scalar) {
      case Scalar::kNone:
        break;
      case Scalar::kText:
        typed({"string", "number", "boolean"});
        break;
      case Scalar::kBoolean:
        typed({"boolean"});
        break;
      case Scalar::kInteger:
        writer_.StartObject();
        text("type", "integer");
        key("minimum");
        writer_.Int64(shape.low);
        key("maximum");
        writer_.Int64(shape.high);
        writer_.EndObject();
        break;
      case Scalar::kDuration:
        pattern(shape.low < 0 ? "^-?[0-9]+(\\.[0-9]+)?(us|ms|s|m|min|h)$"
                              : "^[0-9]+(\\.[0-9]+)?(us|ms|s|m|min|h)$");
        break;
    }
    if (shape.secret_file) secret_file();
    const bool single = shape.scalar != Scalar::kNone || !shape.words.empty();
    if (single && shape.scalar != Scalar::kText) pattern("\\$\\{");
  }
  void typed(const std::vector<std::string_view>& types) {
    writer_.StartObject();
    key("type");
    list(types);
    writer_.EndObject();
  }
  void pattern(std::string_view expression) {
    writer_.StartObject();
    text("type", "string");
    text("pattern", expression);
    writer_.EndObject();
  }
  void secret_file() {
    writer_.StartObject();
    text("type", "object");
    key("required");
    list({"file"});
    key("additionalProperties");
    writer_.Bool(false);
    key("properties");
    writer_.StartObject();
    key("file");
    writer_.StartObject();
    text("type", "string");
    writer_.EndObject();
    writer_.EndObject();
    writer_.EndObject();
  }

  rapidjson::StringBuffer buffer_;
  Writer writer_{buffer_};
  std::map<const Section*, std::size_t> names_;
  std::vector<const Section*> sections_;
};

}  // namespace

std::string schema_json() { return SchemaWriter().write(); }

}  // namespace sluice::tools
