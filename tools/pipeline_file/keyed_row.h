#pragma once

#include <sluice/engine/batch.h>
#include <sluice/engine/carry.h>
#include <sluice/engine/record.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

namespace sluice::tools {

/// A JSON number: whole ones of 64 bits exactly, others as doubles.
struct Number {
  bool whole = true;
  std::int64_t integer = 0;  ///< of a whole one
  double real = 0;           ///< of another
};

/// Below 0, 0, above 0. Exact: a whole number is not rounded to be compared with a double.
[[nodiscard]] int compare(const Number& a, const Number& b) noexcept;

/// What an aggregate looks at of one record.
struct Field {
  Number number;          ///< sum, min, max, average, top
  std::string_view text;  ///< min, max: the number as it stands there; distinct: the value in one
                          ///< spelling; top: the document
};

/// A record of a keyed operator with what was read of it, once, in front of the exchange.
struct KeyedRow {
  Bytes key;      ///< as JSON in one spelling: "1" and 1 are two keys, 1 and 1.0 one
  Record record;  ///< as it came; empty where nobody asks for it behind the exchange
  std::span<const Field> fields;  ///< one for each aggregate
};

/// `count` values in an arena that nobody destroys.
template <class T>
[[nodiscard]] T* array_in(Arena& arena, std::size_t count) {
  static_assert(std::is_trivially_destructible_v<T>);
  std::size_t room = sizeof(T) * count + alignof(T) - 1;
  void* raw = arena.allocate(room);
  std::align(alignof(T), sizeof(T) * count, raw, room);
  auto* const first = static_cast<T*>(raw);
  std::uninitialized_default_construct_n(first, count);
  return first;
}

}  // namespace sluice::tools

/// Nothing of a row that crossed to another shard pins what its source read.
template <>
struct sluice::Carry<sluice::tools::KeyedRow> {
  using Field = sluice::tools::Field;
  static std::size_t bytes(const sluice::tools::KeyedRow& row) noexcept {
    std::size_t total = Carry<Bytes>::bytes(row.key) + Carry<Record>::bytes(row.record);
    if (row.fields.empty()) return total;
    total += row.fields.size_bytes() + alignof(Field) - 1;
    for (const Field& field : row.fields) total += field.text.size();
    return total;
  }
  static void into(sluice::tools::KeyedRow& row, Arena& arena) {
    Carry<Bytes>::into(row.key, arena);
    Carry<Record>::into(row.record, arena);
    if (row.fields.empty()) return;
    auto* const fields = sluice::tools::array_in<Field>(arena, row.fields.size());
    for (std::size_t i = 0; i < row.fields.size(); ++i) {
      fields[i] = row.fields[i];
      fields[i].text = arena.copy(fields[i].text);
    }
    row.fields = {fields, row.fields.size()};
  }
};
