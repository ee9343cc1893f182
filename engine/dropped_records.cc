#include <sluice/engine/dropped_records.h>

#include <map>

namespace sluice {
namespace {

struct Reason {
  const char* counter;
  const char* reason;
};
/// Who adds a counter of records that go no further adds its line here.
constexpr Reason kReasons[] = {
    {"sluice_operator_late_dropped_total", "late: their windows had ended (those that late() handed on are among them)"},
    {"sluice_event_time_skipped_total", "no event time that could be read (on_missing: skip)"},
    {"sluice_operator_duplicates_total", "seen before (deduplicate)"},
    {"sluice_operator_skipped_records_total", "refused by a step (on_error: skip)"},
    {"sluice_operator_rejected_records_total", "refused by a step, handed on as rejected()"},
    {"sluice_source_skipped_records_total", "could not be read by the source's format (on_error: skip)"},
    {"sluice_source_rejected_records_total", "could not be read by the source's format, handed on as rejected()"},
    {"sluice_source_lost_records_total", "no longer in the topic when the source came to them (out_of_range)"},
    {"sluice_sink_rejected_records_total", "could not be written by the sink, handed on as rejected()"},
};

}  // namespace

std::vector<DroppedRecords> dropped_records(const Metrics& metrics) {
  const std::map<std::string, std::uint64_t> all = metrics.all();
  std::vector<DroppedRecords> dropped;
  for (const Reason& one : kReasons) {
    const auto found = all.find(one.counter);
    if (found != all.end() && found->second != 0) dropped.push_back({one.counter, one.reason, found->second});
  }
  return dropped;
}

}  // namespace sluice
