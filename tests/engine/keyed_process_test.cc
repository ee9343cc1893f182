// Goal: a process function sees each record and each timer of a key with its time, its state and the watermark, on any number of
// shards, through restarts, and to the end of both times.
// Method: the operator's instances on several shards side by side, with a clock that is turned by hand; then whole jobs.
#include "exchange_fixture.h"

#include <sluice/engine/internal/operator_tail.h>
#include <sluice/engine/internal/state_saver.h>
#include <sluice/io/base/random.h>

#include <algorithm>
#include <map>
#include <set>

namespace sluice {
namespace {

using namespace std::chrono_literals;
using namespace exchange_test;

EventTime ms(std::int64_t count) { return EventTime(EventDuration(count)); }

struct Login {
  std::string user;
  int number = 0;
};
/// What came out: of whom, what, with which event time.
using Out = std::tuple<std::string, std::string, EventTime>;

/// Tells when a user has been silent for ten seconds, and counts.
struct Inactive : KeyedProcessFunction<std::string, Login, Out> {
  void declare(StateSet& states) {
    states.add("last", last_);
    states.add("count", count_);
  }
  void process(const Login&, Ctx& ctx, Collector<Out>&) {
    auto last = ctx.of(last_);
    if (const EventTime* before = last.find()) ctx.timers().erase_event_time(*before + 10s);
    last.value() = ctx.time();
    ++ctx.of(count_).value();
    ctx.timers().set_event_time(ctx.time() + 10s);
  }
  void on_timer(EventTime time, Ctx& ctx, Collector<Out>& out) {
    EXPECT_EQ(ctx.time(), time);
    EXPECT_EQ(ctx.domain(), TimeDomain::kEvent);
    EXPECT_GE(ctx.watermark(), time);
    out.emit({std::string(ctx.key()), "silent after " + std::to_string(*ctx.of(count_).find()), kNoEventTime});
    EXPECT_TRUE(ctx.of(last_).erase());
  }
  ValueState<std::string, EventTime> last_;
  ValueState<std::string, int> count_;
};

/// The operator of a function on several shards, between restarts.
template <class F>
class Instances {
 public:
  using Op = internal::ProcessOperator<F, typename F::Key, typename F::Input>;
  using In = Keyed<typename F::Key, typename F::Input>;
  Instances(std::uint16_t shards, F f, const CheckpointData& restored = {}) {
    for (std::uint16_t i = 0; i < shards; ++i) {
      auto& one = shards_.emplace_back(std::make_unique<Instance>(f));
      one->context.operator_id = "op";
      one->context.shard = ShardId(i);
      one->context.parallelism = shards;
      one->context.metrics = &metrics;
      one->context.clock = &clock();
      one->op.declare(one->states);
      one->saver.watch(one->states);
      for (const auto& [name, state] : one->states.all()) state->open(one->context);
      check(internal::restore_states(one->states, restored, one->context));
      check(one->op.open(one->context));
    }
  }
  void process(std::vector<std::pair<typename F::Input, EventTime>> records) {
    for (auto& one : shards_) {
      Batch<In> batch;
      for (const auto& [record, time] : records) {
        const KeyGroup group = KeyGroups().of(record.user);
        if (KeyGroups().owner(group, count()) != one->context.shard) continue;
        batch.records().push_back({record.user, record, group});
        batch.times().push_back(time);
      }
      Collector<typename F::Output> out(batch);
      check(one->op.process(batch, out));
      collect(out);
    }
  }
  void watermark(EventTime time) {
    each([&](Op& op, auto& out) { return op.on_watermark(time, out); });
  }
  void end() {
    each([&](Op& op, auto& out) { return op.end_of_input(out); });
  }
  /// What the stage does when something is due; how many had something.
  int tick() {
    int due = 0;
    each([&](Op& op, auto& out) {
      if (op.deadline() > clock().now()) return Status();
      ++due;
      return op.on_deadline(clock().now(), out);
    });
    return due;
  }
  CheckpointData barrier(Epoch epoch) {
    CheckpointData data;
    for (auto& one : shards_) {
      one->op.snapshot_state(epoch);
      one->saver.save(epoch, one->context, data);
    }
    return data;
  }
  /// What came out since the last call, sorted.
  std::vector<Out> take() {
    std::ranges::sort(out_);
    return std::exchange(out_, {});
  }
  static io::FakeClock& clock() {
    static io::FakeClock fake(io::WallTime(std::chrono::milliseconds(1'700'000'000'000)));
    return fake;
  }
  Op& op(std::size_t i) { return shards_[i]->op; }
  Metrics metrics;

