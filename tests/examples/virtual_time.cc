// A pipeline under test: its input by hand, its clock turned by hand, a restore on another number of shards. No broker, no waiting.
#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include <sluice/engine/keyed_state.h>
#include <sluice/engine/testing/test_driver.h>
#include <sluice/sluice.h>

using namespace sluice;
using namespace std::chrono_literals;

struct Visit {
  std::string user;
  EventTime time;
};
using Minute = std::pair<EventTime, std::string>;

/// Visits of a user in a minute, told when the watermark has passed it.
class VisitsAMinute final : public Operator<Keyed<std::string, Visit>, std::string> {
 public:
  void declare(StateSet& states) override { states.add("minutes", minutes_); }
  Status process(const Batch<Keyed<std::string, Visit>>& batch, Collector<std::string>&) override {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      ++minutes_[batch[i].key][std::chrono::floor<std::chrono::minutes>(batch.times()[i])];
    }
    return {};
  }
  Status on_watermark(EventTime watermark, Collector<std::string>& out) override {
    std::map<Minute, std::uint64_t> passed;
    minutes_.for_each([&](const std::string& user, const std::map<EventTime, std::uint64_t>& counts) {
      for (const auto& [minute, count] : counts) {
        if (minute + 1min <= watermark) passed[{minute, user}] = count;
      }
    });
    for (const auto& [at, count] : passed) {
      out.emit(fmt::format("{} {} {}", at.second, at.first.time_since_epoch().count(), count), at.first);
      minutes_[at.second].erase(at.first);
    }
    return {};
  }

 private:
  ValueState<std::string, std::map<EventTime, std::uint64_t>> minutes_;
};

int fail(const Status& why) {
  std::fprintf(stderr, "%s\n", why.to_string().c_str());
  return 1;
}

int main() {
  const auto at = [](auto since) { return EventTime(since); };
  TestInput<Visit> in({.name = "visits", .splits = 2});
  TestOutput<std::string> out;
  Job job{"visits"};
  job.from(in.source(), "visits")
      .watermarks(bounded_out_of_orderness<Visit>(5s, &Visit::time).idle_after(30s), "time")
      .key_by([](const Visit& visit) { return visit.user; }, "by-user")
      .process<std::string>("minutes", [] { return std::make_unique<VisitsAMinute>(); })
      .to(out.sink());

  Result<std::unique_ptr<TestDriver>> driver = TestDriver::start(job, {.shards = 1});
  if (!driver.ok()) return fail(driver.status());
  in.give(0, {{"eve", at(1s)}, {"eve", at(2s)}, {"eve", at(61s)}, {"eve", at(70s)}});
  in.give(1, {{"bo", at(3s)}});
  // Split 1 is silent: it holds the watermark for 30 seconds, then no more.
  if (const Status went = (*driver)->advance(29s); !went.ok()) return fail(went);
  const auto holder = (*driver)->holder("time");
  if (!out.take().empty() || !holder) return fail(Status(Code::kInvalid, "nobody holds the watermark"));
  if (const Status went = (*driver)->advance(2s); !went.ok()) return fail(went);
  for (const std::string& line : out.take()) std::printf("on 1 shard:  %s\n", line.c_str());
  std::printf("held by partition %d, silent\n", holder->split.partition);

  // The minute that is still open goes on in another pipeline, on two shards.
  Result<CheckpointData> checkpoint = (*driver)->checkpoint();
  if (!checkpoint.ok()) return fail(checkpoint.status());
  driver = TestDriver::start(job, {.shards = 2}, *std::move(checkpoint));
  if (!driver.ok()) return fail(driver.status());
  in.end();
  if (const Status went = (*driver)->run(); !went.ok()) return fail(went);
  for (const std::string& line : out.take()) std::printf("on 2 shards: %s\n", line.c_str());
  return 0;
}
