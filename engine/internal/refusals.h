#pragma once

#include <sluice/engine/collector.h>
#include <sluice/engine/context.h>
#include <sluice/engine/on_error.h>
#include <sluice/engine/record.h>
#include <sluice/io/base/status.h>

#include <cstddef>
#include <memory>
#include <string>

namespace sluice::internal {

/// `why` with what can be said about where the record came from; `split` and `record` may be null.
[[nodiscard]] Status refused_at(const std::string& operator_id, const Split* split,
                                const Record* record, const Status& why);

/// What an operator does with records that it refuses: fails with the record's place, leaves them
/// out, or sends them on as they were, with the headers of rejected_record().
///
/// Shard      one.
/// Errors     kFail: the reason's code, with place and remedy.
class Refusals {
 public:
  explicit Refusals(OnError policy) : policy_(policy) {}
  void open(const Context& context);
  /// `side` gives the collector of rejected records; asked only when one is rejected.
  template <class SideOf>
  [[nodiscard]] Status refuse(const Batch<Record>& batch, std::size_t index, const Status& why,
                              SideOf&& side) {
    const Record& record = batch[index];
    const EventTime time = batch.times().empty() ? kNoEventTime : batch.times()[index];
    SLUICE_TRY(count(batch, record, why));
    if (policy_ != OnError::kReject) return {};
    Collector<Record>& rejected = side();
    const Record made = reject(batch, record, why, rejected.arena());
    batch.times().empty() ? rejected.emit(made) : rejected.emit(made, time);
    return {};
  }

 private:
  [[nodiscard]] Status count(const Batch<Record>& batch, const Record& record, const Status& why);
  [[nodiscard]] static Record reject(const Batch<Record>& batch, const Record& record,
                                     const Status& why, Arena& arena);
  const OnError policy_;
  std::string id_;
  std::shared_ptr<Counter> total_;
};

}  // namespace sluice::internal
