#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include <fmt/format.h>

#include <sluice/engine/context.h>
#include <sluice/engine/event_time.h>
#include <sluice/engine/windows/assigners.h>
#include <sluice/engine/windows/internal/kept_key.h>
#include <sluice/io/base/log.h>
#include <sluice/io/base/metrics.h>

namespace sluice::internal {

struct WindowOptions {
  static constexpr std::uint64_t kKeysMax = 50'000'000;
  EventDuration allowed_lateness{0};
  std::uint64_t keys_max = kKeysMax;
  std::string contents;  ///< what accumulators are of, where their type does not tell: part of the state's name
  const char* limit = "limit_keys()";  ///< as users write it
  std::shared_ptr<std::atomic<bool>> late_wanted = std::make_shared<std::atomic<bool>>(false);  ///< somebody reads late()

  [[nodiscard]] std::string state_name(std::string windows) const { return contents.empty() ? windows : windows + " of " + contents; }
  [[nodiscard]] Status check() const {
    if (allowed_lateness < EventDuration::zero()) {
      return Status(Code::kInvalid, "an allowed lateness of", allowed_lateness.count(), "ms: 0 at least");
    }
    if (keys_max == 0) return Status(Code::kInvalid, "a limit of 0 keys: 1 at least");
    return {};
  }
};

/// The watermark that results may still be changed behind.
[[nodiscard]] constexpr EventTime horizon_of(EventTime watermark, EventDuration lateness) noexcept {
  if (watermark == EventTime::max() || watermark < kWindowTimeMin) return watermark;
  return watermark - lateness;
}

/// What window operators count, and say once: late records, open windows, and how near the limit of keys is.
class WindowWatch {
 public:
  void open(const Context& context, const WindowOptions& options) {
    operator_id_ = context.operator_id;
    options_ = options;
    warn_at_ = options.keys_max - options.keys_max / 5;
    if (context.metrics == nullptr) return;
    late_ = context.metrics->counter("sluice_operator_late_dropped_total");
    open_ = context.metrics->counter("sluice_operator_open_windows");
  }
  void close() { windows(-static_cast<std::int64_t>(open_windows_)); }

  template <class Key>
  void late(const Key& key, EventTime time, EventTime watermark) {
    if (late_) late_->add(1);
    if (warned_late_ || *options_.late_wanted) return;
    warned_late_ = true;
    log().warn("operator \"{}\": a record of key {} with event time {} ms came when the watermark had reached {} ms and its window "
               "was closed: it is dropped, as others will be without a message (sluice_operator_late_dropped_total counts them). "
               "Allow more disorder in watermarks(), set allowed_lateness(), or read them from late()",
               operator_id_, text_of(key), time.time_since_epoch().count(), watermark.time_since_epoch().count());
  }
  /// Windows that were opened, less those that were closed.
  void windows(std::int64_t more) {
    open_windows_ += static_cast<std::uint64_t>(more);
    if (open_) open_->add(static_cast<std::uint64_t>(more));  // Modulo 2^64: a gauge.
  }
  [[nodiscard]] std::uint64_t open_windows() const noexcept { return open_windows_; }
  /// So many keys are open now.
  [[nodiscard]] Status keys(std::uint64_t keys) {
    if (keys < warn_at_) [[likely]] return {};
    return near(keys);
  }

  [[nodiscard]] Status without_time() const {
    return Status(Code::kInvalid, fmt::format("operator \"{}\": a record has no event time, and its window is one of event time: call "
                                              "watermarks() in front of key_by(), which says where a record's time is, or filter such "
                                              "records out",
                                              operator_id_));
  }
  [[nodiscard]] Status out_of_range(EventTime time) const {
    return Status(Code::kInvalid, fmt::format("operator \"{}\": a record's event time is {} ms since 1970, which is not within 17,000 "
                                              "years of it: is it in another unit? (Event times are in milliseconds.)",
                                              operator_id_, time.time_since_epoch().count()));
  }

 private:
  [[gnu::noinline]] Status near(std::uint64_t keys) {
    if (keys > options_.keys_max) {
      return Status(Code::kExhausted,
                    fmt::format("operator \"{}\" would keep more than {} keys and values on one shard: raise {} if memory allows, run "
                                "more shards, or see whether the watermark stands still ({} windows are open)",
                                operator_id_, options_.keys_max, options_.limit, open_windows_));
    }
    if (!warned_near_) {
      log().warn("operator \"{}\" keeps {} keys and values on one shard, which is 80 % of {} (now {}); beyond it the job fails. {} windows "
                 "are open", operator_id_, keys, options_.limit, options_.keys_max, open_windows_);
    }
    warned_near_ = true;
    return {};
  }

  std::string operator_id_;
  WindowOptions options_;
  std::shared_ptr<Counter> late_, open_;
  std::uint64_t open_windows_ = 0;
  std::uint64_t warn_at_ = 0;
  bool warned_late_ = false, warned_near_ = false;
};

}  // namespace sluice::internal
