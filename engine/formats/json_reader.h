#pragma once

#include <sluice/engine/formats/json_pointer.h>
#include <sluice/io/base/status.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace sluice {

enum class JsonType : std::uint8_t { kNull, kBool, kNumber, kString, kArray, kObject };

/// The bytes of a value in its document: [start, end), with its quotes or brackets.
struct JsonSpan {
  JsonType type = JsonType::kNull;
  std::size_t start = 0, end = 0;
  [[nodiscard]] std::string_view in(std::string_view document) const noexcept {
    return document.substr(start, end - start);
  }
};

enum class JsonFound : std::uint8_t {
  kFound,
  kMissing,    ///< no such field or element
  kMalformed,  ///< not JSON; why() tells
};

/// A JSON number as exactly as 64 bits can; integers beyond them keep their digits.
struct JsonNumber {
  enum class Kind : std::uint8_t { kSigned, kUnsigned, kDouble, kBig };
  Kind kind = Kind::kSigned;
  std::int64_t signed_value = 0;
  std::uint64_t unsigned_value = 0;  ///< kUnsigned: above the largest int64
  double double_value = 0;           ///< kDouble, and about the value of kBig
  std::string_view text;             ///< kBig: its digits, in the document
};

/// Finds values in JSON documents without copying or building anything (simdjson On-Demand).
///
/// What is checked: the whole document's UTF-8 and the ends of its texts, the levels on the way to
/// the value up to it, the value if it is a scalar, and that brackets close where the document
/// ends: a document that was cut is found. What is skipped is not looked into otherwise: a source
/// with `format: json` checks whole documents. A byte order mark in front is no error. Of a name
/// that an object has twice, the first counts; names may be escaped in the document.
///
/// Shard      one at a time; each copy has a parser of its own.
/// Units      offsets are bytes of the document; nesting over 1,024 levels is an error, no crash.
/// Errors     kMalformed; why() finds the byte, slowly. Nothing throws but for memory.
/// Ownership  documents are the caller's, and stay where they are from open() to the last find().
///            Up to 64 bytes behind one may be read, never over the end of its page; not with
///            sanitizers, where documents are copied.
class JsonReader {
 public:
  JsonReader();
  JsonReader(const JsonReader&);  ///< a parser of its own
  JsonReader(JsonReader&&) noexcept;
  JsonReader& operator=(JsonReader) noexcept;
  ~JsonReader();

  /// open() and find() in one.
  [[nodiscard]] JsonFound locate(std::string_view document, const JsonPointer& pointer,
                                 JsonSpan& span);
  /// Looks over a document once, for any number of find().
  [[nodiscard]] bool open(std::string_view document);
  [[nodiscard]] JsonFound find(const JsonPointer& pointer, JsonSpan& span);
  /// The string found last, unescaped; valid until the next open() or find().
  [[nodiscard]] std::string_view text() const noexcept;
  /// The number found last.
  [[nodiscard]] const JsonNumber& number() const noexcept;

  /// "not JSON: expected ',' or '}' at byte 17 of 40". kCorrupt. For a document that was malformed.
  [[nodiscard]] static Status why(std::string_view document);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
