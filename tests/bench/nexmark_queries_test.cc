#include "nexmark/digest.h"
#include "nexmark/loops.h"
#include "nexmark/queries/event_source.h"
#include "nexmark/queries/queries.h"
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sluice::nexmark {
namespace {

// Goal: the splits have each event once, whatever their number, and events of one millisecond in one split.
// Method: all of a stream, piece by piece; rates at which a stretch is shorter than a batch, as long, and longer.
using Splits = std::pair<std::int64_t, std::uint16_t>;
class NexmarkShares : public testing::TestWithParam<Splits> {};
TEST_P(NexmarkShares, HaveEachEventOnce) {
  const auto [rate, splits] = GetParam();
  constexpr std::uint64_t kEvents = 20'000;
  const Generator generator({.rate_per_second = rate});
  const Share share(kEvents, rate, splits);
  std::vector<int> owner(kEvents, -1);
  for (std::uint16_t split = 0; split < splits; ++split) {
    std::uint64_t n = share.first(split);
    for (Share::Piece piece = share.piece(n); piece.count > 0; piece = share.piece(n)) {
      ASSERT_LE(piece.count, Share::kBatchEvents);
      ASSERT_LE(n + piece.count, kEvents);
      for (std::uint64_t i = n; i < n + piece.count; ++i) {
        ASSERT_EQ(owner[i], -1) << "event " << i << " is in two splits";
        owner[i] = split;
      }
      ASSERT_GE(piece.next, n + piece.count);
      n = piece.next;
    }
  }
  for (std::uint64_t n = 0; n < kEvents; ++n) {
    ASSERT_NE(owner[n], -1) << "event " << n << " is in no split";
    if (n > 0 && generator.time_ms(n) == generator.time_ms(n - 1)) {
      ASSERT_EQ(owner[n], owner[n - 1]) << "event " << n << " is of the same millisecond as the one before it";
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Rates, NexmarkShares,
                         testing::Values(Splits{100'000, 1}, Splits{100'000, 2}, Splits{100'000, 8}, Splits{1'000, 3}, Splits{20, 2},
                                         Splits{999, 2}, Splits{1'000'000, 3}));

// Goal: sluice's jobs answer what the loops by hand answer, on one shard and on several.
// Method: both on 100,000 events, at rates that make a window of them, ten, and hundreds; digests.
struct QueryCase {
  std::string query;
  std::int64_t rate_per_second;
  std::uint16_t shards;
};
class NexmarkQueries : public testing::TestWithParam<QueryCase> {};
TEST_P(NexmarkQueries, AnswerWhatTheLoopsAnswer) {
  constexpr std::uint64_t kEvents = 100'000;
  const QueryCase& asked = GetParam();
  const QueryRun options{.generator = {.rate_per_second = asked.rate_per_second},
                         .events = kEvents,
                         .shards = asked.shards,
                         .digests = true};
  DigestRows expected;
  ASSERT_TRUE(run(asked.query, Generator(options.generator), kEvents, expected));
  for (const Query& query : all_queries()) {
    if (query.name != asked.query) continue;
    const Result<std::shared_ptr<Answer>> answer = run_query(query, options);
    ASSERT_TRUE(answer.ok()) << answer.status().to_string();
    EXPECT_GT(expected.digest.rows(), 0u);
    EXPECT_EQ((*answer)->digest().text(), expected.digest.text());
    return;
  }
  FAIL() << "sluice has no query of that name";
}

std::vector<QueryCase> cases() {
  std::vector<QueryCase> all;
  for (const std::string_view query : kQueries) {
    for (const std::uint16_t shards : {1, 2}) {
      for (const std::int64_t rate : {100'000, 10'000, 200}) all.push_back({std::string(query), rate, shards});
    }
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(All, NexmarkQueries, testing::ValuesIn(cases()), [](const auto& asked) {
  return asked.param.query + "_" + std::to_string(asked.param.rate_per_second) + "_on_" + std::to_string(asked.param.shards);
});

}  // namespace
}  // namespace sluice::nexmark
