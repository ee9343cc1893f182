// Goal: deduplicate() and running() are right over stops and shards, and what they keep is bounded by what they say.
// Method: the operators of a pipeline by hand; random streams against a plain reference.
#include <sluice/engine/operators/deduplicate.h>
#include <sluice/engine/operators/running.h>
#include <sluice/io/base/random.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

EventTime at(std::int64_t ms) { return EventTime(EventDuration(ms)); }

/// One operator, which is stopped and started on one shard.
template <class T, class Out>
class Rig {
 public:
  using Op = Operator<Keyed<std::string, T>, Out>;
  explicit Rig(std::function<std::unique_ptr<Op>()> make) : make_(std::move(make)) { start({}); }
  ~Rig() { op_->close(); }
  Status send(const std::string& key, std::int64_t time, T value = {}) {
    Batch<Keyed<std::string, T>> batch;
    batch.records().push_back({key, std::move(value), KeyGroups().of<std::string>(key)});
    if (time != kUntimed) batch.times().push_back(at(time));
    Collector<Out> out(batch);
    Status processed = op_->process(batch, out);
    for (auto& made : out.take()) {
      for (const Out& one : made) results.push_back(one);
      for (const EventTime one : made.times()) times.push_back(one.time_since_epoch().count());
    }
    return processed;
  }
  void watermark(std::int64_t time) {
    Collector<Out> out;
    ASSERT_TRUE(op_->on_watermark(at(time), out).ok());
  }
  void restart() {
    std::vector<std::string> saved;
    for (const auto& [name, state] : states_.all()) state->save(saved.emplace_back());
    op_->close();
    start(saved);
  }
  static constexpr std::int64_t kUntimed = -1'000'000'000'000;
  std::vector<Out> results;
  std::vector<std::int64_t> times;
  Metrics metrics;
  Status opened;

 private:
  void start(const std::vector<std::string>& saved) {
    Context context;
    context.operator_id = "running";
    context.metrics = &metrics;
    states_ = {};
    op_ = make_();
    op_->declare(states_);
    for (std::size_t i = 0; i < states_.all().size(); ++i) {
      states_.all()[i].second->open(context);
      if (saved.empty()) continue;
      ASSERT_TRUE(states_.all()[i].second->restore(saved[i], context).ok());
    }
    opened = op_->open(context);
  }
  const std::function<std::unique_ptr<Op>()> make_;
  StateSet states_;
  std::unique_ptr<Op> op_;
};

Rig<int, int> dedup(DeduplicateOptions options = {}) {
  return Rig<int, int>([options] { return std::make_unique<internal::Deduplicate<std::string, int>>(options); });
}

TEST(Deduplicate, TheFirstOfEachKeyGoesOn) {
  auto once = dedup();
  for (const std::string key : {"a", "b", "a", "a", "c"}) ASSERT_TRUE(once.send(key, once.kUntimed, 1).ok());
  once.restart();
  for (const std::string key : {"c", "d"}) ASSERT_TRUE(once.send(key, once.kUntimed, 2).ok());
  EXPECT_THAT(once.results, ElementsAre(1, 1, 1, 2));
  EXPECT_EQ(once.metrics.value("sluice_operator_duplicates_total"), 3u);
}

