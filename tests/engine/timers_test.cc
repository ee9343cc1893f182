// Goal: each timer that is set and not erased fires once, in order of time and key, whatever happens between.
// Method: random times, watermarks, restarts and numbers of shards beside a std::set; then single cases.
#include <sluice/engine/timers.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <sluice/io/base/random.h>

namespace sluice {
namespace {

using namespace std::chrono_literals;

Context at(std::uint16_t shard, std::uint16_t shards) {
  Context context;
  context.operator_id = "op";
  context.shard = ShardId(shard);
  context.parallelism = shards;
  return context;
}
EventTime ms(std::int64_t count) { return EventTime(EventDuration(count)); }

template <class Key>
using Fired = std::vector<std::pair<EventTime, Key>>;
template <class Key>
Fired<Key> fire(Timers<Key>& timers, EventTime until) {
  Fired<Key> fired;
  timers.fire(until, [&](EventTime time, const Key& key) { fired.emplace_back(time, key); });
  return fired;
}
/// Those of the model up to `until`, taken out of it.
template <class Key>
Fired<Key> take(std::set<std::pair<EventTime, Key>>& model, EventTime until) {
  Fired<Key> taken;
  while (!model.empty() && model.begin()->first <= until) {
    taken.push_back(*model.begin());
    model.erase(model.begin());
  }
  return taken;
}

template <class Key, class MakeKey>
void behaves_like_a_set(std::uint64_t seed, MakeKey make_key) {
  Random random(seed);
  Timers<Key> timers;
  std::set<std::pair<EventTime, Key>> model;
  std::int64_t now = 1'700'000'000'000;
  const std::uint64_t spans[] = {3, 1'000, 70'000, 20'000'000, 4'000'000'000'000};
  for (int step = 0; step < 20'000; ++step) {
    const EventTime time = ms(now + static_cast<std::int64_t>(random.below(spans[random.below(5)])) - 1);
    const Key key = make_key(random.below(50));
    const std::uint64_t what = random.below(10);
    if (what < 6) {
      timers.set(time, key);
      model.insert({time, key});
    } else if (what < 8 && !model.empty()) {  // One that is there, or one that is not.
      const auto found = model.lower_bound({time, key});
      const auto one = found != model.end() && random.below(2) == 0 ? *found : std::pair(time, key);
      timers.erase(one.first, one.second);
      model.erase(one);
    } else if (random.below(20) == 0) {
      now += static_cast<std::int64_t>(random.below(spans[random.below(4)]));
      ASSERT_EQ(fire(timers, ms(now)), take(model, ms(now))) << "seed " << seed << ", step " << step;
    }
    if (step % 100 != 0 || model.empty()) continue;
    ASSERT_LE(timers.next(), model.begin()->first);
  }
  ASSERT_EQ(fire(timers, EventTime::max()), take(model, EventTime::max())) << "seed " << seed;
  EXPECT_EQ(timers.size(), 0u);
  EXPECT_EQ(timers.next(), EventTime::max());
}

TEST(Timers, BehaveLikeASetInOrderOfTime) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    behaves_like_a_set<std::uint64_t>(seed, [](std::uint64_t n) { return n; });
    behaves_like_a_set<std::string>(seed, [](std::uint64_t n) { return "user-" + std::to_string(n); });
    behaves_like_a_set<WindowKey<std::string, std::int64_t>>(seed, [](std::uint64_t n) {
      return WindowKey<std::string, std::int64_t>{std::to_string(n % 7), static_cast<std::int64_t>(n)};
    });
  }
}

