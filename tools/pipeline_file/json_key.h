#pragma once

#include <sluice/engine/batch.h>
#include <sluice/engine/formats/json_pointer.h>
#include <sluice/engine/formats/json_reader.h>
#include <sluice/engine/record.h>

#include <string>
#include <string_view>
#include <vector>

namespace sluice::tools {

/// "the field at "/user" is missing". kInvalid.
[[nodiscard]] Status wrong_field(const JsonPointer& pointer, std::string_view what);

/// Reads the key of a record: fields of its JSON document, or the key that Kafka has of it. Always
/// as JSON in one spelling: "1" and 1 are two keys, 1 and 1.0 one. Fractions and exponents from 2^53
/// on stay as they are written, since a double no longer tells them apart.
///
/// Shard      one; a copy each.
/// Errors     kInvalid: a value that is null, and a key that is missing, null, a list or a map; a
/// record's key that is none or no UTF-8. kCorrupt: no JSON.
/// Ownership  keys point into the record or the arena.
class JsonKey {
 public:
  struct Options {
    std::vector<JsonPointer> fields;
    bool list = false;         ///< the key is written as a list, be it of one
    bool from_record = false;  ///< not of fields but of the record
    bool as_text = false;  ///< other keys are of records, which know texts only: 1 is "1" as well
    bool nulls = false;    ///< a field that is null makes a null key
  };
  explicit JsonKey(Options options) : options_(std::move(options)) {}

  /// Requires: open().
  [[nodiscard]] Status read(const Record& record, Arena& arena, Bytes& key);

  // For those who read more of the document than its key.
  [[nodiscard]] Status open(const Record& record);
  /// A field that is there and not null.
  [[nodiscard]] Status locate(const Record& record, const JsonPointer& pointer, JsonSpan& span);
  /// A scalar in one spelling; in the arena where it is not so in the document.
  [[nodiscard]] Status spell(const Record& record, const JsonPointer& pointer, const JsonSpan& span,
                             Arena& arena, std::string_view& spelled);
  /// The number located last.
  [[nodiscard]] const JsonNumber& number() const noexcept { return reader_.number(); }

 private:
  [[nodiscard]] Status find(const Record& record, const JsonPointer& pointer, JsonSpan& span);
  [[nodiscard]] Status spell_here(const Record& record, const JsonPointer& pointer,
                                  const JsonSpan& span, std::string_view& spelled);
  [[nodiscard]] Status read_record(const Record& record, Arena& arena, Bytes& key);
  [[nodiscard]] Bytes written(std::string_view key, Arena& arena);

  Options options_;
  JsonReader reader_;
  std::string scratch_, joined_;
};

}  // namespace sluice::tools