TEST(Deduplicate, WithinAStretchOfEventTime) {
  auto once = dedup({.within = 10s});
  ASSERT_TRUE(once.send("k", 0, 1).ok());
  once.watermark(0);
  ASSERT_TRUE(once.send("k", 9'999, 2).ok());   // A copy,
  ASSERT_TRUE(once.send("k", -9'999, 3).ok());  // and one from before.
  once.watermark(9'999);
  once.restart();
  ASSERT_TRUE(once.send("k", 10'000, 4).ok());
  ASSERT_TRUE(once.send("k", 19'000, 5).ok());
  ASSERT_TRUE(once.send("k", 20'000, 6).ok());
  EXPECT_THAT(once.results, ElementsAre(1, 4, 6));
  EXPECT_THAT(once.times, ElementsAre(0, 10'000, 20'000));
  once.watermark(1'000'000);
  ASSERT_TRUE(once.send("k", 20'000, 7).ok());  // Whether it is one nobody knows any more: late.
  EXPECT_EQ(once.results.size(), 3u);
  EXPECT_EQ(once.metrics.value("sluice_operator_late_dropped_total"), 1u);
  EXPECT_EQ(once.send("k", once.kUntimed).code(), Code::kInvalid);
}

// Goal: what is kept is forgotten, and no copy of an on-time record ever passes.
TEST(Deduplicate, IsTheReference) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    auto once = dedup({.within = 100ms, .keys_max = 100});
    std::map<std::string, std::vector<std::int64_t>> kept;
    std::vector<int> expected;
    std::int64_t now = -5'000;
    for (int n = 0; n < 5'000; ++n) {
      now += static_cast<std::int64_t>(random.below(20));
      const std::string key = std::to_string(random.below(10));
      const std::int64_t time = now - static_cast<std::int64_t>(random.below(50));  // Never behind the watermark.
      auto& before = kept[key];
      if (std::ranges::none_of(before, [&](std::int64_t other) { return std::abs(other - time) < 100; })) {
        before.push_back(time);
        expected.push_back(n);
      }
      ASSERT_TRUE(once.send(key, time, n).ok());
      if (random.below(3) == 0) once.watermark(now - 50);
      if (random.below(100) == 0) once.restart();
    }
    ASSERT_EQ(once.results, expected) << "seed " << seed;
  }
}

TEST(Deduplicate, TooManyKeysNameTheWayOut) {
  auto once = dedup({.keys_max = 3});
  for (const std::string key : {"a", "b", "c"}) EXPECT_TRUE(once.send(key, 0).ok());
  const Status status = once.send("d", 0);
  EXPECT_EQ(status.code(), Code::kExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("raise keys_max"));
}

struct Bid {
  std::int64_t bidder = 0, price = 0;
  auto operator<=>(const Bid&) const = default;
};
BOOST_DESCRIBE_STRUCT(Bid, (), (bidder, price))

TEST(Running, TheBestFewAreSaidWheneverTheyChange) {
  const auto top = internal::aggregate_for<Bid>(top_n(2, &Bid::price));
  using Op = internal::Running<std::string, Bid, std::decay_t<decltype(top)>>;
  Rig<Bid, Op::Out> best([top] { return std::make_unique<Op>(top, RunningOptions{}); });
  ASSERT_TRUE(best.send("a", 1, {1, 10}).ok());
  ASSERT_TRUE(best.send("a", 2, {2, 30}).ok());
  best.restart();
  ASSERT_TRUE(best.send("a", 3, {3, 5}).ok());  // Nothing changes.
  ASSERT_TRUE(best.send("b", 4, {4, 1}).ok());
  ASSERT_TRUE(best.send("a", 5, {5, 20}).ok());
  ASSERT_EQ(best.results.size(), 4u);
  EXPECT_THAT(best.results[1].value, ElementsAre(Bid{2, 30}, Bid{1, 10}));
  EXPECT_EQ(best.results[2].key, "b");
  EXPECT_THAT(best.results[3].value, ElementsAre(Bid{2, 30}, Bid{5, 20}));
  EXPECT_THAT(best.times, ElementsAre(1, 2, 4, 5));
}

TEST(Running, DistinctValuesAreCountedOnceAndLimited) {
  const auto distinct = internal::aggregate_for<int>(count_distinct());
  using Op = internal::Running<std::string, int, std::decay_t<decltype(distinct)>>;
  Rig<int, Op::Out> users([distinct] { return std::make_unique<Op>(distinct, RunningOptions{.keys_max = 5}); });
  for (const int user : {7, 7, 8, 7, 9}) ASSERT_TRUE(users.send("page", 0, user).ok());
  users.restart();
  ASSERT_TRUE(users.opened.ok());
  ASSERT_TRUE(users.send("page", 0, 9).ok());
  ASSERT_TRUE(users.send("page", 0, 10).ok());
  std::vector<std::uint64_t> said;
  for (const auto& one : users.results) said.push_back(one.value);
  EXPECT_THAT(said, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(users.send("page", 0, 11).code(), Code::kExhausted);
}

}  // namespace
}  // namespace sluice
