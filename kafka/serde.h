#pragma once

#include <sluice/engine/batch.h>
#include <sluice/engine/record.h>
#include <sluice/io/base/result.h>
#include <sluice/kafka/sink_record.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

/// From records to values and back.
///
/// A deserializer is any callable (const Record&, T& out) or (const Record&, Arena&, T& out) that
/// returns
///   void           never fails
///   bool           false: leave this record out
///   Status         not ok: malformed, the source's on_error decides
///   Result<bool>   both
/// A serializer is any callable (const T&, SinkRecord& out) or (const T&, Arena&, SinkRecord& out)
/// that returns void or Status. Each shard has a copy of its own. Views may point into the record
/// or the arena; both live as long as the batch.
namespace sluice::kafka {

/// Text that is known to be UTF-8. A null value (tombstone) has text.data() == nullptr.
struct Utf8 {
  std::string_view text;
};

/// A record whose value is known to be one JSON document.
struct Json {
  Record record;
  std::string_view text;  ///< as it came; data() == nullptr for a tombstone, which is not malformed
  [[nodiscard]] bool null() const noexcept { return text.data() == nullptr; }
};

/// What stands in front of a document.
enum class Framing : std::uint8_t {
  kNone,
  kConfluent,  ///< a zero byte and a 4-byte schema id, which are left out of `text`; a value
               ///< without them is malformed
};

/// ok, or what is wrong and where (byte offset); hints at a schema registry's framing. Deep nesting
/// (over 1,024) is refused.
class JsonChecker {
 public:
  JsonChecker();
  JsonChecker(const JsonChecker&);  ///< the copy has a parser of its own
  JsonChecker(JsonChecker&&) noexcept;
  JsonChecker& operator=(JsonChecker) noexcept;
  ~JsonChecker();
  [[nodiscard]] Status check(std::string_view text);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// ok, or the offset of the first byte that is not UTF-8.
[[nodiscard]] Status check_utf8(std::string_view text);

// ---- deserializers ----

struct RecordDeserializer {
  void operator()(const Record& record, Record& out) const noexcept { out = record; }
};
struct ValueDeserializer {
  void operator()(const Record& record, Bytes& out) const noexcept { out = record.value; }
  /// A null value has data() == nullptr; the serializer of string_view makes it null again.
  void operator()(const Record& record, std::string_view& out) const noexcept {
    out = record.value.view();
  }
};
struct StringDeserializer {
  [[nodiscard]] Status operator()(const Record& record, std::string& out) const;
};
struct Utf8Deserializer {
  [[nodiscard]] Status operator()(const Record& record, Utf8& out) const {
    out.text = record.value.view();
    return check_utf8(out.text);
  }
};
/// Big endian, as Kafka's own serializers for Integer and Long.
struct IntegerDeserializer {
  template <class T>
  requires(std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t>) [[nodiscard]] Status
  operator()(const Record& record, T& out) const {
    if (record.value.size() != sizeof(T)) [[unlikely]]
      return wrong_size(record, sizeof(T));
    std::make_unsigned_t<T> bits = 0;
    for (const char c : record.value.view()) bits = bits << 8 | static_cast<unsigned char>(c);
    out = static_cast<T>(bits);
    return {};
  }

