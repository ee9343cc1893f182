#pragma once

#include <sluice/kafka/serde.h>

#include <cstdint>
#include <string_view>

namespace sluice::tools {

/// A deserializer that passes whole records on when their values are of a format. Null values
/// (tombstones) are of every format.
class FormatCheck {
 public:
  /// "string", "json" or "int64".
  explicit FormatCheck(std::string_view format);
  [[nodiscard]] Status operator()(const Record& record, Record& out);

 private:
  enum class Format : std::uint8_t { kString, kJson, kInt64 };
  [[nodiscard]] Status json(const Record& record);

  Format format_;
  kafka::JsonChecker json_;
};

}  // namespace sluice::tools