TEST(Timers, TimesAtTheEndsAndBeforeTheEpochAreInOrder) {
  Timers<int> timers;
  for (const EventTime time : {EventTime::max(), ms(0), ms(-1), ms(-100'000), ms(5), EventTime::min() + 1ms}) timers.set(time, 1);
  EXPECT_EQ(fire(timers, ms(0)).size(), 4u);
  EXPECT_EQ(fire(timers, ms(5)), (Fired<int>{{ms(5), 1}}));
  EXPECT_EQ(fire(timers, EventTime::max()), (Fired<int>{{EventTime::max(), 1}}));
  EXPECT_THROW(timers.set(kNoEventTime, 1), std::logic_error);
}

TEST(Timers, SetWhileTheyFire) {
  Timers<int> timers;
  timers.set(ms(10), 1);
  timers.set(ms(30), 1);
  Fired<int> fired;
  timers.fire(ms(40), [&](EventTime time, int key) {
    fired.emplace_back(time, key);
    if (fired.size() == 1) {
      timers.set(ms(20), 7);    // Between.
      timers.set(ms(5), 8);     // Has passed: next.
      timers.set(ms(10), 9);    // Is passing: next.
      timers.set(ms(50), 1);    // Later than what fires now.
    }
  });
  EXPECT_EQ(fired, (Fired<int>{{ms(10), 1}, {ms(5), 8}, {ms(10), 9}, {ms(20), 7}, {ms(30), 1}}));
  timers.set(ms(35), 2);  // Has passed.
  EXPECT_EQ(fire(timers, ms(40)), (Fired<int>{{ms(35), 2}}));
  EXPECT_EQ(fire(timers, ms(50)), (Fired<int>{{ms(50), 1}}));
}

TEST(Timers, ErasedWhileTheyFire) {
  Timers<int> timers;
  for (const int key : {1, 2, 3}) timers.set(ms(10), key);
  timers.set(ms(20), 1);
  Fired<int> fired;
  timers.fire(ms(40), [&](EventTime time, int key) {
    fired.emplace_back(time, key);
    timers.erase(ms(10), 2);
    timers.erase(ms(20), 1);
    timers.set(ms(8), 4);
    timers.erase(ms(8), 4);
    timers.erase(ms(10), 1);  // Has fired: nothing.
  });
  EXPECT_EQ(fired, (Fired<int>{{ms(10), 1}, {ms(10), 3}}));
  // The last ones too.
  timers.set(ms(50), 1);
  timers.set(ms(50), 2);
  fired.clear();
  timers.fire(ms(60), [&](EventTime time, int key) {
    fired.emplace_back(time, key);
    timers.erase(ms(50), 2);
  });
  EXPECT_EQ(fired, (Fired<int>{{ms(50), 1}}));
  EXPECT_EQ(timers.size(), 0u);
}

TEST(Timers, SetAgainAndAgainTakeNoMoreRoomThanAFew) {
  Timers<std::uint64_t> timers;
  for (std::uint64_t i = 0; i < 1'000'000; ++i) timers.set(ms(1'700'000'060'000), i % 100);
  EXPECT_LT(timers.size(), 3'000u);
  EXPECT_EQ(fire(timers, EventTime::max()).size(), 100u);
  // Put off with each record: set, and the one before erased.
  Timers<std::uint64_t> put_off;
  for (std::int64_t i = 0; i < 1'000'000; ++i) {
    put_off.set(ms(1'700'000'060'000 + i), 1);
    put_off.erase(ms(1'700'000'060'000 + i - 1), 1);
  }
  EXPECT_LT(put_off.size(), 3'000u);
  EXPECT_EQ(fire(put_off, EventTime::max()).size(), 1u);
}

/// The timers of a job on `shards` shards, between restarts, and what a store keeps of them.
struct Job {
  explicit Job(std::uint16_t shards, const std::vector<std::string>& restored = {}) : timers(shards) {
    for (std::uint16_t i = 0; i < shards; ++i) {
      timers[i].open(at(i, shards));
      for (const std::string& bytes : restored) EXPECT_TRUE(timers[i].restore(bytes, at(i, shards)).ok());
    }
  }
  Timers<std::uint64_t>& of(std::uint64_t key) {
    return timers[KeyGroups().owner(KeyGroups().of(key), static_cast<std::uint16_t>(timers.size())).value()];
  }
  Fired<std::uint64_t> fire_all(EventTime until) {
    Fired<std::uint64_t> fired;
    for (auto& shard : timers) {
      const auto some = fire(shard, until);
      fired.insert(fired.end(), some.begin(), some.end());
    }
    std::ranges::sort(fired);
    return fired;
  }
  std::vector<Timers<std::uint64_t>> timers;
};

// Goal: a snapshot and the changes behind it, epochs that failed included, are the timers, on any number of shards.
TEST(Timers, SnapshotsAndChangesGiveThemBackOnAnyNumberOfShards) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    std::set<std::pair<EventTime, std::uint64_t>> model, durable;
    std::vector<std::string> kept;
    std::int64_t now = 1'700'000'000'000;
    std::uint64_t epoch = 0;
    std::size_t whole_bytes = 0, change_bytes = 0;
    for (const std::uint16_t shards : {1, 8, 3, 1}) {
      Job job(shards, kept);
      model = durable;
      std::vector<std::vector<std::string>> chains(shards);
      for (int barrier = 0; barrier < 8; ++barrier) {
        const bool many = seed % 2 == 0 && barrier == 0;
        for (int step = 0; step < (many ? 20'000 : 300); ++step) {
          const EventTime time = ms(now + static_cast<std::int64_t>(random.below(100'000)) - 5);
          const std::uint64_t key = random.below(1'000);
          if (random.below(4) != 0) {
            job.of(key).set(time, key);
            model.insert({time, key});
          } else if (!model.empty()) {
            const auto found = model.lower_bound({time, key});
            const auto one = found == model.end() ? *model.begin() : *found;
            job.of(one.second).erase(one.first, one.second);
            model.erase(one);
          }
        }
        if (random.below(2) == 0) {
          now += static_cast<std::int64_t>(random.below(5'000));
          ASSERT_EQ(job.fire_all(ms(now)), take(model, ms(now)));
        }
        ++epoch;
        std::vector<std::string> saved(shards);
        for (std::uint16_t i = 0; i < shards; ++i) {
          job.timers[i].mark(Epoch(epoch));
          if (chains[i].empty()) {
            job.timers[i].save(saved[i]);
            whole_bytes += saved[i].size();
          } else {
            job.timers[i].save_changes(saved[i]);
            change_bytes += saved[i].size();
          }
        }
        if (random.below(3) == 0) continue;  // It fails.
        kept.clear();
        for (std::uint16_t i = 0; i < shards; ++i) {
          chains[i].push_back(saved[i]);
          kept.insert(kept.end(), chains[i].begin(), chains[i].end());
          job.timers[i].confirm(Epoch(epoch));
        }
        durable = model;
        std::set<std::pair<EventTime, std::uint64_t>> copy = durable;
        ASSERT_EQ(Job(5, kept).fire_all(EventTime::max()), take(copy, EventTime::max())) << "seed " << seed << ", epoch " << epoch;
      }
    }
    EXPECT_GT(whole_bytes, 0u);
    EXPECT_GT(change_bytes, 0u);
  }
}

TEST(Timers, ChangesCostWhatWasSet) {
  Timers<std::uint64_t> timers;
  for (std::uint64_t key = 0; key < 100'000; ++key) timers.set(ms(1'700'000'000'000 + static_cast<std::int64_t>(key)), key);
  timers.mark(Epoch(1));
  std::string all, changes;
  timers.save(all);
  timers.confirm(Epoch(1));
  EXPECT_EQ(fire(timers, ms(1'700'000'050'000)).size(), 50'001u);
  timers.set(ms(1'700'000'099'999), 7);
  timers.mark(Epoch(2));
  timers.save_changes(changes);
  EXPECT_GT(all.size(), 1'600'000u);
  EXPECT_LT(changes.size(), 5'000u) << "what fired is told by the time, the index has 35 bytes a key group";
}

TEST(Timers, DamagedBytesAreCorruptAndAnotherKeyIsNamed) {
  Timers<std::uint64_t> timers;
  for (std::uint64_t key = 0; key < 20; ++key) timers.set(ms(5), key);
  std::string bytes;
  timers.save(bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
    Timers<std::uint64_t> restored;
    ASSERT_EQ(restored.restore(damaged, at(0, 1)).code(), Code::kCorrupt) << "byte " << i;
  }
  Timers<std::string> other;
  const Status status = other.restore(bytes, at(0, 1));
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_NE(status.message().find("timers<string>"), std::string_view::npos) << status.message();
}

}  // namespace
}  // namespace sluice