 private:
  struct Instance {
    explicit Instance(F f) : op(std::move(f)) {}
    Context context;
    Op op;
    StateSet states;
    internal::StateSaver saver;
  };
  [[nodiscard]] std::uint16_t count() const { return static_cast<std::uint16_t>(shards_.size()); }
  template <class Call>
  void each(Call call) {
    for (auto& one : shards_) {
      Collector<typename F::Output> out;
      check(call(one->op, out));
      collect(out);
    }
  }
  void collect(Collector<typename F::Output>& out) {
    for (const auto& batch : out.take()) {
      for (std::size_t i = 0; i < batch.size(); ++i) {
        Out record = batch[i];
        std::get<2>(record) = batch.times().empty() ? kNoEventTime : batch.times()[i];
        out_.push_back(std::move(record));
      }
    }
  }
  static void check(const Status& status) { EXPECT_TRUE(status.ok()) << status.to_string(); }

  std::vector<std::unique_ptr<Instance>> shards_;
  std::vector<Out> out_;
};

TEST(KeyedProcess, TimersFireWhenTheWatermarkHasComeToThem) {
  Instances<Inactive> job(1, {});
  job.process({{{"ann"}, ms(1'000)}, {{"bob"}, ms(2'000)}, {{"ann"}, ms(5'000)}});
  job.watermark(ms(11'999));
  EXPECT_EQ(job.take(), std::vector<Out>{});
  job.watermark(ms(12'000));
  EXPECT_EQ(job.take(), (std::vector<Out>{{"bob", "silent after 1", ms(12'000)}}));
  job.watermark(ms(100'000));
  EXPECT_EQ(job.take(), (std::vector<Out>{{"ann", "silent after 2", ms(15'000)}}));
}

// Goal: a timer finds what was there at its own time, however far the watermark goes at once.
TEST(KeyedProcess, TimeToLiveGoesByTheTimerNotByTheWatermarkThatFiresIt) {
  // What is kept lives for twenty seconds.
  Instances<Inactive> job(1, Inactive{{}, {}, ValueState<std::string, int>({.after = 20s})});
  job.process({{{"ann"}, ms(1'000)}, {{"ann"}, ms(4'000)}, {{"bob"}, ms(60'000)}, {{"bob"}, ms(90'000)}});
  job.watermark(ms(3'600'000));
  EXPECT_EQ(job.take(), (std::vector<Out>{{"ann", "silent after 2", ms(14'000)}, {"bob", "silent after 1", ms(100'000)}}));
}

// Goal: stopped and started on other numbers of shards in the middle, the results are those of a run without.
TEST(KeyedProcess, RestartsInTheMiddleChangeNothing) {
  const auto run = [](const std::vector<std::uint16_t>& shards) {
    Random random(5);
    std::vector<Out> all;
    CheckpointData kept;
    std::uint64_t epoch = 0;
    std::int64_t now = 0;
    for (int part = 0; part < 6; ++part) {
      Instances<Inactive> job(shards[static_cast<std::size_t>(part) % shards.size()], {}, kept);
      if (part > 0) job.watermark(ms(now - 50'000));  // Sources begin with what they know: earlier, and no news.
      for (int step = 0; step < 40; ++step) {
        std::vector<std::pair<Login, EventTime>> records;
        for (int i = 0; i < 20; ++i) {
          records.push_back({{"user-" + std::to_string(random.below(60))}, ms(now + static_cast<std::int64_t>(random.below(3'000)))});
        }
        job.process(records);
        now += 700;
        job.watermark(ms(now));
      }
      const std::vector<Out> some = job.take();
      all.insert(all.end(), some.begin(), some.end());
      kept = job.barrier(Epoch(++epoch));
      if (part == 5) {
        job.watermark(EventTime::max());
        job.end();
        const std::vector<Out> last = job.take();
        all.insert(all.end(), last.begin(), last.end());
      }
    }
    std::ranges::sort(all);
    return all;
  };
  const std::vector<Out> one = run({1});
  EXPECT_GT(one.size(), 60u);
  EXPECT_EQ(run({8}), one);
  EXPECT_EQ(run({1, 8, 3}), one);
}

TEST(KeyedProcess, TheWatermarkThatWasSeenOutlivesARestart) {
  CheckpointData kept;
  {
    Instances<Inactive> job(2, {});
    job.watermark(ms(50'000));
    kept = job.barrier(Epoch(1));
  }
  struct Late final : KeyedProcessFunction<std::string, Login, Out> {
    void declare(StateSet& states) {
      states.add("last", last_);
      states.add("count", count_);
    }
    void process(const Login& login, Ctx& ctx, Collector<Out>& out) {
      out.emit({login.user, ctx.watermark() == ms(50'000) ? "knows" : "does not", kNoEventTime});
    }
    ValueState<std::string, EventTime> last_;
    ValueState<std::string, int> count_;
  };
  Instances<Late> job(3, {}, kept);
  job.watermark(ms(20'000));
  job.process({{{"ann"}, ms(30'000)}});
  EXPECT_EQ(job.take(), (std::vector<Out>{{"ann", "knows", ms(30'000)}}));
}

/// Says what it sees of processing time; a timer a second after each record.
struct Delayed : KeyedProcessFunction<std::string, Login, Out, Out> {
  void process(const Login& login, Ctx& ctx, Collector<Out>& out) {
    ctx.timers().set_processing_time(ctx.processing_time() + 1s);
    if (login.number < 0) ctx.timers().erase_processing_time(ctx.processing_time() + 1s);
    if (login.number > 100) out.emit({login.user, "large", kNoEventTime});
    if (login.number == 7) ctx.side().emit({login.user, "seven", kNoEventTime}, ctx.time());
  }
  void on_timer(EventTime time, Ctx& ctx, Collector<Out>& out) {
    EXPECT_EQ(ctx.domain(), TimeDomain::kProcessing);
    out.emit({std::string(ctx.key()), std::to_string((time - ms(1'700'000'000'000)).count()), kNoEventTime});
    if (ctx.key() == "again") ctx.timers().set_processing_time(time + 1s);
  }
};

TEST(KeyedProcess, ProcessingTimersFireByTheClockAndSurviveARestart) {
  io::FakeClock& clock = Instances<Delayed>::clock();
  const auto since = [&] { return (std::chrono::floor<EventDuration>(clock.wall()) - ms(1'700'000'000'000)).count(); };
  CheckpointData kept;
  const std::int64_t start = since();
  {
    Instances<Delayed> job(2, {});
    EXPECT_EQ(job.op(0).deadline(), internal::kNoDeadline);
    job.process({{{"ann"}, ms(1)}, {{"bob", -1}, ms(1)}});
    clock.advance(999ms);
    EXPECT_EQ(job.tick(), 0);
    kept = job.barrier(Epoch(1));
  }
  Instances<Delayed> job(8, {}, kept);
  EXPECT_EQ(job.tick(), 0);
  clock.advance(1ms);
  EXPECT_GE(job.tick(), 1);
  EXPECT_EQ(job.take(), (std::vector<Out>{{"ann", std::to_string(start + 1'000), kNoEventTime}}));
}

TEST(KeyedProcess, AClockThatSomebodySetsHoldsNothingUpAndFiresNothingEarly) {
  io::FakeClock& clock = Instances<Delayed>::clock();
  Instances<Delayed> job(1, {});
  for (const auto step : {-1h, 2h}) {
    job.process({{{"ann"}, ms(1)}});
    clock.set_wall(clock.wall() + step);
    clock.advance(999ms);
    EXPECT_EQ(job.tick(), 0);
    clock.advance(1ms);
    EXPECT_EQ(job.tick(), 1);
    EXPECT_EQ(job.take().size(), 1u);
  }
}

TEST(KeyedProcess, TheEndOfInputIsTheEndOfBothTimes) {
  Instances<Delayed> job(1, {});
  job.process({{{"again"}, ms(1)}});
  job.watermark(EventTime::max());
  EXPECT_EQ(job.take().size(), 0u);
  job.end();
  EXPECT_EQ(job.take().size(), 1u) << "once: what it sets at the end would come for ever";
  EXPECT_EQ(job.metrics.value("sluice_timers_dropped_at_end_total"), 1u);
  EXPECT_EQ(job.op(0).deadline(), internal::kNoDeadline);
}

// ---- whole jobs ----

struct Visit {
  std::int64_t user;
  int split, number;
};

/// Counts; at the end of input it tells each user's total.
struct Totals : KeyedProcessFunction<std::int64_t, Visit, std::pair<std::int64_t, std::uint64_t>, std::int64_t> {
  using Total = std::pair<std::int64_t, std::uint64_t>;
  void declare(StateSet& states) { states.add("count", count_); }
  void process(const Visit& visit, Ctx& ctx, Collector<Total>&) {
    ++ctx.of(count_).value();
    ctx.timers().set_event_time(EventTime::max());
    if (visit.number % 1'000 == 0) ctx.side().emit(visit.user, ms(visit.number));
  }
  void on_timer(EventTime, Ctx& ctx, Collector<Total>& out) { out.emit({ctx.key(), *ctx.of(count_).find()}); }
  ValueState<std::int64_t, std::uint64_t> count_;
};

class KeyedProcessJob : public testing::TestWithParam<int> {};

TEST_P(KeyedProcessJob, TotalsAreRightThoughItIsStoppedInTheMiddle) {
  Directory directory;
  constexpr int kSplits = 3, kCount = 40'000;
  Collected<Totals::Total> totals;
  Collected<std::int64_t> aside;
  for (int run = 0; run < 3; ++run) {
    Job job{"totals"};
    job.checkpoint({.interval = 1ms, .directory = directory.path}).shards(static_cast<std::uint16_t>(run == 1 ? 3 : GetParam()));
    auto polled = std::make_shared<std::atomic<std::int64_t>>(0);
    auto made = job.from(splits<Visit>({.splits = kSplits, .count = kCount, .batch = 100, .polled = polled},
                                       [](int split, int n, Arena&) { return Visit{n % 5'000, split, n}; }), "in")
                    .key_by(&Visit::user)
                    .process("totals", Totals());
    made.to(totals.sink());
    made.side().to(aside.sink());
    Result<Running> running = Engine().start(std::move(job));
    ASSERT_TRUE(running.ok()) << running.status().to_string();
    while (run < 2 && !running->done() && *polled < kSplits * kCount / 4) std::this_thread::yield();
    if (run < 2) running->stop();
    const Status ended = running->wait();
    ASSERT_TRUE(ended.ok()) << ended.to_string();
  }
  std::map<std::int64_t, std::uint64_t> counted;
  for (const auto& [user, count] : totals.take()) EXPECT_TRUE(counted.emplace(user, count).second) << user << " twice";
  std::map<std::int64_t, std::uint64_t> expected;
  for (int n = 1; n <= kCount; ++n) expected[n % 5'000] += kSplits;
  EXPECT_EQ(counted, expected);
  EXPECT_EQ(aside.take().size(), static_cast<std::size_t>(kSplits * kCount / 1'000));
}
INSTANTIATE_TEST_SUITE_P(Shards, KeyedProcessJob, testing::Values(1, 8));

/// Emits what it has gathered a little after the last record.
struct Flushed : KeyedProcessFunction<std::int64_t, Visit, std::pair<std::int64_t, std::uint64_t>> {
  using Total = std::pair<std::int64_t, std::uint64_t>;
  void declare(StateSet& states) { states.add("count", count_); }
  void process(const Visit&, Ctx& ctx, Collector<Total>&) {
    ++ctx.of(count_).value();
    ctx.timers().set_processing_time(ctx.processing_time() + 20ms);
  }
  void on_timer(EventTime, Ctx& ctx, Collector<Total>& out) {
    const std::uint64_t count = std::exchange(ctx.of(count_).value(), 0);
    if (count != 0) out.emit({ctx.key(), count});
  }
  ValueState<std::int64_t, std::uint64_t> count_;
};

/// A source that has nothing to say any more, and does not end.
class Silent final : public Source<Visit> {
 public:
  std::string describe() const override { return "one visit each of a hundred users, then nothing"; }
  asio::awaitable<Result<std::vector<SplitPosition>>> start(Attempt&, const std::string& id,
                                                            std::optional<std::vector<SplitPosition>> restored) override {
    if (restored) co_return *std::move(restored);
    co_return std::vector{SplitPosition{id, Split{"s", 0}, Offset{0}}};
  }
  std::unique_ptr<SourceReader<Visit>> reader(Attempt&, ShardId) override { return std::make_unique<Reader>(); }

 private:
  class Reader final : public SourceReader<Visit> {
   public:
    asio::awaitable<Status> open(const Context&, std::vector<SplitPosition> starts, io::Event&) override {
      at_ = std::move(starts);
      co_return Status();
    }
    asio::awaitable<Result<Polled>> poll(SourceOutput<Visit>& out) override {
      if (at_.empty() || at_[0].next.value() == 100) co_return Polled::kNothing;
      Batch<Visit> batch;
      for (; at_[0].next.value() < 100; ++at_[0].next) batch.records().push_back({at_[0].next.value(), 0, 0});
      out.batches.push_back(std::move(batch));
      co_return Polled::kData;
    }
    std::vector<SplitPosition> positions() const override { return at_; }

   private:
    std::vector<SplitPosition> at_;
  };
};

// Goal: a stage that nothing comes to wakes for its timers, behind an exchange and behind a source.
TEST_P(KeyedProcessJob, ProcessingTimersWakeAStageThatNothingComesTo) {
  Directory directory;
  Collected<Flushed::Total> flushed;
  Job job{"flushed"};
  job.checkpoint({.interval = 10ms, .directory = directory.path}).shards(static_cast<std::uint16_t>(GetParam()));
  job.from(std::static_pointer_cast<Source<Visit>>(std::make_shared<Silent>()), "in")
      .key_by(&Visit::user)
      .process("flush", Flushed())
      .to(flushed.sink());
  Result<Running> running = Engine().start(std::move(job));
  ASSERT_TRUE(running.ok()) << running.status().to_string();
  const auto until = std::chrono::steady_clock::now() + 20s;
  while (flushed.take().size() < 100 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(flushed.take().size(), 100u);
  running->stop();
  EXPECT_TRUE(running->wait().ok());
}

struct ThrowsInTimer : Flushed {
  void process(const Visit&, Ctx& ctx, Collector<Total>&) { ctx.timers().set_event_time(ctx.time()); }
};

TEST(KeyedProcess, ATimerForNoTimeSaysWhatToDo) {
  Directory directory;
  Collected<Flushed::Total> out;
  Job job{"no-time"};
  job.checkpoint({.directory = directory.path}).restart({.strategy = RestartOptions::Strategy::kNone});
  job.from(splits<Visit>({.splits = 1, .count = 10}, [](int split, int n, Arena&) { return Visit{n, split, n}; }), "in")
      .key_by(&Visit::user)
      .process("timed", ThrowsInTimer())
      .to(out.sink());
  const Status ended = run_to_end(std::move(job));
  EXPECT_FALSE(ended.ok());
  EXPECT_NE(ended.message().find("no event time"), std::string_view::npos) << ended.message();
  EXPECT_NE(ended.message().find("\"timed\""), std::string_view::npos) << ended.message();
}

TEST(KeyedProcess, ANullKeyIsRefusedAndViewsAreKeys) {
  for (const bool null : {false, true}) {
    struct Count : KeyedProcessFunction<std::string, Record, int> {
      void declare(StateSet& states) { states.add("count", count_); }
      void process(const Record&, Ctx& ctx, Collector<int>& out) { out.emit(++ctx.of(count_).value()); }
      ValueState<std::string, int> count_;
    };
    Directory directory;
    Collected<int> out;
    Job job{"keys"};
    job.checkpoint({.directory = directory.path}).restart({.strategy = RestartOptions::Strategy::kNone});
    job.from(splits<Record>({.splits = 1, .count = 10},
                            [null](int, int n, Arena& arena) {
                              Record record;
                              if (!null || n != 5) record.key = Bytes(arena.copy(std::string_view("key-12").substr(0, n % 2 + 5)));
                              return record;
                            }), "in")
        .key_by([](const Record& record) { return record.key; })
        .process("count", Count())
        .to(out.sink());
    const Status ended = run_to_end(std::move(job));
    EXPECT_EQ(ended.ok(), !null);
    EXPECT_EQ(ended.message().find("filter such records out") != std::string_view::npos, null) << ended.message();
    if (null) continue;
    EXPECT_EQ(out.take(), (std::vector<int>{1, 1, 2, 2, 3, 3, 4, 4, 5, 5}));
  }
}

}  // namespace
}  // namespace sluice
