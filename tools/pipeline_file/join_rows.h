#pragma once

#include <sluice/engine/formats/json_reader.h>
#include <sluice/engine/internal/refusals.h>
#include <sluice/engine/on_error.h>
#include <sluice/engine/operator.h>

#include "pipeline_file/join_row.h"
#include "pipeline_file/json_key.h"

#include <concepts>
#include <optional>
#include <string>
#include <utility>

/// The ways into a join and out of it.
namespace sluice::tools {

/// Reads the key of each record of one side, in front of the exchange. `Row`: JoinRow, or TableRow
/// of a table, whose tombstones pass.
///
/// Shard      one; a copy each.
/// Errors     governed by on_error: as JsonKey. Of a tombstone too, but where the key is the record's.
/// Suspends   never.
template <class Row>
class JoinSide final : public SideOperator<Record, Row, Record> {
 public:
  JoinSide(JsonKey::Options key, OnError on_error)
      : from_record_(key.from_record), key_(std::move(key)), refusals_(on_error) {}
  Status open(const Context& context) override {
    refusals_.open(context);
    return {};
  }
  Status process(const Batch<Record>& batch, Collector<Row>& out) override {
    Arena& arena = out.arena();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      Bytes key;
      const Status read_it = read(batch[i], arena, key);
      if (!read_it.ok()) [[unlikely]] {
        const auto aside = [this]() -> Collector<Record>& { return this->side(); };
        SLUICE_TRY(refusals_.refuse(batch, i, read_it, aside));
        continue;
      }
      if (out.timed()) out.set_time(batch.times()[i]);
      out.emit(Row(key, batch[i].value, batch[i].time));
    }
    return {};
  }

 private:
  [[nodiscard]] Status read(const Record& record, Arena& arena, Bytes& key) {
    constexpr bool kTable = std::same_as<Row, TableRow>;
    const bool gone = kTable && from_record_ && record.value.null();
    if (!gone) SLUICE_TRY(key_.open(record));
    return key_.read(record, arena, key);
  }
  const bool from_record_;
  JsonKey key_;
  sluice::internal::Refusals refusals_;
};

/// What a join makes: the documents of both sides; null where one has none.
struct Joined {
  Bytes key, left, right;
  EventTime time = kNoEventTime;  ///< of the left record, if there is one
};

/// The function of all joins.
struct PairDocuments {
  template <class Left, class Right>
  Joined operator()(const Left& left, const Right& right, Arena& arena) const {
    return of(pointer(left), pointer(right), arena);
  }

 private:
  static const JoinRow* pointer(const JoinRow& row) noexcept { return &row; }
  static const JoinRow* pointer(const JoinRow* row) noexcept { return row; }
  static Joined of(const JoinRow* left, const JoinRow* right, Arena& arena);
};

/// Writes what a join makes as records: {"key":…,"left":…,"right":…}, with the bounds of the window
/// behind the key where there are windows. The key is the record's too, a text as it is meant.
///
/// Shard      one; a copy each.
/// Errors     none.
class JoinedRecords final : public Operator<Joined, Record> {
 public:
  struct Options {
    std::string left, right;  ///< names
    std::optional<EventDuration> window = {};
    bool left_time = false;  ///< records have the timestamp of the left ones, not the result's time
  };
  explicit JoinedRecords(const Options& options);
  Status process(const Batch<Joined>& batch, Collector<Record>& out) override;

 private:
  [[nodiscard]] Bytes value(const Joined& joined, EventTime time, Arena& arena);
  [[nodiscard]] Bytes key(const Bytes& json, Arena& arena);

  const std::string left_, right_;  // With what stands around a name.
  const std::optional<EventDuration> window_;
  const bool left_time_;
  std::string bounds_;
  JsonReader reader_;
};

}  // namespace sluice::tools
