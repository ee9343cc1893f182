#pragma once

#include <sluice/engine/batch.h>
#include <sluice/engine/carry.h>
#include <sluice/engine/codec.h>
#include <sluice/engine/joins/internal/lookup_state.h>
#include <sluice/engine/record.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::tools {

/// A record of one side of a join. A view while it travels, so that nothing is allocated for it in
/// front of the exchange; a copy, as a join keeps it, has the bytes itself.
class JoinRow {
 public:
  JoinRow() = default;
  JoinRow(Bytes key, Bytes document, EventTime time) noexcept
      : key_(key), document_(document), time_(time) {}
  JoinRow(JoinRow&&) noexcept = default;
  JoinRow& operator=(JoinRow&&) noexcept = default;
  JoinRow(const JoinRow& other) : JoinRow(other.key_, other.document_, other.time_) { keep(); }
  JoinRow& operator=(const JoinRow& other) {
    if (this != &other) *this = JoinRow(other);
    return *this;
  }
  ~JoinRow() = default;

  [[nodiscard]] const Bytes& key() const noexcept { return key_; }  ///< JSON in one spelling, or null
  [[nodiscard]] const Bytes& document() const noexcept { return document_; }  ///< null: a tombstone
  /// Of the record, which may have none though its stream has event time.
  [[nodiscard]] EventTime time() const noexcept { return time_; }

 private:
  friend struct sluice::Carry<JoinRow>;
  friend struct sluice::Codec<JoinRow>;
  void keep();  ///< Copies what it shows.

  Bytes key_, document_;
  EventTime time_ = kNoEventTime;
  std::unique_ptr<char[]> bytes_;  // Of a copy.
};

/// A record of the table of a lookup: one without a document takes the key out.
class TableRow : public JoinRow {
 public:
  using JoinRow::JoinRow;
};

}  // namespace sluice::tools

/// Nothing of a row that crossed to another shard pins what its source read.
template <>
struct sluice::Carry<sluice::tools::JoinRow> {
  static std::size_t bytes(const sluice::tools::JoinRow& row) noexcept {
    return row.key_.size() + row.document_.size();
  }
  static void into(sluice::tools::JoinRow& row, Arena& arena) {
    Carry<Bytes>::into(row.key_, arena);
    Carry<Bytes>::into(row.document_, arena);
    row.bytes_.reset();
  }
};
template <>
struct sluice::Carry<sluice::tools::TableRow> : sluice::Carry<sluice::tools::JoinRow> {};

template <>
struct sluice::Codec<sluice::tools::JoinRow> {
  static std::string name() { return "join_row<key,document,time>"; }
  static void write(const sluice::tools::JoinRow& row, std::string& out);
  static bool read(std::string_view& in, sluice::tools::JoinRow& row);
};

// What a table keeps is a JoinRow, and nothing for a tombstone: as the engine says it of
// std::optional, which could not say whose key goes.
template <>
struct sluice::internal::TableValueOf<sluice::tools::TableRow> {
  using Type = sluice::tools::JoinRow;
};
template <>
inline const sluice::tools::TableRow* sluice::internal::table_value(
    const sluice::tools::TableRow& row) noexcept {
  return row.document().null() ? nullptr : &row;
}
