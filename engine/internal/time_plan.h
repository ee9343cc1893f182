#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include <sluice/engine/internal/split_time.h>
#include <sluice/engine/record.h>
#include <sluice/io/base/status.h>

namespace sluice {

/// What becomes of a record that has no event time (Kafka's -1), one that cannot be read, or one out of range.
enum class MissingTime : std::uint8_t {
  kFail,     ///< the job ends with the record's place
  kSkip,     ///< left out, counted, logged now and then
  kArrival,  ///< the machine's clock when it came: counted; a replay gives another time
};

struct SourceTime;

}  // namespace sluice

namespace sluice::internal {

/// The settings of a Watermarks, whatever its type.
struct TimeOptions {
  std::chrono::nanoseconds idle_after{0};  ///< 0: never
  EventDuration jump_max{0};
  std::uint32_t jumps_confirmed = 100;
  bool guards_jumps = false;
  MissingTime missing = MissingTime::kFail;
  EventDuration drift_max{0};
  bool aligns = false;
  bool every_record = false;

  [[nodiscard]] Status check() const;
};

/// A strategy on one shard: reads times, and makes the scans of splits.
template <class T>
class TimePlan {
 public:
  virtual ~TimePlan() = default;
  [[nodiscard]] virtual Status check() const = 0;
  /// Gives each record its time; kNoEventTime where there is none. How many of these.
  [[nodiscard]] virtual std::size_t read(Batch<T>& batch) = 0;
  /// Why record `index` has none.
  [[nodiscard]] virtual Status why(const Batch<T>& batch, std::size_t index) = 0;
  [[nodiscard]] virtual std::unique_ptr<SplitScan<T>> split() const = 0;
};

template <class T, class Rule, class TimeOf>
class RulePlan final : public TimePlan<T> {
  static constexpr bool kFromSource = std::same_as<TimeOf, SourceTime>;
  static_assert(kFromSource || TimeReader<TimeOf, T>,
                "the time of a record must be an EventTime (or another std::chrono::sys_time), or an optional or Result of one; for a "
                "number say its unit: epoch_time(&Order::ts, TimeUnit::kMilliseconds); for a text: text_time(&Order::placed)");

 public:
  RulePlan(Rule rule, TimeOf time) : rule_(std::move(rule)), time_(std::move(time)) {}
  Status check() const override {
    if constexpr (requires { rule_.disorder; }) {
      if (rule_.disorder.count() < 0 || rule_.disorder > std::chrono::days(3660)) {
        return Status(Code::kInvalid, fmt::format("an out-of-orderness of {} ms: give one of 0 ms to 3,660 days", rule_.disorder.count()));
      }
    }
    return {};
  }
  std::size_t read(Batch<T>& batch) override {
    std::vector<EventTime>& times = batch.times();
    if constexpr (kFromSource && std::same_as<T, Record>) {
      return fill(batch, [](const Record& record) { return as_event_time(record.time); });
    } else if constexpr (kFromSource) {
      times.resize(batch.size(), kNoEventTime);  // As they are where the source has given some.
      std::size_t missing = 0;
      for (EventTime& time : times) missing += (time = as_event_time(time)) == kNoEventTime;
      return missing;
    } else {
      return fill(batch, [this](const T& record) { return as_event_time(std::invoke(time_, record)); });
    }
  }
  Status why(const Batch<T>& batch, std::size_t index) override {
    if constexpr (kFromSource) {
      return Status(Code::kInvalid, "its source gave it no timestamp (-1)");
    } else {
      auto said = std::invoke(time_, batch[index]);
      if constexpr (requires { { said.status() } -> std::convertible_to<Status>; }) {
        if (!said.ok()) return said.status();
      }
      return Status(Code::kInvalid, "its event time is missing or not within 285,000 years of 1970");
    }
  }
  std::unique_ptr<SplitScan<T>> split() const override { return std::make_unique<RuleScan<T, Rule>>(rule_); }

 private:
  template <class Read>
  [[nodiscard]] static std::size_t fill(Batch<T>& batch, Read read) {
    std::vector<EventTime>& times = batch.times();
    times.resize(batch.size());
    std::size_t missing = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) missing += (times[i] = read(batch[i])) == kNoEventTime;
    return missing;
  }
  Rule rule_;
  TimeOf time_;
};

}  // namespace sluice::internal
