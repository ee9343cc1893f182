// Goal: all who hear the same of several inputs agree on the watermark at a barrier, in whatever order it reached them; it never moves
// back, and the end of time comes with the last input's.
// Method: random stories of inputs, told in random orders; and the corners by hand.
#include <sluice/engine/internal/merged_watermark.h>

#include <random>
#include <set>

#include <gtest/gtest.h>

namespace sluice::internal {
namespace {

EventTime at(std::int64_t ms) { return EventTime(EventDuration(ms)); }
Control watermark(std::int64_t ms) { return {Control::Kind::kWatermark, Epoch{0}, at(ms)}; }
Control end_of_time() { return {Control::Kind::kWatermark, Epoch{0}, EventTime::max()}; }
Control say(Control::Kind kind) { return {kind, Epoch{0}, kNoEventTime}; }

struct Two {
  MergedWatermark merged;
  Two() {
    merged.add_input();
    merged.add_input();
  }
  std::optional<EventTime> take(std::size_t i, Control control) { return merged.take(i, control).watermark; }
};

TEST(MergedWatermark, IsTheMinimumOfTheInputsAndNeverMovesBack) {
  Two two;
  EXPECT_EQ(two.take(0, watermark(10)), std::nullopt);
  EXPECT_EQ(two.take(1, watermark(5)), at(5));
  EXPECT_EQ(two.take(1, watermark(20)), at(10));
  EXPECT_EQ(two.take(0, watermark(8)), std::nullopt);
  EXPECT_EQ(two.merged.watermark(), at(10));
}

TEST(MergedWatermark, AnIdleInputIsLeftOutAndOneThatReturnsHoldsFromTheNextBarrierOn) {
  Two two;
  (void)two.take(0, watermark(10));
  (void)two.take(1, watermark(5));
  EXPECT_EQ(two.take(1, say(Control::Kind::kIdle)), at(10));
  EXPECT_EQ(two.take(1, say(Control::Kind::kActive)), std::nullopt);
  EXPECT_EQ(two.take(0, watermark(12)), at(12));
  two.merged.pass_barrier();
  EXPECT_EQ(two.take(0, watermark(30)), std::nullopt);
  EXPECT_EQ(two.take(1, watermark(20)), at(20));
}

TEST(MergedWatermark, AllIdleIsIdleAndNotTheEndOfTime) {
  Two two;
  (void)two.take(0, watermark(10));
  (void)two.take(1, watermark(5));
  EXPECT_EQ(two.merged.take(0, say(Control::Kind::kIdle)).idle, std::nullopt);
  const MergedWatermark::Said said = two.merged.take(1, say(Control::Kind::kIdle));
  EXPECT_EQ(said.watermark, at(10));  // As if the other had been the last.
  EXPECT_EQ(said.idle, true);
  EXPECT_EQ(two.merged.take(0, say(Control::Kind::kActive)).idle, false);
  EXPECT_EQ(two.merged.watermark(), at(10));
}

TEST(MergedWatermark, TheEndOfTimeComesWithTheLastInputs) {
  Two two;
  EXPECT_EQ(two.take(0, end_of_time()), std::nullopt);
  EXPECT_EQ(two.take(0, say(Control::Kind::kEnd)), std::nullopt);
  EXPECT_EQ(two.take(1, watermark(5)), at(5));
  EXPECT_EQ(two.take(1, say(Control::Kind::kIdle)), std::nullopt);  // Silent is not ended.
  EXPECT_EQ(two.take(1, say(Control::Kind::kActive)), std::nullopt);
  EXPECT_EQ(two.take(1, end_of_time()), EventTime::max());
}

TEST(MergedWatermark, AnInputWithoutTimeIsDoneWithItsEnd) {
  Two two;
  EXPECT_EQ(two.take(0, end_of_time()), std::nullopt);
  EXPECT_EQ(two.take(1, say(Control::Kind::kEnd)), EventTime::max());
}

/// What one input says between barriers.
using Story = std::vector<std::vector<Control>>;

Story story(std::mt19937& random, std::size_t epochs) {
  Story told(epochs);
  std::int64_t now = 0;
  bool idle = false, ended = false;
  for (auto& epoch : told) {
    for (std::size_t n = random() % 6; n > 0 && !ended; --n) {
      switch (random() % 8) {
        case 0:
        case 1:
        case 2:
          idle = !idle;
          epoch.push_back(say(idle ? Control::Kind::kIdle : Control::Kind::kActive));
          break;
        case 3:
          if (random() % 8 != 0) break;
          ended = true;
          epoch.push_back(end_of_time());
          break;
        default:
          now += static_cast<std::int64_t>(random() % 50);
          epoch.push_back(watermark(now));
      }
    }
  }
  return told;
}

TEST(MergedWatermark, AllAgreeAtEveryBarrierWhateverCameFirst) {
  std::mt19937 random(20261129);
  std::size_t differed_between = 0;
  for (int round = 0; round < 500; ++round) {
    const std::size_t inputs = 1 + random() % 5, epochs = 6;
    std::vector<Story> stories;
    for (std::size_t i = 0; i < inputs; ++i) stories.push_back(story(random, epochs));
    std::vector<EventTime> first_run;
    for (int run = 0; run < 10; ++run) {
      MergedWatermark merged;
      for (std::size_t i = 0; i < inputs; ++i) merged.add_input();
      std::vector<EventTime> at_barriers;
      EventTime last = EventTime::min();
      for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
        std::vector<std::size_t> next(inputs, 0), left;
        for (std::size_t i = 0; i < inputs; ++i) left.insert(left.end(), stories[i][epoch].size(), i);
        std::shuffle(left.begin(), left.end(), random);
        for (const std::size_t i : left) {
          const auto said = merged.take(i, stories[i][epoch][next[i]++]);
          if (!said.watermark) continue;
          ASSERT_GT(*said.watermark, last);
          last = *said.watermark;
          ++differed_between;
        }
        at_barriers.push_back(merged.watermark());
        merged.pass_barrier();
      }
      if (run == 0) first_run = at_barriers;
      ASSERT_EQ(at_barriers, first_run) << "round " << round;
    }
  }
  EXPECT_GT(differed_between, 1'000u);
}

}  // namespace
}  // namespace sluice::internal
