#include <sluice/engine/internal/refusals.h>
#include <sluice/engine/internal/reject.h>
#include <sluice/io/base/log.h>

#include <bit>

namespace sluice::internal {
namespace {

std::string place(const Split* split, const Record* record) {
  const bool offset = record != nullptr && record->offset >= Offset(0);
  if (split == nullptr) {
    return offset ? fmt::format("a record of offset {} (topic not known behind a union)",
                                record->offset)
                  : std::string("a record whose origin is not known");
  }
  if (!offset) return fmt::format("a record of {} partition {}", split->name, split->partition);
  return fmt::format("the record of {} partition {} offset {}", split->name, split->partition,
                     record->offset);
}

}  // namespace

Status refused_at(const std::string& operator_id, const Split* split, const Record* record,
                  const Status& why) {
  return Status(why.code(), fmt::format("operator \"{}\" cannot take {}: {}", operator_id,
                                        place(split, record), why.message()));
}

void Refusals::open(const Context& context) {
  id_ = context.operator_id;
  total_ = context.metrics->counter(policy_ == OnError::kReject
                                        ? "sluice_operator_rejected_records_total"
                                        : "sluice_operator_skipped_records_total");
}

Status Refusals::count(const Batch<Record>& batch, const Record& record, const Status& why) {
  const Status what = refused_at(id_, batch.split(), &record, why);
  if (policy_ == OnError::kFail) {
    return what.with(
        "(on_error = skip leaves such records out, reject sends them on with the reason)");
  }
  total_->add(1);
  // The first ones are of interest, a million of them are not.
  if (std::has_single_bit(total_->value())) {
    log().warn("{} ({} on this shard so far, {})", what.message(), total_->value(),
               policy_ == OnError::kSkip ? "left out" : "rejected");
  }
  return {};
}

Record Refusals::reject(const Batch<Record>& batch, const Record& record, const Status& why,
                        Arena& arena) {
  Origin origin;
  if (batch.split() != nullptr) {
    origin.topic = batch.split()->name;
    origin.partition = batch.split()->partition;
  }
  origin.offset = record.offset;
  origin.time = record.time;
  return rejected_record(record, why.message(), origin, arena);
}

}  // namespace sluice::internal
