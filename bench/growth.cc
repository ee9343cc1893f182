// Question  What does a record pay as keys, their skew, windows in a window and shards grow, and what does crossing to another shard cost?
// Method    Jobs of the public API in this process: a source that reads keys from a table made beforehand, key_by, and a count. One thing
//           grows at a time; each job runs --repeats times after one that does not count; medians. From the first record to the last
//           sink's barrier, CPU of all threads. Records that were counted are checked against those that were made.
// Baseline  "pass": the same source and sink with nothing between. "key_by" less "pass" is what an exchange costs a record.
#include "nexmark/timed.h"
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sluice/checkpoint/engine.h>
#include <sluice/engine/stream.h>
#include <sluice/engine/windows/windowed_stream.h>
#include <sluice/io/base/allocator.h>
#include <sluice/io/base/log.h>
#include <sluice/io/base/random.h>

namespace {

using namespace sluice;
using namespace std::chrono_literals;

constexpr std::int64_t kPerMillisecond = 100;  // 100,000 records a second of event time.
constexpr std::size_t kBatch = 1024;

struct Click {
  std::uint32_t key = 0;
  std::int64_t time_ms = 0;
};

/// One point of the plane that is measured.
struct Point {
  std::string job;
  std::uint64_t keys = 10'000;
  double skew = 0;
  std::uint64_t size_by_slide = 5;
  std::uint16_t shards = 1;
};

/// Keys by Zipf's law, the k-th as often as 1 / k^skew: by rejection against the integral of its density, after W. Hörmann and
/// G. Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions" (ACM TOMACS 6, 1996).
class Zipf {
 public:
  Zipf(std::uint64_t keys, double skew) : keys_(static_cast<double>(keys)), skew_(skew), low_(area(0.5)), high_(area(keys_ + 0.5)) {}
  std::uint64_t next(Random& random) const {
    for (;;) {
      const double u = low_ + (high_ - low_) * static_cast<double>(random.next() >> 11) * 0x1p-53;
      const double k = std::clamp(std::floor(inverse(u) + 0.5), 1.0, keys_);
      // The rectangle over [k - ½, k + ½] holds no more than the area there: take the part of it that is below the density.
      if (u >= area(k + 0.5) - std::pow(k, -skew_)) return static_cast<std::uint64_t>(k);
    }
  }

