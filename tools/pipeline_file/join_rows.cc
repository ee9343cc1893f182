#include "pipeline_file/join_rows.h"

#include <sluice/engine/formats/json_literal.h>

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <iterator>
#include <string_view>

namespace sluice::tools {
namespace {

constexpr std::string_view kNull = "null";

Bytes copy(const Bytes& bytes, Arena& arena) {
  return bytes.null() ? Bytes() : Bytes(arena.copy(bytes.view()));
}

}  // namespace

// The rows are state and may be gone when the result is read: their bytes are copied.
Joined PairDocuments::of(const JoinRow* left, const JoinRow* right, Arena& arena) {
  Joined joined;
  joined.key = copy(left != nullptr ? left->key() : right->key(), arena);
  if (left != nullptr) joined.left = copy(left->document(), arena);
  if (right != nullptr) joined.right = copy(right->document(), arena);
  if (left != nullptr) joined.time = left->time();
  return joined;
}

JoinedRecords::JoinedRecords(const Options& options)
    : left_("," + json_quoted(options.left) + ":"),
      right_("," + json_quoted(options.right) + ":"),
      window_(options.window),
      left_time_(options.left_time) {}

Status JoinedRecords::process(const Batch<Joined>& batch, Collector<Record>& out) {
  Arena& arena = out.arena();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const Joined& joined = batch[i];
    const EventTime time = out.timed() ? batch.times()[i] : kNoEventTime;
    Record record;
    record.key = key(joined.key, arena);
    record.value = value(joined, time, arena);
    record.time = left_time_ ? joined.time : time;
    if (record.time != kNoEventTime) record.time_type = TimestampType::kCreate;
    if (out.timed()) out.set_time(time);
    out.emit(record);
  }
  return {};
}

Bytes JoinedRecords::value(const Joined& joined, EventTime time, Arena& arena) {
  bounds_.clear();
  if (window_) {
    const EventDuration end = time.time_since_epoch() + EventDuration(1);
    fmt::format_to(std::back_inserter(bounds_), R"(,"window_start":{},"window_end":{})",
                   (end - *window_).count(), end.count());
  }
  const auto shown = [](const Bytes& json) { return json.null() ? kNull : json.view(); };
  const auto parts = std::to_array<std::string_view>(
      {R"({"key":)", shown(joined.key), bounds_, left_, shown(joined.left), right_,
       shown(joined.right), "}"});
  std::size_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  char* const start = arena.allocate(size);
  char* at = start;
  for (const std::string_view part : parts) {
    if (!part.empty()) std::memcpy(at, part.data(), part.size());
    at += part.size();
  }
  return {start, size};
}

Bytes JoinedRecords::key(const Bytes& json, Arena& arena) {
  const std::string_view text = json.view();
  if (!text.starts_with('"')) return json;
  if (text.find('\\') == std::string_view::npos) return Bytes(text.substr(1, text.size() - 2));
  JsonSpan span;
  const JsonFound found = reader_.locate(text, JsonPointer(), span);
  SLUICE_ASSERT(found == JsonFound::kFound);  // It is our own spelling.
  return Bytes(arena.copy(reader_.text()));
}

}  // namespace sluice::tools
