// Goal: whatever the stream (disorder, pauses, times before 1970, late records), the windows, the number of shards and the stops in
//       between, rows and late records are those of a plain reference.
// Method: random streams from a seed; the reference keeps every value of every window in a map and looks at all of them each time.
#include "window_fixture.h"

#include <sluice/io/base/random.h>

#include <map>
#include <set>

namespace sluice {
namespace {

using namespace std::chrono_literals;
using namespace window_test;

using Values = std::vector<std::int64_t>;

/// Tumbling and sliding windows; `rows` is every result in the order in which they were made.
template <class R>
struct SlicedReference {
  std::int64_t size, slide, offset, lateness;
  std::function<R(const Values&)> result;
  std::int64_t watermark = std::numeric_limits<std::int64_t>::min();
  std::map<std::pair<std::string, std::int64_t>, Values> windows;
  std::vector<Row<R>> rows;
  std::vector<std::int64_t> late;

  [[nodiscard]] bool over(std::int64_t end) const {
    return watermark == std::numeric_limits<std::int64_t>::max() || (watermark > -1'000'000'000'000 && end <= watermark - lateness);
  }
  void say(const std::string& key, std::int64_t start, const Values& values) {
    rows.push_back({key, start, start + size, result(values), start + size - 1});
  }
  void record(const std::string& key, std::int64_t time, std::int64_t value) {
    std::int64_t start = time - (((time - offset) % slide) + slide) % slide;
    bool counted = false;
    for (; start + size > time; start -= slide) {
      if (over(start + size)) continue;
      counted = true;
      Values& values = windows[{key, start}];
      values.push_back(value);
      if (start + size <= watermark) say(key, start, values);
    }
    if (!counted) late.push_back(time);
  }
  void advance(std::int64_t to) {
    if (to <= watermark) return;
    const std::int64_t before = std::exchange(watermark, to);
    for (const auto& [window, values] : windows) {
      const std::int64_t end = window.second + size;
      if (end > before && end <= to) say(window.first, window.second, values);
    }
    std::erase_if(windows, [&](const auto& entry) { return over(entry.first.second + size); });
  }
};

template <class R>
struct SessionReference {
  struct One {
    std::int64_t start, end;
    Values values;
  };
  std::int64_t gap, lateness;
  std::function<R(const Values&)> result;
  std::int64_t watermark = std::numeric_limits<std::int64_t>::min();
  std::map<std::string, std::vector<One>> open;
  std::map<std::string, std::int64_t> closed;
  std::vector<Row<R>> rows;
  std::vector<std::int64_t> late;

  [[nodiscard]] bool over(std::int64_t end) const {
    return watermark == std::numeric_limits<std::int64_t>::max() || (watermark > -1'000'000'000'000 && end <= watermark - lateness);
  }
  void say(const std::string& key, const One& one) { rows.push_back({key, one.start, one.end, result(one.values), one.end - 1}); }
  void record(const std::string& key, std::int64_t time, std::int64_t value) {
    One joined{time, time + gap, {}};
    std::vector<One> rest;
    bool within = false;
    for (const One& one : open[key]) {
      if (one.start < time + gap && time < one.end) {
        within |= one.start <= time;
        joined.start = std::min(joined.start, one.start);
        joined.end = std::max(joined.end, one.end);
        joined.values.insert(joined.values.end(), one.values.begin(), one.values.end());
      } else {
        rest.push_back(one);
      }
    }
    if ((closed.contains(key) && joined.start < closed[key]) || (!within && over(time + gap))) {
      late.push_back(time);
      return;
    }
    joined.values.push_back(value);
    if (joined.end <= watermark) say(key, joined);
    rest.push_back(std::move(joined));
    open[key] = std::move(rest);
  }
  void advance(std::int64_t to) {
    if (to <= watermark) return;
    const std::int64_t before = std::exchange(watermark, to);
    for (auto& [key, all] : open) {
      for (const One& one : all) {
        if (one.end > before && one.end <= to) say(key, one);
        if (over(one.end)) closed[key] = closed.contains(key) ? std::max(closed[key], one.end) : one.end;
      }
      std::erase_if(all, [&](const One& one) { return over(one.end); });
    }
  }
};

/// The same random stream into both: batches, watermarks that lag by up to `disorder`, stops.
template <class R, class Reference>
void compare(Rig<std::int64_t, R> windows, Reference& reference, std::uint64_t seed, std::int64_t step, std::int64_t disorder) {
  Random random(seed);
  std::int64_t now = -static_cast<std::int64_t>(random.below(50)) * step;
  std::int64_t latest = now;
  const std::uint64_t keys = 1 + random.below(20);
  for (int round = 0; round < 150; ++round) {
    std::vector<std::tuple<std::string, std::int64_t, std::int64_t>> batch;
    std::vector<std::tuple<std::string, std::int64_t, std::int64_t>> by_shard;
    for (std::uint64_t n = random.below(20); n > 0; --n) {
      now += static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(step)));
      // One in five is late, or nearly.
      const std::uint64_t back = random.below(5) == 0 ? static_cast<std::uint64_t>(4 * disorder + 4 * step) : static_cast<std::uint64_t>(disorder + 1);
      const std::int64_t time = now - static_cast<std::int64_t>(random.below(back));
      batch.push_back({"key-" + std::to_string(random.below(keys)), time, static_cast<std::int64_t>(random.below(50))});
    }
    for (const auto& [key, time, value] : batch) {
      latest = std::max(latest, time);
      reference.record(key, time, value);
    }
    windows.send(batch);
    if (random.below(30) == 0) now += 30 * step;  // A pause.
    if (random.below(2) == 0) {
      const std::int64_t watermark = latest - static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(disorder) + 1));
      reference.advance(watermark);
      windows.watermark(watermark);
    }
    if (random.below(6) == 0) windows.checkpoint(random.below(4) != 0);
    if (random.below(10) == 0) windows.restart(static_cast<std::uint16_t>(random.below(3) == 0 ? 1 : 1 + random.below(8)));
    ASSERT_TRUE(windows.status().ok()) << windows.status().to_string();
  }
  reference.advance(std::numeric_limits<std::int64_t>::max());
  windows.end();
  std::ranges::sort(reference.rows);
  const std::vector<Row<R>> rows = windows.rows();
  std::vector<Row<R>> missing, wrong;
  std::ranges::set_difference(reference.rows, rows, std::back_inserter(missing));
  std::ranges::set_difference(rows, reference.rows, std::back_inserter(wrong));
  ASSERT_EQ(wrong, missing) << "seed " << seed;
  std::vector<std::int64_t> late = windows.late_times();
  std::ranges::sort(late);
  std::ranges::sort(reference.late);
  ASSERT_EQ(late, reference.late) << "seed " << seed;
  ASSERT_EQ(windows.late(), reference.late.size());
  ASSERT_EQ(windows.open(), 0u);
}

