// Question  What does a record of a join cost beside a loop by hand that does the same, and nexmark's q3 and q8 as joins beside theirs?
// Sketch    A look-up a record in both; on top of it the group's hash, the mark of what changed for the checkpoint, the key in a bucket
//           of time, and the row in a result batch. Two cache misses a record on a table that outgrows the caches.
// Baseline  A boost::unordered_flat_map of vectors and a queue in order of time, which needs its input in order; nexmark/loops/join.h.
//           In turn within one run, CPU time of the thread (of the process where a job runs).
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <boost/describe/class.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <fmt/format.h>

#include <sluice/checkpoint/engine.h>
#include <sluice/engine/collection.h>
#include <sluice/engine/job.h>
#include <sluice/io/base/random.h>

#include "allocations.h"
#include "nexmark/digest.h"
#include "nexmark/loops.h"

/// Nexmark's texts are views of the generator's tables, which live as long as the process; nothing is restored here.
template <>
struct sluice::Codec<std::string_view> {
  static std::string name() { return "view"; }
  static void write(std::string_view text, std::string& out) { out.append(text); }
  static bool read(std::string_view&, std::string_view&) { return false; }
};

namespace {

using namespace sluice;
using namespace std::chrono_literals;

constexpr double kLeast = 0.7;  // Of the loop's rate, on q3 and q8.

double cpu_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}
template <class Work>
double timed(Work&& work, clockid_t clock = CLOCK_THREAD_CPUTIME_ID) {
  const double before = cpu_ns(clock);
  work();
  return cpu_ns(clock) - before;
}
double median(std::vector<double> all) {
  std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2));
  return all[all.size() / 2];
}

// ---- interval join ----

using Key = std::int64_t;
struct Item {
  std::int64_t id = 0;
};
BOOST_DESCRIBE_STRUCT(Item, (), (id))
struct PairIds {
  std::uint64_t operator()(const Item& left, const Item& right) const { return static_cast<std::uint64_t>(left.id * 31 + right.id); }
};
using Join = IntervalJoin<Key, Item, Item, JoinKind::kInner, PairIds>;
using LeftJoin = IntervalJoin<Key, Item, Item, JoinKind::kLeft, std::uint64_t (*)(const Item&, const Item*)>;
using Batches = std::vector<Batch<Either<Keyed<Key, Item>, Keyed<Key, Item>>>>;
using Both = Either<Keyed<Key, Item>, Keyed<Key, Item>>;

constexpr std::size_t kBatch = 1'000;

/// Batches left and right in turn, 100,000 records a second of event time. `keys` 0: each key once a side, right a second behind left.
Batches make_batches(std::size_t records, std::uint64_t keys) {
  Random random(11);
  Batches batches;
  const KeyGroups groups;
  std::int64_t n[2] = {0, -50'000};
  for (std::size_t made = 0; made < records; made += kBatch) {
    const bool left = made / kBatch % 2 == 0;
    Batch<Keyed<Key, Item>> batch;
    for (std::size_t i = 0; i < kBatch; ++i) {
      std::int64_t& id = n[left ? 0 : 1];
      const Key key = keys == 0 ? id * 0x9e3779b9 : static_cast<Key>(random.below(keys));
      batch.records().push_back({key, {id}, groups.of(key)});
      batch.times().push_back(EventTime(EventDuration((made / 2 / kBatch * kBatch + i) / 50)));
      ++id;
    }
    batches.push_back(left ? Batch<Both>::of_left(std::move(batch)) : Batch<Both>::of_right(std::move(batch)));
  }
  return batches;
}

/// The loop by hand. It relies on both sides being in order of time.
class BareJoin {
 public:
  explicit BareJoin(EventDuration within) : within_(within) {}
  std::uint64_t sum = 0, rows = 0;
  template <bool kLeft>
  void process(const Batch<Keyed<Key, Item>>& batch) {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const EventTime time = batch.times()[i];
      Sides& sides = sides_[batch[i].key];
      const auto& others = kLeft ? sides.right : sides.left;
      for (std::size_t k = others.size(); k-- > 0 && others[k].first >= time - within_;) {
        if (others[k].first > time + within_) continue;
        ++rows;
        sum += kLeft ? PairIds()({batch[i].value.id}, {others[k].second}) : PairIds()({others[k].second}, {batch[i].value.id});
      }
      (kLeft ? sides.left : sides.right).push_back({time, batch[i].value.id});
      queue_.push_back({time, batch[i].key});
    }
  }
  void watermark(EventTime time) {
    while (!queue_.empty() && queue_.front().first + within_ < time) {
      const auto found = sides_.find(queue_.front().second);
      if (found != sides_.end()) {
        for (auto* side : {&found->second.left, &found->second.right}) {
          std::size_t old = 0;
          while (old < side->size() && (*side)[old].first + within_ < time) ++old;
          side->erase(side->begin(), side->begin() + static_cast<std::ptrdiff_t>(old));
        }
        if (found->second.left.empty() && found->second.right.empty()) sides_.erase(found);
      }
      queue_.pop_front();
    }
  }

 private:
  struct Sides {
    std::vector<std::pair<EventTime, std::int64_t>> left, right;
  };
  const EventDuration within_;
  boost::unordered_flat_map<Key, Sides> sides_;
  std::deque<std::pair<EventTime, Key>> queue_;
};

