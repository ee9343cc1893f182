#include <sluice/engine/keyed_state.h>

#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <sluice/io/base/random.h>

namespace sluice {
namespace {

using namespace std::chrono_literals;
using Model = std::map<std::string, std::uint64_t>;

EventTime at(EventDuration since) { return EventTime(since); }

template <class Container>
auto all_of(const Container& state) {
  std::map<std::string, std::remove_cvref_t<decltype(*const_cast<Container&>(state).find(""))>> all;
  state.for_each([&](const std::string& key, const auto& kept) { EXPECT_TRUE(all.emplace(key, kept).second); });
  return all;
}

std::string key_of(Random& random, std::uint64_t keys) {
  const std::uint64_t number = random.below(keys);
  // Some fit into a string object, some do not.
  return (number % 3 == 0 ? "a-key-too-long-for-the-small-buffer-" : "k") + std::to_string(number);
}

// Goal: whatever is done to it, a container is a map. Method: random steps beside std::map.
TEST(ValueState, BehavesLikeAMap) {
  for (const std::uint64_t keys : {10, 1'000, 50'000}) {
    Random random(keys);
    ValueState<std::string, std::uint64_t> state;
    Model model;
    for (int step = 0; step < 60'000; ++step) {
      const std::string key = key_of(random, keys);
      switch (random.below(5)) {
        case 0:
          ASSERT_EQ(state.erase(key), model.erase(key) == 1);
          break;
        case 1: {
          const std::uint64_t* found = state.find(key);
          const auto expected = model.find(key);
          ASSERT_EQ(found != nullptr, expected != model.end());
          if (found != nullptr) { ASSERT_EQ(*found, expected->second); }
          break;
        }
        case 2:
          state.set(key, static_cast<std::uint64_t>(step));
          model[key] = static_cast<std::uint64_t>(step);
          break;
        default:
          ASSERT_EQ(++state[key], ++model[key]);
      }
      ASSERT_EQ(state.size(), model.size());
    }
    EXPECT_EQ(all_of(state), model);
    state.clear();
    EXPECT_EQ(state.size(), 0u);
  }
}

// Goal: the first snapshot and then only changes give the state at every later barrier, though some epochs fail, and are confirmed
// late. Method: random steps and barriers; a second container takes what a store would have kept.
TEST(ValueState, ChangesSinceTheLastConfirmedBarrierAreAllThatIsNeeded) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    const std::uint64_t keys = seed % 2 == 0 ? 300 : 20'000;
    ValueState<std::string, std::uint64_t> state;
    std::vector<std::string> kept(1);
    state.save(kept[0]);
    for (std::uint64_t epoch = 1; epoch <= 20; ++epoch) {
      const std::uint64_t steps = random.below(keys);
      for (std::uint64_t step = 0; step < steps; ++step) {
        const std::string key = key_of(random, keys);
        if (random.below(3) == 0) state.erase(key);
        else state[key] += step + 1;
      }
      if (random.below(10) == 0) state.clear();
      state.mark(Epoch(epoch));
      std::string changes;
      state.save_changes(changes);
      if (random.below(3) == 0) continue;  // This epoch fails: nothing of it is kept.
      state.confirm(Epoch(epoch));
      kept.push_back(changes);
      ValueState<std::string, std::uint64_t> restored;
      for (const std::string& bytes : kept) ASSERT_TRUE(restored.restore(bytes, Context()).ok());
      ASSERT_EQ(all_of(restored), all_of(state)) << "seed " << seed << ", epoch " << epoch;
    }
  }
}

