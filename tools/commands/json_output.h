#pragma once

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstdint>
#include <cstdio>
#include <string_view>

/// One JSON object with "schema_version" and "command", written to stdout as one line.
namespace sluice::tools {

class JsonOutput {
 public:
  explicit JsonOutput(std::string_view command) {
    writer_.StartObject();
    field("schema_version", 1);
    field("command", command);
  }
  void key(std::string_view name) {
    writer_.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
  }
  void value(std::string_view text) {
    writer_.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  }
  void value(const char* text) { value(std::string_view(text)); }
  void value(bool yes) { writer_.Bool(yes); }
  void value(double number) { writer_.Double(number); }
  void value(int number) { writer_.Int(number); }
  void value(std::int64_t number) { writer_.Int64(number); }
  void value(std::uint64_t number) { writer_.Uint64(number); }
  void null() { writer_.Null(); }
  template <class Value>
  void field(std::string_view name, Value content) {
    key(name);
    value(content);
  }
  void null_field(std::string_view name) {
    key(name);
    null();
  }
  /// `output.object("lateness", [&] { output.field("p99_ms", 3.5); });`
  template <class Fill>
  void object(std::string_view name, Fill fill) {
    key(name);
    object(fill);
  }
  template <class Fill>
  void object(Fill fill) {
    writer_.StartObject();
    fill();
    writer_.EndObject();
  }
  template <class Fill>
  void array(std::string_view name, Fill fill) {
    key(name);
    writer_.StartArray();
    fill();
    writer_.EndArray();
  }
  void print() {
    writer_.EndObject();
    std::fwrite(buffer_.GetString(), 1, buffer_.GetSize(), stdout);
    std::fputc('\n', stdout);
    std::fflush(stdout);
  }

 private:
  rapidjson::StringBuffer buffer_;
  rapidjson::Writer<rapidjson::StringBuffer> writer_{buffer_};
};

}  // namespace sluice::tools