void count(Collector<std::uint64_t>& out, std::uint64_t& sum, std::uint64_t& rows) {
  for (const Batch<std::uint64_t>& batch : out.take()) {
    rows += batch.size();
    for (const std::uint64_t value : batch) sum += value;
  }
}

template <class Op, class F>
void BM_IntervalJoin(benchmark::State& state, F f) {
  const auto records = std::size_t{1'000'000};
  const EventDuration within(state.range(1));
  const Batches batches = make_batches(records, static_cast<std::uint64_t>(state.range(0)));
  std::vector<double> bare_ns, join_ns;
  std::uint64_t allocated = 0, rows = 0;
  for (auto _ : state) {
    BareJoin bare(within);
    bare_ns.push_back(timed([&] {
      for (const auto& batch : batches) {
        batch.left() != nullptr ? bare.process<true>(*batch.left()) : bare.process<false>(*batch.right());
        bare.watermark(batch.times().front());
      }
    }));
    Op join(-within, within, f, {});
    StateSet states;
    join.declare(states);
    Context context;
    for (const auto& [name, one] : states.all()) one->open(context);
    if (!join.open(context).ok()) state.SkipWithError("not opened");
    std::uint64_t sum = 0;
    rows = 0;
    const std::uint64_t before = bench::allocations();
    join_ns.push_back(timed([&] {
      for (const auto& batch : batches) {
        Collector<std::uint64_t> out(batch), timers;
        if (!join.process(batch, out).ok()) state.SkipWithError("failed");
        count(out, sum, rows);
        if (!join.on_watermark(batch.times().front(), timers).ok()) state.SkipWithError("failed");
        count(timers, sum, rows);
      }
    }));
    allocated = bench::allocations() - before;
    if (std::is_same_v<Op, Join> && (sum != bare.sum || rows != bare.rows)) state.SkipWithError("the two do not make the same rows");
  }
  const auto each = static_cast<double>(records);
  state.counters["bare_ns"] = median(bare_ns) / each;
  state.counters["join_ns"] = median(join_ns) / each;
  state.counters["ratio"] = median(bare_ns) / median(join_ns);
  state.counters["rows"] = static_cast<double>(rows);
  state.counters["allocations"] = static_cast<double>(allocated) / each;
}
void BM_Inner(benchmark::State& state) { BM_IntervalJoin<Join>(state, PairIds()); }
void BM_LeftBesideInnerLoop(benchmark::State& state) {
  BM_IntervalJoin<LeftJoin>(state, [](const Item& left, const Item* right) { return PairIds()(left, right == nullptr ? Item() : *right); });
}
BENCHMARK(BM_Inner)->ArgNames({"keys", "within_ms"})->Args({0, 1'500})->Args({10'000, 100})->Args({100, 2})->Iterations(7)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_LeftBesideInnerLoop)->ArgNames({"keys", "within_ms"})->Args({0, 1'500})->Args({10'000, 100})->Iterations(7)->Unit(benchmark::kMillisecond);

