#include "pipeline_file/source_time.h"

#include "pipeline_file/values.h"
#include <fmt/format.h>

namespace sluice::tools {
namespace {

TimeUnit unit_of(const Node& time) {
  const std::string unit = text_or(time.find("unit"), "ms");
  if (unit == "s") return TimeUnit::kSeconds;
  if (unit == "us") return TimeUnit::kMicroseconds;
  if (unit == "ns") return TimeUnit::kNanoseconds;
  return TimeUnit::kMilliseconds;
}

}  // namespace

Result<EventTime> TimeFromField::operator()(const Record& record) {
  const auto wrong = [this](std::string_view what) {
    return Status(Code::kInvalid, fmt::format("its event time at {} {}", field_.text(), what));
  };
  if (record.value.null()) {  // It has no fields, and a table must hear of it.
    if (record.time != kNoEventTime) return record.time;
    return wrong("is missing: the value is null (a tombstone), and it has no timestamp of Kafka");
  }
  JsonSpan span;
  switch (reader_.locate(record.value.view(), field_, span)) {
    case JsonFound::kMalformed:
      return JsonReader::why(record.value.view());
    case JsonFound::kMissing:
      return wrong("is missing");
    case JsonFound::kFound:
      break;
  }
  if (span.type == JsonType::kString) return parse_event_time(reader_.text(), unit_);
  if (span.type != JsonType::kNumber || reader_.number().kind != JsonNumber::Kind::kSigned) {
    return wrong("is neither a whole number nor a text");
  }
  const EventTime read = event_time(reader_.number().signed_value, unit_);
  if (read == kNoEventTime) return wrong("is not within 285,000 years of 1970: look at unit:");
  return read;
}

Result<Watermarks<Record>> make_watermarks(const Node& time) {
  using std::chrono::milliseconds;
  using namespace std::chrono_literals;
  const auto ms = [&](std::string_view key, std::chrono::microseconds otherwise) {
    return std::chrono::duration_cast<milliseconds>(duration_or(time.find(key), otherwise));
  };
  const milliseconds disorder = ms("max_out_of_order", 5s);
  const auto strategy = [&]() -> Result<Watermarks<Record>> {
    const Node* const field = time.find("field");
    if (field == nullptr) return bounded_out_of_orderness<Record>(disorder);
    Result<JsonPointer> pointer = JsonPointer::make(text_or(field, ""));
    if (!pointer.ok()) return pointer.status();
    return bounded_out_of_orderness<Record>(disorder,
                                            TimeFromField(*std::move(pointer), unit_of(time)));
  };
  Result<Watermarks<Record>> made = strategy();
  if (!made.ok()) return made;
  Watermarks<Record> all = *std::move(made);
  if (text_or(time.find("idle_after"), "never") != "never")
    all = all.idle_after(ms("idle_after", 0s));
  if (text_or(time.find("ignore_jumps_over"), "never") != "never") {
    all = all.ignore_jumps_over(ms("ignore_jumps_over", 0s));
  }
  if (text_or(time.find("max_drift"), "never") != "never") all = all.max_drift(ms("max_drift", 0s));
  const std::string missing = text_or(time.find("on_missing"), "fail");
  if (missing == "skip") all = all.on_missing(MissingTime::kSkip);
  if (missing == "arrival") all = all.on_missing(MissingTime::kArrival);
  SLUICE_TRY(all.check());
  return all;
}

}  // namespace sluice::tools
