#include <sluice/engine/joins/internal/join_state.h>
#include <sluice/engine/joins/internal/lookup_state.h>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <sluice/io/base/log.h>

namespace sluice::internal {
namespace {

std::string time_text(EventTime time) {
  if (time < kFirstTime) return "none";
  if (time > kLastTime) return "the end of time";
  return fmt::format("{} ms", time.time_since_epoch().count());
}

}  // namespace

void JoinLimits::open(const Context& context) {
  id_ = context.operator_id;
  shard_ = context.shard;
  warn_at_ = options_.buffered_rows_max - options_.buffered_rows_max / 5;
  warn_at_results_ = options_.results_at_once_max - options_.results_at_once_max / 5;
  if (context.metrics != nullptr) late_ = context.metrics->counter("sluice_operator_late_dropped_total");
}

Status JoinLimits::full(EventTime watermark) {
  const std::string held = fmt::format(
      "{} \"{}\" keeps {} left and {} right rows on shard {}, buffered_rows_max is {}; the watermark is {}, the newest row left {}, "
      "right {}",
      what_, id_, left, right, shard_, options_.buffered_rows_max, time_text(watermark), time_text(newest_left), time_text(newest_right));
  if (left + right > options_.buffered_rows_max) {
    return Status(Code::kExhausted,
                  fmt::format("{}: a side that lags holds the watermark back (give it an idle time), or the rows of its "
                              "range of time are too many: narrow it, use more shards, or raise buffered_rows_max",
                              held));
  }
  log().warn("{}", held);
  warn_at_ = options_.buffered_rows_max + 1;  // Once: what comes next is the error.
  return {};
}

Status JoinLimits::too_many_results() const {
  return Status(Code::kExhausted,
                fmt::format("{} \"{}\" makes more than {} rows at once on shard {}, which is results_at_once_max: a key with "
                            "many rows on both sides is joined each with each; filter that key, narrow the range of "
                            "time, or raise results_at_once_max",
                            what_, id_, options_.results_at_once_max, shard_));
}

Status JoinLimits::many_results(std::uint64_t results) {
  if (too_many(results)) return too_many_results();
  log().warn("{} \"{}\" made {} rows at once on shard {}, results_at_once_max is {}: beyond it the job ends; is there a key with many rows "
             "on both sides?",
             what_, id_, results, shard_, options_.results_at_once_max);
  warn_at_results_ = options_.results_at_once_max + 1;  // Once: what comes next is the error.
  return {};
}

void JoinLimits::warn_of_late(const char* side, const std::string& key, EventTime time, EventTime watermark) const {
  log().warn("{} \"{}\": a {} record of key {} with event time {} came when the watermark had reached {}: it is dropped, as others will be "
             "without a message (sluice_operator_late_dropped_total counts them). Allow more disorder in watermarks()",
             what_, id_, side, key, time_text(time), time_text(watermark));
}

Status JoinLimits::without_times() const {
  return Status(Code::kInvalid,
                fmt::format("{} \"{}\" was given records without event times: put .watermarks(…) in front of key_by on both "
                            "sides",
                            what_, id_));
}

Status JoinLimits::no_time(EventTime time) const {
  if (time == kNoEventTime) {
    return Status(Code::kInvalid,
                  fmt::format("{} \"{}\" was given a record that has no event time: filter such records, or give them one in "
                              "front of key_by",
                              what_, id_));
  }
  return Status(Code::kInvalid,
                fmt::format("{} \"{}\" was given a record with the event time {} ms, which is no time: is it in another unit?", what_,
                            id_, time.time_since_epoch().count()));
}

Status LookupLimits::full(Limit& limit, std::uint64_t rows) {
  const bool table = &limit == &table_;
  const std::string held =
      fmt::format("{} \"{}\" keeps {} {} on shard {}, {} is {}", what_, id_, rows,
                  table ? "rows of its table" : "rows that wait for theirs in the table", shard_, limit.name, limit.max);
  if (rows > limit.max) {
    return Status(Code::kExhausted, fmt::format("{}: {}, use more shards, or raise {}", held,
                                                table ? "give it a time_to_live, or let the stream say which keys are gone"
                                                      : "their keys may never come: filter them, or use a left join",
                                                limit.name));
  }
  log().warn("{}", held);
  limit.warn_at = limit.max + 1;
  return {};
}

}  // namespace sluice::internal