 private:
  static Status wrong_size(const Record& record, std::size_t wanted);
};
struct JsonDeserializer {
  Framing framing = Framing::kNone;
  JsonChecker checker = {};
  [[nodiscard]] Status operator()(const Record& record, Json& out);
};

template <class T>
struct DefaultDeserializer;
template <>
struct DefaultDeserializer<Record> {
  using type = RecordDeserializer;
};
template <>
struct DefaultDeserializer<Bytes> {
  using type = ValueDeserializer;
};
template <>
struct DefaultDeserializer<std::string_view> {
  using type = ValueDeserializer;
};
template <>
struct DefaultDeserializer<std::string> {
  using type = StringDeserializer;
};
template <>
struct DefaultDeserializer<Utf8> {
  using type = Utf8Deserializer;
};
template <>
struct DefaultDeserializer<std::int32_t> {
  using type = IntegerDeserializer;
};
template <>
struct DefaultDeserializer<std::int64_t> {
  using type = IntegerDeserializer;
};
template <>
struct DefaultDeserializer<Json> {
  using type = JsonDeserializer;
};

// ---- serializers ----

struct RecordSerializer {
  void operator()(const Record& record, SinkRecord& out) const noexcept {
    out.key = record.key;
    out.value = record.value;
    out.headers = record.headers;
    out.time = record.time;
  }
};
/// Value only, no key.
struct ValueSerializer {
  void operator()(const Bytes& value, SinkRecord& out) const noexcept { out.value = value; }
  void operator()(const std::string& value, SinkRecord& out) const noexcept {
    out.value = Bytes(value);
  }
  void operator()(const std::string_view& value, SinkRecord& out) const noexcept {
    if (value.data() != nullptr) out.value = Bytes(value);
  }
  void operator()(const Utf8& value, SinkRecord& out) const noexcept { (*this)(value.text, out); }
};
struct IntegerSerializer {
  template <class T>
  requires(std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t>) void operator()(
      const T& value, Arena& arena, SinkRecord& out) const {
    char* const bytes = arena.allocate(sizeof(T));
    auto bits = static_cast<std::make_unsigned_t<T>>(value);
    for (std::size_t i = sizeof(T); i-- > 0; bits >>= 8) bytes[i] = static_cast<char>(bits & 0xff);
    out.value = Bytes(bytes, sizeof(T));
  }
};
struct JsonSerializer {
  void operator()(const Json& json, SinkRecord& out) const noexcept {
    out.key = json.record.key;
    if (!json.null()) out.value = Bytes(json.text);
    out.headers = json.record.headers;
    out.time = json.record.time;
  }
};

template <class T>
struct DefaultSerializer;
template <>
struct DefaultSerializer<Record> {
  using type = RecordSerializer;
};
template <>
struct DefaultSerializer<Bytes> {
  using type = ValueSerializer;
};
template <>
struct DefaultSerializer<std::string_view> {
  using type = ValueSerializer;
};
template <>
struct DefaultSerializer<std::string> {
  using type = ValueSerializer;
};
template <>
struct DefaultSerializer<Utf8> {
  using type = ValueSerializer;
};
template <>
struct DefaultSerializer<std::int32_t> {
  using type = IntegerSerializer;
};
template <>
struct DefaultSerializer<std::int64_t> {
  using type = IntegerSerializer;
};
template <>
struct DefaultSerializer<Json> {
  using type = JsonSerializer;
};

}  // namespace sluice::kafka

namespace sluice::kafka::internal {

template <class D, class T>
concept DeserializerWithArena = std::invocable<D&, const Record&, Arena&, T&>;
template <class D, class T>
concept Deserializer = DeserializerWithArena<D, T> || std::invocable<D&, const Record&, T&>;
template <class S, class T>
concept SerializerWithArena = std::invocable<S&, const T&, Arena&, kafka::SinkRecord&>;
template <class S, class T>
concept Serializer = SerializerWithArena<S, T> || std::invocable<S&, const T&, kafka::SinkRecord&>;

enum class Read : std::uint8_t { kTaken, kSkipped, kMalformed };

/// Whatever a deserializer returns, as one of three; `why` is set with kMalformed.
template <class Call>
[[gnu::always_inline]] inline Read read_outcome(Call&& call, Status& why) {
  using Returned = std::invoke_result_t<Call&>;
  if constexpr (std::is_void_v<Returned>) {
    call();
    return Read::kTaken;
  } else if constexpr (std::same_as<Returned, bool>) {
    return call() ? Read::kTaken : Read::kSkipped;
  } else if constexpr (std::same_as<Returned, Status>) {
    Status status = call();
    if (status.ok()) [[likely]]
      return Read::kTaken;
    why = std::move(status);
    return Read::kMalformed;
  } else {
    static_assert(std::same_as<Returned, Result<bool>>,
                  "a deserializer returns void, bool, Status or Result<bool>");
    Result<bool> taken = call();
    if (taken.ok()) [[likely]]
      return *taken ? Read::kTaken : Read::kSkipped;
    why = std::move(taken).status();
    return Read::kMalformed;
  }
}

/// The whole record behind a value, where the value knows it; for messages that name an offset.
template <class T>
[[nodiscard]] const Record* record_of(const T& value) noexcept {
  if constexpr (std::same_as<T, Record>) {
    return &value;
  } else if constexpr (requires {
                         { value.record } -> std::convertible_to<const Record&>;
                       }) {
    return &value.record;
  } else {
    return nullptr;
  }
}

}  // namespace sluice::kafka::internal
