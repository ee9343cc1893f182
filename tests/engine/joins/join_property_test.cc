// Goal: the rows of interval and window joins are those of a nested loop over both inputs, each once, whatever the order in which records
// come, the watermark moves, and the job restarts with other numbers of shards.
// Method: random out-of-order inputs from seeds; the reference decides by the same rules who is late.
#include "joins_fixture.h"

#include <algorithm>

#include <sluice/io/base/random.h>

namespace sluice {
namespace {

using namespace joins_test;

struct Fed {
  bool left;
  Row item;
  EventTime time;
  EventTime watermark;  // When it came.
};

struct Plan {
  std::uint64_t seed;
  std::uint16_t shards;
  bool late;      // The watermark runs ahead of some.
  bool restarts;
};

/// Feeds random records to `join`; what was fed, in order.
std::vector<Fed> feed(Harness<Row, Row>& join, const Plan& plan) {
  Random random(plan.seed);
  const std::uint64_t keys = 1 + random.below(12);
  const std::int64_t disorder = 1 + static_cast<std::int64_t>(random.below(6'000));
  const std::int64_t step = 1 + static_cast<std::int64_t>(random.below(400));
  std::vector<std::pair<std::int64_t, Fed>> order;
  std::int64_t ms = -20'000;  // Before 1970 too.
  for (std::int64_t id = 1; id <= 300; ++id) {
    ms += static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(step)));
    const Row item{static_cast<std::int64_t>(random.below(keys)), id};
    const std::int64_t comes = ms + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(disorder)));
    order.push_back({comes, {random.below(2) == 0, item, at(ms), EventTime::min()}});
  }
  std::ranges::stable_sort(order, {}, [](const auto& one) { return one.first; });
  EventTime watermark = EventTime::min();
  std::vector<Fed> fed;
  for (std::size_t i = 0; i < order.size(); ++i) {
    Fed& one = order[i].second;
    one.watermark = watermark;
    fed.push_back(one);
    const Status taken = one.left ? join.left(one.item, one.time) : join.right(one.item, one.time);
    EXPECT_TRUE(taken.ok()) << taken.to_string();
    if (random.below(3) == 0) {
      EventTime next = EventTime::max();
      for (std::size_t k = i + 1; k < order.size(); ++k) next = std::min(next, order[k].second.time);
      if (plan.late || next == EventTime::max()) next = at(order[i].first - static_cast<std::int64_t>(random.below(2'000)));
      if (next > watermark) {
        watermark = next;
        EXPECT_TRUE(join.watermark(watermark).ok());
      }
    }
    if (plan.restarts && random.below(25) == 0) join.restart(static_cast<std::uint16_t>(1 + random.below(8)));
  }
  EXPECT_TRUE(join.end().ok());
  return fed;
}

void expect_same(const Harness<Row, Row>& join, const std::map<Pair, int>& expected, const Plan& plan, const std::string& what) {
  EXPECT_EQ(join.counted(), expected) << what << ", seed " << plan.seed << ", shards " << plan.shards;
  for (const Made& result : join.results) {
    EXPECT_GE(result.time, result.from) << "late for what follows: " << what << ", seed " << plan.seed;
  }
}

template <JoinKind kKind>
void check_interval(const Plan& plan, std::int64_t lower, std::int64_t upper) {
  Harness<Row, Row> join(interval_join<kKind>(EventDuration(lower), EventDuration(upper)), plan.shards);
  std::vector<Fed> fed = feed(join, plan);
  const std::size_t all = fed.size();
  std::erase_if(fed, [](const Fed& one) { return one.time < one.watermark; });
  EXPECT_EQ(join.late(), all - fed.size());
  if (!plan.late) {
    EXPECT_EQ(join.late(), 0u);
  }
  std::map<Pair, int> expected;
  for (const Fed& one : fed) {
    bool matched = false;
    for (const Fed& other : fed) {
      if (other.left == one.left || other.item.key != one.item.key) continue;
      const auto apart = one.left ? other.time - one.time : one.time - other.time;
      if (apart < EventDuration(lower) || apart > EventDuration(upper)) continue;
      matched = true;
      if (one.left && kKind != JoinKind::kSemi) ++expected[{one.item.id, other.item.id}];
    }
    if (matched && one.left && kKind == JoinKind::kSemi) ++expected[{one.item.id, 0}];
    if (matched) continue;
    if (one.left && internal::keeps_left(kKind)) ++expected[{one.item.id, 0}];
    if (!one.left && internal::keeps_right(kKind)) ++expected[{0, one.item.id}];
  }
  expect_same(join, expected, plan, fmt::format("{} {}..{}", internal::name_of(kKind), lower, upper));
}

template <JoinKind kKind>
void check_window(const Plan& plan, std::int64_t size, std::int64_t slide, std::int64_t offset) {
  Harness<Row, Row> join(window_join<kKind>(EventDuration(size), EventDuration(slide), EventDuration(offset)), plan.shards);
  const std::vector<Fed> fed = feed(join, plan);
  std::map<Pair, int> expected;
  for (std::int64_t start = -100'000 / slide * slide + offset; start < 200'000; start += slide) {
    const auto in = [&](const Fed& one) {
      return one.time >= at(start) && one.time < at(start + size) && one.watermark < at(start + size);
    };
    for (const Fed& one : fed) {
      if (!in(one)) continue;
      bool matched = false;
      for (const Fed& other : fed) {
        if (!in(other) || other.left == one.left || other.item.key != one.item.key) continue;
        matched = true;
        if (one.left && kKind != JoinKind::kSemi) ++expected[{one.item.id, other.item.id}];
      }
      if (matched && one.left && kKind == JoinKind::kSemi) ++expected[{one.item.id, 0}];
      if (matched) continue;
      if (one.left && internal::keeps_left(kKind)) ++expected[{one.item.id, 0}];
      if (!one.left && internal::keeps_right(kKind)) ++expected[{0, one.item.id}];
    }
  }
  expect_same(join, expected, plan, fmt::format("{} window {} by {}", internal::name_of(kKind), size, slide));
}

class JoinProperty : public testing::TestWithParam<std::uint16_t> {};
INSTANTIATE_TEST_SUITE_P(Shards, JoinProperty, testing::Values(1, 8));

TEST_P(JoinProperty, IntervalJoinsGiveTheRowsOfANestedLoop) {
  const std::pair<std::int64_t, std::int64_t> bounds[] = {{-3'000, 3'000}, {0, 0}, {-5'000, -1'000}, {700, 2'500}, {-1, 0}, {0, 10'000}};
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const auto [lower, upper] = bounds[seed % std::size(bounds)];
    const Plan plan{seed, GetParam(), seed % 3 == 0, seed % 2 == 0};
    check_interval<JoinKind::kInner>(plan, lower, upper);
    check_interval<JoinKind::kLeft>(plan, lower, upper);
    check_interval<JoinKind::kRight>(plan, lower, upper);
    check_interval<JoinKind::kFull>(plan, lower, upper);
    check_interval<JoinKind::kSemi>(plan, lower, upper);
  }
}

TEST_P(JoinProperty, WindowJoinsGiveTheRowsOfANestedLoop) {
  const std::tuple<std::int64_t, std::int64_t, std::int64_t> windows[] = {
      {10'000, 10'000, 0}, {1'000, 1'000, 300}, {10'000, 3'000, 0}, {9'000, 3'000, 1'000}, {5'000, 4'999, 17}};
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto [size, slide, offset] = windows[seed % std::size(windows)];
    const Plan plan{seed, GetParam(), seed % 3 == 0, seed % 2 == 0};
    check_window<JoinKind::kInner>(plan, size, slide, offset);
    check_window<JoinKind::kLeft>(plan, size, slide, offset);
    check_window<JoinKind::kRight>(plan, size, slide, offset);
    check_window<JoinKind::kFull>(plan, size, slide, offset);
    check_window<JoinKind::kSemi>(plan, size, slide, offset);
  }
}

}  // namespace
}  // namespace sluice