// ---- nexmark ----

using nexmark::Auction;
using nexmark::Event;
using nexmark::Person;

struct Seller {
  std::string_view name, city, state;
  bool here = false;
};

BOOST_DESCRIBE_STRUCT(Seller, (), (name, city, state, here))

constexpr std::uint64_t kEvents = 2'000'000;

struct LocalItem {
  nexmark::LocalItemRow row;
  bool here;
};
struct ToLocalItem {
  LocalItem operator()(std::int64_t auction, const Seller& seller) const { return {{seller.name, seller.city, seller.state, auction}, seller.here}; }
};
Seller seller_of(const Person& person) {
  return {person.name, person.city, person.state, person.state == "OR" || person.state == "ID" || person.state == "CA"};
}

/// Both sides of an operator, fed from the generator a batch of events at a time.
template <class Op, class L, class R>
class Driven {
 public:
  explicit Driven(Op op) : op_(std::move(op)) {
    op_.declare(states_);
    for (const auto& [name, state] : states_.all()) state->open(context_);
    if (!op_.open(context_).ok()) std::abort();
  }
  void left(Key key, L value, std::int64_t ms) { add(left_, key, std::move(value), ms); }
  void right(Key key, R value, std::int64_t ms) { add(right_, key, std::move(value), ms); }
  /// What was added, right first, then the watermark.
  template <class Emit>
  void step(std::int64_t watermark_ms, Emit&& emit) {
    if (!right_.empty()) {
      Collector<typename Op::Out> out(right_);
      if (!op_.process_right(right_, out).ok()) std::abort();
      drain(out, emit);
      right_.records().clear();
      right_.times().clear();
    }
    if (!left_.empty()) {
      Collector<typename Op::Out> out(left_);
      if (!op_.process_left(left_, out).ok()) std::abort();
      drain(out, emit);
      left_.records().clear();
      left_.times().clear();
    }
    if (watermark_ms == 0) return;
    Collector<typename Op::Out> out;
    if (!op_.on_watermark(EventTime(EventDuration(watermark_ms)), out).ok()) std::abort();
    drain(out, emit);
  }
  template <class Emit>
  void end(Emit&& emit) {
    Collector<typename Op::Out> out;
    if (!op_.end_of_input(out).ok()) std::abort();
    drain(out, emit);
  }

 private:
  template <class T>
  void add(Batch<Keyed<Key, T>>& batch, Key key, T value, std::int64_t ms) {
    batch.records().push_back({key, std::move(value), groups_.of(key)});
    batch.times().push_back(EventTime(EventDuration(ms)));
  }
  template <class Emit>
  static void drain(Collector<typename Op::Out>& out, Emit& emit) {
    for (const auto& batch : out.take()) {
      for (std::size_t i = 0; i < batch.size(); ++i) emit(batch[i], batch.times()[i]);
    }
  }
  Op op_;
  StateSet states_;
  Context context_;
  const KeyGroups groups_;
  Batch<Keyed<Key, L>> left_;
  Batch<Keyed<Key, R>> right_;
};

template <class Rows>
void q3_as_join(const nexmark::Generator& generator, Rows& rows) {
  Driven<WaitingJoin<Key, std::int64_t, Seller, ToLocalItem>, std::int64_t, Seller> join({ToLocalItem(), {}});
  std::array<Event, nexmark::kBatchEvents> batch;
  const auto emit = [&](const LocalItem& item, EventTime) { if (item.here) rows.emit(item.row); };
  for (std::uint64_t first = 0; first < kEvents; first += batch.size()) {
    const std::span<Event> part(batch.data(), std::min<std::uint64_t>(batch.size(), kEvents - first));
    generator.fill(first, part);
    for (const Event& event : part) {
      if (const Auction* auction = std::get_if<Auction>(&event)) {
        if (auction->category == 10) join.left(auction->seller, auction->id, auction->time_ms);
      } else if (const Person* person = std::get_if<Person>(&event)) {
        join.right(person->id, seller_of(*person), person->time_ms);
      }
    }
    join.step(0, emit);
  }
}