TEST(ValueState, ChangesCostWhatChanged) {
  ValueState<std::uint64_t, std::uint64_t> state;
  for (std::uint64_t key = 0; key < 100'000; ++key) state[key] = key;
  state.mark(Epoch(1));
  std::string all;
  state.save_changes(all);
  state.confirm(Epoch(1));
  for (int times = 0; times < 1'000; ++times) {
    for (const std::uint64_t key : {5, 77, 4'711}) ++state[key];
  }
  const std::uint64_t* looked_at = state.find(9);
  ASSERT_NE(looked_at, nullptr);
  state.mark(Epoch(2));
  std::string changes;
  state.save_changes(changes);
  EXPECT_GT(all.size(), 1'600'000u);
  EXPECT_LT(changes.size(), 300u) << "three entries and the index of at most three groups";
}

// Goal: a confirmation that comes after the next barrier loses nothing of that one.
TEST(ValueState, ALateConfirmationKeepsWhatTheNextBarrierMarked) {
  ValueState<std::string, std::uint64_t> state, restored;
  state["a"] = 1;
  state.mark(Epoch(1));
  std::string first, second;
  state.save_changes(first);
  state["b"] = 2;
  state.mark(Epoch(2));
  state.confirm(Epoch(1));
  state.save_changes(second);
  ASSERT_TRUE(restored.restore(first, Context()).ok());
  ASSERT_TRUE(restored.restore(second, Context()).ok());
  EXPECT_EQ(all_of(restored), (Model{{"a", 1}, {"b", 2}}));
}

// Goal: what comes and goes between two barriers does not pile up in the list of what changed.
TEST(ValueState, AnEpochOfComingAndGoingKeysLeavesLittle) {
  ValueState<std::uint64_t, std::uint64_t> state;
  for (std::uint64_t key = 0; key < 1'000'000; ++key) {
    state[key] = 1;
    state.erase(key);
  }
  std::string changes;
  state.save_changes(changes);
  EXPECT_LT(changes.size(), 128u * (35 + 70 * 9));
}

TEST(KeyedListState, KeepsTheOrderOfComing) {
  KeyedListState<std::string, int> state;
  for (int i = 0; i < 100; ++i) state.add("k" + std::to_string(i % 3), i);
  ASSERT_NE(state.find("k1"), nullptr);
  EXPECT_EQ(state.find("k1")->size(), 33u);
  EXPECT_EQ(state.find("k1")->at(2), 7);
  EXPECT_EQ(state.find("other"), nullptr);
  state.set("k1", {1, 2});
  EXPECT_EQ(*state.find("k1"), (std::vector{1, 2}));
}

TEST(MapState, BehavesLikeAMapOfMapsAndForgetsEmptyOnes) {
  Random random(3);
  MapState<std::string, std::uint64_t, int> state;
  std::map<std::string, std::map<std::uint64_t, int, std::less<>>> model;
  for (int step = 0; step < 50'000; ++step) {
    const std::string key = key_of(random, 50);
    const std::uint64_t inner = random.below(6);
    if (random.below(2) == 0) {
      bool there = false;
      if (const auto found = model.find(key); found != model.end()) {
        there = found->second.erase(inner) == 1;
        if (found->second.empty()) model.erase(found);
      }
      ASSERT_EQ(state.erase(key, inner), there);
    } else if (random.below(2) == 0) {
      state.put(key, inner, step);
      model[key][inner] = step;
    } else {
      ASSERT_EQ(++state.at(key, inner), ++model[key][inner]);
    }
    ASSERT_EQ(state.size(), model.size());
    ASSERT_EQ(state.find(key, inner) != nullptr, model.contains(key) && model[key].contains(inner));
  }
  EXPECT_EQ(all_of(state), model);
}

TEST(ReducingState, TakesTheFirstAsItIs) {
  const auto less = [](int a, int b) { return std::min(a, b); };
  ReducingState<std::string, int, decltype(less)> state(less);
  EXPECT_EQ(state.add("a", 7), 7) << "not the least of 7 and 0";
  EXPECT_EQ(state.add("a", 9), 7);
  EXPECT_EQ(state.add("a", 3), 3);
  EXPECT_EQ(*state.find("a"), 3);
  EXPECT_EQ(state.find("b"), nullptr);
}

struct Average {
  using Accumulator = std::pair<double, std::uint64_t>;
  void add(Accumulator& sum, double value) const {
    sum.first += value;
    ++sum.second;
  }
  [[nodiscard]] double result(const Accumulator& sum) const { return sum.first / static_cast<double>(sum.second); }
};
TEST(AggregatingState, KeepsTheAccumulatorOnly) {
  AggregatingState<std::string, Average> state;
  for (const double value : {1.0, 2.0, 6.0}) state.add("a", value);
  EXPECT_EQ(state.result("a"), 3.0);
  EXPECT_EQ(state.result("b"), std::nullopt);
  EXPECT_EQ(state.type(), "aggregating<string,tuple<f64,u64>>");
}

TEST(KeyedState, TuplesAndWindowsOfAKeyAreKeys) {
  ValueState<std::tuple<std::string, int>, int> tuples;
  ++tuples[std::tuple("a", 1)];
  ++tuples[std::tuple("a", 2)];
  ++tuples[std::tuple("a", 1)];
  EXPECT_EQ(*tuples.find(std::tuple("a", 1)), 2);
  ValueState<WindowKey<std::string, EventTime>, int> windows;
  ++windows[{"a", at(1s)}];
  ++windows[{"a", at(2s)}];
  EXPECT_EQ(windows.size(), 2u);
}

// --- Time-to-live ---

TEST(TimeToLive, AnEntryEndsWhenItWasNotWrittenForThatLong) {
  ValueState<std::string, int> state({.after = 10s});
  state["before-any-time"] = 1;
  state.advance(at(1'000s));
  state["written"] = 1;
  EXPECT_NE(state.find("before-any-time"), nullptr);
  state.advance(at(1'009'999ms));
  EXPECT_NE(state.find("written"), nullptr) << "looking does not count";
  ++state["again"];
  state.advance(at(1'010s));
  EXPECT_EQ(state.find("written"), nullptr);
  EXPECT_EQ(state.find("before-any-time"), nullptr);
  EXPECT_NE(state.find("again"), nullptr);
  EXPECT_EQ(++state["written"], 1) << "it begins anew";
  EXPECT_FALSE(state.erase("before-any-time")) << "it was no longer there";
}

// Goal: what is found does not hang on when a watermark comes between two records.
TEST(TimeToLive, GoesByTheTimeOfTheRecordInHand) {
  ValueState<std::string, int> state({.after = 1h});
  EventTime time = at(0s);
  state.follow(&time);
  const auto use = [&](const std::string& key, EventTime when) {
    time = when;
    return ++state[key];
  };
  use("night", at(19h + 30min));
  state.advance(at(20h));
  // A silence, and then several records before the watermark moves.
  EXPECT_EQ(use("night", at(32h)), 1) << "twelve hours later it is another night";
  EXPECT_EQ(use("day", at(32h)), 1);
  EXPECT_EQ(use("day", at(32h + 1min)), 2);
  EXPECT_EQ(use("day", at(31h + 59min)), 3) << "a late one finds it, and does not make it older";
  state.advance(at(32h + 1min));
  EXPECT_EQ(use("day", at(32h + 1min)), 4);
  time = at(33h);
  EXPECT_NE(state.find("day"), nullptr);
  time = at(33h + 1min);
  EXPECT_EQ(state.find("day"), nullptr);
}

TEST(TimeToLive, YearsMayPassBetweenTwoWatermarks) {
  ValueState<std::string, int> state({.after = 10s});
  EventTime time = at(1s);
  state.follow(&time);
  state["old"] = 1;
  state.advance(at(2s));
  time = at(24h * 400);
  EXPECT_EQ(state.find("old"), nullptr);
  state["new"] = 1;
  state.advance(at(24h * 400));
  EXPECT_EQ(state.size(), 1u) << "what is too old is swept, what was written meanwhile is not";
  EXPECT_NE(state.find("new"), nullptr);
  state.advance(at(24h * 400 + 10s));
  time = kNoEventTime;
  EXPECT_EQ(state.find("new"), nullptr);
}

TEST(TimeToLive, TimesOutliveARestartBeforeAnyWatermark) {
  ValueState<std::string, int> state({.after = 10s}), restored({.after = 10s});
  EventTime time = at(100s);
  for (auto* one : {&state, &restored}) {
    one->open({});
    one->follow(&time);
  }
  state["a"] = 1;
  time = at(105s);
  state["b"] = 1;
  std::string bytes;
  state.save(bytes);
  ASSERT_TRUE(restored.restore(bytes, {}).ok());
  time = at(110s);
  EXPECT_EQ(restored.find("a"), nullptr);
  EXPECT_NE(restored.find("b"), nullptr);
}

TEST(TimeToLive, LookingCountsWhenAskedFor) {
  ValueState<std::string, int> state({.after = 10s, .refresh = TimeToLive::Refresh::kRead});
  state.advance(at(0s));
  state["a"] = 1;
  for (int i = 1; i < 10; ++i) {
    state.advance(at(i * 9s));
    ASSERT_NE(state.find("a"), nullptr);
  }
  state.advance(at(91s + 10s));
  EXPECT_EQ(state.find("a"), nullptr);
}

// Goal: keys never seen again leave memory, and the next checkpoint, by themselves.
TEST(TimeToLive, ExpiredEntriesAreSwept) {
  ValueState<std::uint64_t, std::uint64_t> state({.after = 10s});
  std::uint64_t key = 0;
  std::size_t most = 0;
  for (EventTime now = at(0s); now < at(200s); now += 50ms) {
    state.advance(now);
    for (int i = 0; i < 10; ++i) ++state[key++];
    most = std::max(most, state.size());
  }
  EXPECT_LT(most, 2u * 10 * 200 + 200) << "what two times-to-live bring";
  state.advance(at(10'000s));
  EXPECT_EQ(state.size(), 0u);
}

TEST(TimeToLive, TheEndOfTimeExpiresNothing) {
  ValueState<std::string, int> state({.after = 1ms});
  state.advance(at(-5s));
  state["a"] = 1;
  state.advance(EventTime::max());
  EXPECT_NE(state.find("a"), nullptr);
}

// Goal: a crash does not make entries younger, and what was swept before it does not come back.
TEST(TimeToLive, GoesOnBehindARestore) {
  ValueState<std::string, int> state({.after = 10s});
  state.advance(at(100s));
  state["old"] = 1;
  state.advance(at(105s));
  state["young"] = 1;
  std::string bytes;
  state.save(bytes);
  ValueState<std::string, int> restored({.after = 10s}), for_ever, shorter({.after = 3s});
  ASSERT_TRUE(restored.restore(bytes, Context()).ok());
  ASSERT_TRUE(for_ever.restore(bytes, Context()).ok());
  ASSERT_TRUE(shorter.restore(bytes, Context()).ok());
  EXPECT_EQ(for_ever.size(), 2u);
  EXPECT_EQ(shorter.size(), 1u);
  restored.advance(at(111s));
  EXPECT_EQ(restored.find("old"), nullptr);
  EXPECT_NE(restored.find("young"), nullptr);
  restored.advance(at(115s));
  EXPECT_EQ(restored.find("young"), nullptr);
  // A state that had no time yet: what is restored is as old as the first time it is told.
  bytes.clear();
  for_ever.save(bytes);
  ValueState<std::string, int> given({.after = 10s});
  ASSERT_TRUE(given.restore(bytes, Context()).ok());
  given.advance(at(1'000s));
  EXPECT_EQ(all_of(given).size(), 2u);
}

}  // namespace
}  // namespace sluice