 private:
  [[nodiscard]] double area(double x) const { return skew_ == 1 ? std::log(x) : std::pow(x, 1 - skew_) / (1 - skew_); }
  [[nodiscard]] double inverse(double a) const { return skew_ == 1 ? std::exp(a) : std::pow(a * (1 - skew_), 1 / (1 - skew_)); }
  double keys_, skew_, low_, high_;
};

std::vector<std::uint32_t> make_keys(const Point& point, std::uint64_t records) {
  Random random(7);
  std::vector<std::uint32_t> keys(records);
  const Zipf zipf(point.keys, point.skew);
  for (std::uint32_t& key : keys) {
    const std::uint64_t rank = point.skew == 0 ? random.below(point.keys) : zipf.next(random) - 1;
    key = static_cast<std::uint32_t>(rank * 2'654'435'761u);  // Odd, so all stay different; the frequent ones are not neighbours.
  }
  return keys;
}

/// What a run comes to, all shards together.
struct Run {
  std::atomic<bool> begun = false;
  std::chrono::steady_clock::time_point begin{}, end{};
  double cpu_begin = 0, cpu_end = 0;
  std::atomic<std::uint64_t> rows = 0, counted = 0;
  std::atomic<std::uint32_t> ended = 0;
};

/// Split s of n reads batches s, s + n, …
class ClickReader final : public SourceReader<Click> {
 public:
  ClickReader(std::shared_ptr<const std::vector<std::uint32_t>> keys, std::uint16_t splits, std::shared_ptr<Run> run)
      : keys_(std::move(keys)), splits_(splits), run_(std::move(run)) {}
  asio::awaitable<Status> open(const Context&, std::vector<SplitPosition> starts, io::Event&) override {
    for (SplitPosition& start : starts) {
      split_ = std::make_shared<const Split>(start.split);
      position_ = std::move(start);
    }
    co_return Status();
  }
  asio::awaitable<Result<Polled>> poll(SourceOutput<Click>& out) override {
    if (split_ == nullptr) co_return Polled::kEnd;
    if (!run_->begun.exchange(true)) {
      run_->cpu_begin = nexmark::process_cpu_seconds();
      run_->begin = std::chrono::steady_clock::now();
    }
    const auto number = static_cast<std::uint64_t>(position_.next.value());
    const std::uint64_t first = (number * splits_ + split_->partition) * kBatch;
    if (first >= keys_->size()) co_return Polled::kEnd;
    Batch<Click>& batch = out.batches.emplace_back();
    batch.set_split(split_);
    const std::uint64_t end = std::min<std::uint64_t>(first + kBatch, keys_->size());
    batch.records().reserve(end - first);
    for (std::uint64_t n = first; n < end; ++n) {
      batch.records().push_back({(*keys_)[n], static_cast<std::int64_t>(n) / kPerMillisecond});
    }
    position_.next = Offset(static_cast<std::int64_t>(number + 1));
    co_return Polled::kData;
  }
  std::vector<SplitPosition> positions() const override { return {position_}; }

 private:
  const std::shared_ptr<const std::vector<std::uint32_t>> keys_;
  const std::uint16_t splits_;
  const std::shared_ptr<Run> run_;
  std::shared_ptr<const Split> split_;
  SplitPosition position_;
};

class ClickSource final : public Source<Click> {
 public:
  ClickSource(std::shared_ptr<const std::vector<std::uint32_t>> keys, std::uint16_t splits, std::shared_ptr<Run> run)
      : keys_(std::move(keys)), splits_(splits), run_(std::move(run)) {}
  std::string describe() const override { return "clicks from a table"; }
  asio::awaitable<Result<std::vector<SplitPosition>>> start(Attempt&, const std::string& id,
                                                            std::optional<std::vector<SplitPosition>> restored) override {
    if (restored) co_return *std::move(restored);
    std::vector<SplitPosition> starts;
    for (std::uint16_t split = 0; split < splits_; ++split) starts.push_back({id, Split{"clicks", split}, Offset(0)});
    co_return starts;
  }
  std::unique_ptr<SourceReader<Click>> reader(Attempt&, ShardId) override {
    return std::make_unique<ClickReader>(keys_, splits_, run_);
  }

 private:
  const std::shared_ptr<const std::vector<std::uint32_t>> keys_;
  const std::uint16_t splits_;
  const std::shared_ptr<Run> run_;
};

/// Adds up how many records its rows stand for.
class CountWriter final : public SinkWriter<std::uint64_t> {
 public:
  explicit CountWriter(std::shared_ptr<Run> run) : run_(std::move(run)) {}
  asio::awaitable<Status> write(Batch<std::uint64_t> batch, std::vector<Batch<Record>>&) override {
    rows_ += batch.size();
    for (const std::uint64_t row : batch) counted_ += row;
    co_return Status();
  }
  asio::awaitable<Status> prepare(Epoch, std::string&) override {
    run_->rows += std::exchange(rows_, 0);
    run_->counted += std::exchange(counted_, 0);
    run_->end = std::chrono::steady_clock::now();
    run_->cpu_end = nexmark::process_cpu_seconds();
    co_return Status();
  }

 private:
  const std::shared_ptr<Run> run_;
  std::uint64_t rows_ = 0, counted_ = 0;
};
class CountSink final : public Sink<std::uint64_t> {
 public:
  explicit CountSink(std::shared_ptr<Run> run) : run_(std::move(run)) {}
  std::string describe() const override { return "a count"; }
  asio::awaitable<Status> check(Attempt&, const std::string&) override { co_return Status(); }
  std::unique_ptr<SinkWriter<std::uint64_t>> writer(Attempt&, ShardId) override { return std::make_unique<CountWriter>(run_); }

 private:
  const std::shared_ptr<Run> run_;
};

/// Says how many came.
template <class T>
class Arrived final : public Operator<T, std::uint64_t> {
 public:
  Status process(const Batch<T>& batch, Collector<std::uint64_t>& out) override {
    out.emit(batch.size());
    return {};
  }
};

/// A running count for each key in state that is checkpointed.
class CountByKey final : public Operator<Keyed<std::uint32_t, Click>, std::uint64_t> {
 public:
  void declare(StateSet& states) override { states.add("counts", counts_); }
  Status process(const Batch<Keyed<std::uint32_t, Click>>& batch, Collector<std::uint64_t>& out) override {
    for (const auto& click : batch) counts_.in_group(click.key, click.group) += 1;
    out.emit(batch.size());
    return {};
  }

 private:
  ValueState<std::uint32_t, std::uint64_t> counts_;
};

void build(const Point& point, const Stream<Click>& clicks, std::shared_ptr<Sink<std::uint64_t>> sink) {
  using ByKey = Keyed<std::uint32_t, Click>;
  if (point.job == "pass") {
    clicks.process<std::uint64_t>("arrived", [] { return std::make_unique<Arrived<Click>>(); }).to(std::move(sink), "counts");
  } else if (point.job == "key_by") {
    clicks.key_by(&Click::key)
        .process<std::uint64_t>("arrived", [] { return std::make_unique<Arrived<ByKey>>(); })
        .to(std::move(sink), "counts");
  } else if (point.job == "count") {
    clicks.key_by(&Click::key)
        .process<std::uint64_t>("count", [] { return std::make_unique<CountByKey>(); })
        .to(std::move(sink), "counts");
  } else {
    const EventDuration size = 10s, slide(size.count() / static_cast<std::int64_t>(point.size_by_slide));
    clicks.watermarks(bounded_out_of_orderness<Click>(1s, [](const Click& click) { return EventTime(EventDuration(click.time_ms)); }))
        .key_by(&Click::key)
        .window(sliding(size, slide))
        .aggregate(count(), "windows")
        .map([](const auto& window) { return window.value; })
        .to(std::move(sink), "counts");
  }
}

/// Every record is in as many windows as a window has slides.
std::uint64_t expected(const Point& point, std::uint64_t records) {
  return point.job == "windows" ? records * point.size_by_slide : records;
}

struct Options {
  std::uint64_t records = 4'000'000;
  unsigned repeats = 3;
  bool json = false;
};

Status measure(const Point& point, const Options& options) {
  const auto keys = std::make_shared<const std::vector<std::uint32_t>>(make_keys(point, options.records));
  nexmark::Timing timing;
  for (unsigned at = 0; at <= options.repeats; ++at) {
    const auto run = std::make_shared<Run>();
    const auto directory = std::filesystem::temp_directory_path() / ("sluice-growth-" + Uuid::make().to_string());
    Job job("growth");
    job.shards(point.shards);
    job.checkpoint({.interval = std::chrono::hours(1), .directory = directory});
    build(point, job.from<Click>(std::make_shared<ClickSource>(keys, point.shards, run), "clicks"), std::make_shared<CountSink>(run));
    Result<Running> running = Engine().start(std::move(job));
    const Status ended = running.ok() ? running->wait() : running.status();
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
    if (!ended.ok()) return ended;
    if (run->counted != expected(point, options.records)) {
      return Status(Code::kCorrupt,
                    fmt::format("{} records were counted, {} were to be", run->counted.load(), expected(point, options.records)));
    }
    if (at > 0) timing.add(std::chrono::duration<double>(run->end - run->begin).count(), run->cpu_end - run->cpu_begin, run->rows);
  }
  const auto median = [](std::vector<double>& all) {
    std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2));
    return all[all.size() / 2];
  };
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double records = static_cast<double>(options.records), wall = median(timing.seconds), cpu = median(timing.cpu_seconds);
  const char* const format =
      options.json ? "{{\"schema_version\":1,\"bench\":\"growth\",\"job\":\"{}\",\"keys\":{},\"skew\":{},\"size_by_slide\":{},\"shards\":{},"
                     "\"records_per_second\":{:.0f},\"ns_of_cpu\":{:.1f},\"rows\":{},\"peak_mib\":{}}}\n"
                   : "{:<8} {:>9} {:>5} {:>6} {:>6} {:>13.0f} {:>8.1f} {:>11} {:>9}\n";
  fmt::print(fmt::runtime(format), point.job, point.keys, point.skew, point.size_by_slide, point.shards, records / wall,
             cpu * 1e9 / records, timing.rows, usage.ru_maxrss / 1024);
  std::fflush(stdout);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  keep_freed_memory();
  log().set_level(spdlog::level::warn);
  Options options;
  std::vector<std::string> only;
  CLI::App app{"What a record pays as keys, skew, windows in a window and shards grow."};
  app.add_option("--records", options.records, "of each run")->check(CLI::Range(1'000, 100'000'000))->capture_default_str();
  app.add_option("--repeats", options.repeats, "runs that count; the figures are medians")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--job", only, "pass, key_by, count, windows; all when not given")
      ->check(CLI::IsMember({"pass", "key_by", "count", "windows"}));
  app.add_flag("--json", options.json, "one object a line");
  CLI11_PARSE(app, argc, argv);

  std::vector<Point> points;
  for (const std::uint16_t shards : {1, 2}) {
    points.push_back({.job = "pass", .shards = shards});
    points.push_back({.job = "key_by", .shards = shards});
    for (const std::uint64_t keys : {100, 1'000, 10'000, 100'000, 1'000'000, 10'000'000}) {
      points.push_back({.job = "count", .keys = keys, .shards = shards});
    }
    for (const double skew : {0.4, 0.8, 1.0, 1.2}) points.push_back({.job = "count", .keys = 1'000'000, .skew = skew, .shards = shards});
    for (const std::uint64_t by : {5, 50, 500}) points.push_back({.job = "windows", .keys = 1'000, .size_by_slide = by, .shards = shards});
  }
  if (!options.json) fmt::print("job           keys  skew size/s shards     records/s   ns CPU        rows  peak MiB\n");
  for (const Point& point : points) {
    if (!only.empty() && std::ranges::find(only, point.job) == only.end()) continue;
    const Status measured = measure(point, options);
    if (measured.ok()) continue;
    fmt::print(stderr, "growth: {}: {}\n", point.job, measured.to_string());
    return 1;
  }
  return 0;
}