using Many = std::tuple<std::uint64_t, std::int64_t, std::uint64_t>;
Many many(const Values& values) {
  return {values.size(), *std::ranges::max_element(values), std::set<std::int64_t>(values.begin(), values.end()).size()};
}
std::uint64_t number(const Values& values) { return values.size(); }
internal::WindowOptions lateness(std::int64_t ms) {
  internal::WindowOptions options;
  options.allowed_lateness = EventDuration(ms);
  return options;
}

constexpr std::uint64_t kSeeds = 60;

TEST(WindowProperty, TumblingIsTheReference) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const std::int64_t late = seed % 3 == 0 ? 700 : 0, offset = static_cast<std::int64_t>(seed % 5) * 77;
    SlicedReference<Many> reference{1'000, 1'000, offset, late, many, {}, {}, {}, {}};
    reference.watermark = std::numeric_limits<std::int64_t>::min();
    compare(rig<std::int64_t>(tumbling(1s).offset(EventDuration(offset)), together(count(), max(), count_distinct()),
                              seed % 2 == 0 ? 8 : 1, AtEnd(), lateness(late)),
            reference, seed, 40, 500);
    if (HasFatalFailure()) return;
  }
}

TEST(WindowProperty, SlidingIsTheReferenceWhateverIsCarriedFromWindowToWindow) {
  const std::pair<std::int64_t, std::int64_t> shapes[] = {{1'000, 200}, {1'000, 1'000}, {1'000, 300}, {500, 10}, {3'000, 1'000}};
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const auto [size, slide] = shapes[seed % std::size(shapes)];
    const std::int64_t late = seed % 4 == 0 ? 600 : 0, offset = static_cast<std::int64_t>(seed % 3) * 50;
    const auto assigner = sliding(EventDuration(size), EventDuration(slide)).offset(EventDuration(offset));
    const auto shards = static_cast<std::uint16_t>(seed % 2 == 0 ? 8 : 1);
    SlicedReference<Many> blocks{size, slide, offset, late, many, {}, {}, {}, {}};
    blocks.watermark = std::numeric_limits<std::int64_t>::min();
    compare(rig<std::int64_t>(assigner, together(count(), max(), count_distinct()), shards, AtEnd(), lateness(late)), blocks, seed, 40, 500);
    if (HasFatalFailure()) return;
    SlicedReference<std::uint64_t> totals{size, slide, offset, late, number, {}, {}, {}, {}};
    totals.watermark = std::numeric_limits<std::int64_t>::min();
    compare(rig<std::int64_t>(assigner, count(), shards, AtEnd(), lateness(late)), totals, seed, 40, 500);
    if (HasFatalFailure()) return;
  }
}

TEST(WindowProperty, SessionsAreTheReference) {
  for (std::uint64_t seed = 1; seed <= 2 * kSeeds; ++seed) {
    const std::int64_t late = seed % 3 == 0 ? 800 : 0, gap = 100 + static_cast<std::int64_t>(seed % 7) * 150;
    SessionReference<Many> reference{gap, late, many, {}, {}, {}, {}, {}};
    reference.watermark = std::numeric_limits<std::int64_t>::min();
    compare(rig<std::int64_t>(session(EventDuration(gap)), together(count(), max(), count_distinct()),
                              static_cast<std::uint16_t>(seed % 2 == 0 ? 8 : 1), AtEnd(), lateness(late)),
            reference, seed, 60, 500);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace sluice
