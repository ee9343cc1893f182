#pragma once

#include "../time_fixture.h"

#include <sluice/engine/windows/calendar.h>
#include <sluice/engine/windows/windowed_stream.h>

#include <stdexcept>

namespace sluice::time_test {

using Counted = Windowed<std::string, std::uint64_t>;
inline constexpr const char* kLate = "sluice_operator_late_dropped_total";

[[nodiscard]] inline std::uint16_t other(std::uint16_t shards) { return shards == 1 ? 8 : 1; }
inline Watermarks<Event> in_order() { return monotonous<Event>(&Event::time); }

/// Of an event its own; all other records are of one key.
struct KeyOf {
  std::string operator()(const Event& one) const { return one.key; }
  template <class T>
  std::string operator()(const T&) const { return "k"; }
};

struct Span {
  std::string key;
  std::int64_t start, end;
  std::uint64_t count;
  auto operator<=>(const Span&) const = default;
};
inline void PrintTo(const Span& span, std::ostream* out) {
  *out << '(' << span.key << ",[" << span.start << ',' << span.end << ")," << span.count << ')';
}
using Spans = std::vector<Span>;

/// A whole pipeline of public parts that counts by key in windows, in virtual time. restore() goes on from a checkpoint: what came out,
/// and what was late, is that of all runs together.
template <class T = Event>
class Counting {
 public:
  template <class Assigner>
  Counting(std::uint16_t shards, Watermarks<T> watermarks, Assigner windows, typename TestInput<T>::Options options = {},
           io::WallTime wall = {})
      : in(std::move(options)), wall_(wall) {
    job_.from(in.source(), "in")
        .watermarks(std::move(watermarks), "time")
        .key_by(KeyOf(), "by-key")
        .window(std::move(windows))
        .aggregate(count(), "count")
        .to(out_.sink(), "out");
    start(shards, {});
  }
  TestInput<T> in;

  [[nodiscard]] TestDriver& driver() { return *driver_; }
  void run() { note(driver_->run()); }
  void pass(std::chrono::nanoseconds time) { note(driver_->advance(time)); }
  /// From a checkpoint taken now.
  void restore(std::uint16_t shards) {
    Result<CheckpointData> checkpoint = driver_->checkpoint();
    note(checkpoint.status());
    collect();
    late_ += driver_->metric(kLate);
    start(shards, *std::move(checkpoint));
  }
  void end() {
    in.end();
    run();
    EXPECT_TRUE(driver_->ended());
  }
  /// All windows that have spoken so far.
  [[nodiscard]] Spans spans() {
    collect();
    return spans_;
  }
  [[nodiscard]] Rows rows() {
    Rows rows;
    for (const Span& span : spans()) rows.push_back({span.key, span.start, span.count});
    return rows;
  }
  [[nodiscard]] std::uint64_t late() const { return late_ + driver_->metric(kLate); }

 private:
  static void note(const Status& status) {
    if (!status.ok()) throw std::runtime_error(std::string(status.message()));
  }
  void start(std::uint16_t shards, std::optional<CheckpointData> from) {
    driver_.reset();
    Result<std::unique_ptr<TestDriver>> driver = TestDriver::start(job_, {.shards = shards, .wall = wall_}, std::move(from));
    note(driver.status());
    driver_ = *std::move(driver);
  }
  void collect() {
    for (const auto& arrived : out_.take_arrived()) {
      const Counted& row = arrived.value;
      EXPECT_EQ(arrived.time, row.window.end - EventDuration(1)) << "the time of a result lies in its window";
      spans_.push_back({row.key, row.window.start.time_since_epoch().count(), row.window.end.time_since_epoch().count(), row.value});
    }
    std::ranges::sort(spans_);
  }

  const io::WallTime wall_;
  TestOutput<Counted> out_;
  Job job_{"counting"};
  std::unique_ptr<TestDriver> driver_;
  Spans spans_;
  std::uint64_t late_ = 0;
};

}  // namespace sluice::time_test