struct NewSeller {
  std::int64_t id;
  std::string_view name;
};
BOOST_DESCRIBE_STRUCT(NewSeller, (), (id, name))
struct Same {
  NewSeller operator()(const NewSeller& seller) const { return seller; }
};

template <class Rows>
void q8_as_join(const nexmark::Generator& generator, Rows& rows) {
  Driven<WindowJoin<Key, NewSeller, bool, JoinKind::kSemi, Same>, NewSeller, bool> join({{10s, 10s, 0s}, Same(), {}});
  std::array<Event, nexmark::kBatchEvents> batch;
  const auto emit = [&](const NewSeller& seller, EventTime time) {
    rows.emit(nexmark::NewSellerRow{time.time_since_epoch().count() + 1, seller.id, seller.name});
  };
  for (std::uint64_t first = 0; first < kEvents; first += batch.size()) {
    const std::span<Event> part(batch.data(), std::min<std::uint64_t>(batch.size(), kEvents - first));
    generator.fill(first, part);
    for (const Event& event : part) {
      if (const Auction* auction = std::get_if<Auction>(&event)) {
        join.right(auction->seller, true, auction->time_ms);
      } else if (const Person* person = std::get_if<Person>(&event)) {
        join.left(person->id, {person->id, person->name}, person->time_ms);
      }
    }
    join.step(generator.time_ms(first + part.size() - 1) - 4'000, emit);
  }
  join.end(emit);
}

// ---- q3 as a job, on one shard ----

class EventReader final : public SourceReader<Event> {
 public:
  explicit EventReader(const nexmark::Generator& generator) : generator_(generator) {}
  asio::awaitable<Status> open(const Context&, std::vector<SplitPosition> starts, io::Event&) override {
    if (!starts.empty()) at_ = starts.front();
    split_ = std::make_shared<const Split>(at_.split);
    co_return Status();
  }
  asio::awaitable<Result<Polled>> poll(SourceOutput<Event>& out) override {
    const auto first = static_cast<std::uint64_t>(at_.next.value());
    if (at_.source.empty() || first >= kEvents) co_return Polled::kEnd;
    Batch<Event> batch;
    batch.set_split(split_);
    batch.records().resize(std::min<std::uint64_t>(nexmark::kBatchEvents, kEvents - first));
    generator_.fill(first, batch.records());
    at_.next = Offset(at_.next.value() + static_cast<std::int64_t>(batch.size()));
    out.batches.push_back(std::move(batch));
    co_return Polled::kData;
  }
  std::vector<SplitPosition> positions() const override {
    if (at_.source.empty()) return {};
    return {at_};
  }

 private:
  const nexmark::Generator& generator_;
  SplitPosition at_;
  std::shared_ptr<const Split> split_;
};
class Events final : public Source<Event> {
 public:
  explicit Events(const nexmark::Generator& generator) : generator_(generator) {}
  std::string describe() const override { return "nexmark"; }
  asio::awaitable<Result<std::vector<SplitPosition>>> start(Attempt&, const std::string& id, std::optional<std::vector<SplitPosition>> restored) override {
    if (restored) co_return *std::move(restored);
    co_return std::vector{SplitPosition{id, Split{"events", 0}, Offset{0}}};
  }
  std::unique_ptr<SourceReader<Event>> reader(Attempt&, ShardId) override { return std::make_unique<EventReader>(generator_); }

 private:
  const nexmark::Generator& generator_;
};

struct KeyedAuction {
  std::int64_t seller, id;
};
struct KeyedSeller {
  std::int64_t id;
  Seller seller;
};
BOOST_DESCRIBE_STRUCT(KeyedAuction, (), (seller, id))
BOOST_DESCRIBE_STRUCT(KeyedSeller, (), (id, seller))

template <class Rows>
void q3_as_job(const nexmark::Generator& generator, Rows& rows) {
  const std::filesystem::path directory = std::filesystem::temp_directory_path() / ("sluice-q3-" + Uuid::make().to_string());
  Job job{"q3"};
  job.checkpoint({.interval = 1s, .directory = directory}).shards(1);
  auto sides = job.from(std::shared_ptr<Source<Event>>(std::make_shared<Events>(generator)), "events")
                   .split<KeyedAuction, KeyedSeller>("sides", [](const Event& event, Arena&, auto& out, auto& side) {
                     if (const Auction* auction = std::get_if<Auction>(&event)) {
                       if (auction->category == 10) out(KeyedAuction{auction->seller, auction->id});
                     } else if (const Person* person = std::get_if<Person>(&event)) {
                       side(KeyedSeller{person->id, seller_of(*person)});
                     }
                   });
  sides.key_by(&KeyedAuction::seller)
      .lookup(sides.side().key_by(&KeyedSeller::id))
      .waiting("q3", [](const KeyedAuction& auction, const KeyedSeller& seller) { return ToLocalItem()(auction.id, seller.seller); })
      .filter([](const LocalItem& item) { return item.here; })
      .to(for_each<LocalItem>([&](const LocalItem& item) { rows.emit(item.row); }));
  Result<Running> running = Engine().start(std::move(job));
  if (!running.ok() || !running->wait().ok()) std::abort();
  std::filesystem::remove_all(directory);
}

template <class AsJoin>
void BM_Query(benchmark::State& state, std::string_view query, AsJoin as_join, clockid_t clock, double least) {
  const nexmark::Generator generator({});
  nexmark::DigestRows expected, made;
  nexmark::run(query, generator, kEvents, expected);
  as_join(generator, made);
  if (made.digest != expected.digest) {
    state.SkipWithError(fmt::format("the join answers {}, the loop {}", made.digest.text(), expected.digest.text()).c_str());
    return;
  }
  std::vector<double> loop_ns, join_ns, generator_ns;
  for (auto _ : state) {
    nexmark::CountRows loop_rows, join_rows;
    loop_ns.push_back(timed([&] { nexmark::run(query, generator, kEvents, loop_rows); }, clock));
    join_ns.push_back(timed([&] { as_join(generator, join_rows); }, clock));
    generator_ns.push_back(timed([&] {
      std::array<Event, nexmark::kBatchEvents> batch;
      for (std::uint64_t first = 0; first < kEvents; first += batch.size()) {
        generator.fill(first, batch);
        benchmark::DoNotOptimize(batch.data());
        benchmark::ClobberMemory();
      }
    }, clock));
    benchmark::DoNotOptimize(loop_rows.folded + join_rows.folded);
  }
  const double ratio = median(loop_ns) / median(join_ns);
  state.counters["loop_ns"] = median(loop_ns) / kEvents;
  state.counters["join_ns"] = median(join_ns) / kEvents;
  state.counters["generator_ns"] = median(generator_ns) / kEvents;
  state.counters["ratio"] = ratio;
  if (ratio < least) {
    state.SkipWithError(fmt::format("{:.1f} ns an event, the loop {:.1f}, the generator {:.1f} of both: {:.2f} of its rate, {} is asked for",
                                    median(join_ns) / kEvents, median(loop_ns) / kEvents, median(generator_ns) / kEvents, ratio, least)
                            .c_str());
  }
}
const auto q3 = [](const nexmark::Generator& generator, auto& rows) { q3_as_join(generator, rows); };
const auto q8 = [](const nexmark::Generator& generator, auto& rows) { q8_as_join(generator, rows); };
const auto q3_job = [](const nexmark::Generator& generator, auto& rows) { q3_as_job(generator, rows); };
void BM_Q3(benchmark::State& state) { BM_Query(state, "q3", q3, CLOCK_THREAD_CPUTIME_ID, kLeast); }
void BM_Q8(benchmark::State& state) { BM_Query(state, "q8", q8, CLOCK_THREAD_CPUTIME_ID, kLeast); }
// With its source, which fills a batch of its own each time, a split, two hops, and the start of a job: what the join is a part of.
void BM_Q3Job(benchmark::State& state) { BM_Query(state, "q3", q3_job, CLOCK_PROCESS_CPUTIME_ID, 0); }
BENCHMARK(BM_Q3)->Iterations(7)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Q8)->Iterations(7)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Q3Job)->Iterations(7)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
