#include "nexmark/digest.h"
#include "nexmark/loops.h"
#include "nexmark/queries/event_source.h"
#include "nexmark/queries/queries.h"
#include <gtest/gtest.h>

#include "nexmark_reference.h"
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
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

// Goal: sluice's jobs answer what the loops by hand answer, and what the plain reference answers where there is no loop; on one shard and
// on several. Method: both on 100,000 events, at rates that make a window of them, ten, hundreds, or two days; digests.
struct QueryCase {
  std::string query;
  std::int64_t rate_per_second;
  std::uint16_t shards;
};
constexpr std::uint64_t kEvents = 100'000;

Digest asked_of_sluice(const QueryCase& asked) {
  const QueryRun options{.generator = {.rate_per_second = asked.rate_per_second},
                         .events = kEvents,
                         .shards = asked.shards,
                         .digests = true};
  for (const Query& query : all_queries()) {
    if (query.name != asked.query) continue;
    const Result<std::shared_ptr<Answer>> answer = run_query(query, options);
    EXPECT_TRUE(answer.ok()) << answer.status().to_string();
    return answer.ok() ? (*answer)->digest() : Digest();
  }
  ADD_FAILURE() << "sluice has no query of that name";
  return {};
}

class NexmarkQueries : public testing::TestWithParam<QueryCase> {};
TEST_P(NexmarkQueries, AnswerWhatTheLoopsAnswer) {
  const QueryCase& asked = GetParam();
  DigestRows expected;
  ASSERT_TRUE(run(asked.query, Generator({.rate_per_second = asked.rate_per_second}), kEvents, expected));
  EXPECT_GT(expected.digest.rows(), 0u);
  EXPECT_EQ(asked_of_sluice(asked).text(), expected.digest.text());
}

class NexmarkQueriesWithoutLoop : public testing::TestWithParam<QueryCase> {};
TEST_P(NexmarkQueriesWithoutLoop, AnswerWhatTheReferenceAnswers) {
  const QueryCase& asked = GetParam();
  std::vector<Event> events(kEvents);
  Generator({.rate_per_second = asked.rate_per_second}).fill(0, events);
  Digest expected;
  for (const std::string& row : reference_without_loop(asked.query, events)) expected.add(row);
  EXPECT_GT(expected.rows(), 0u);
  EXPECT_EQ(asked_of_sluice(asked).text(), expected.text());
}

template <class Queries>
std::vector<QueryCase> cases(const Queries& queries, std::initializer_list<std::int64_t> rates) {
  std::vector<QueryCase> all;
  for (const std::string_view query : queries) {
    for (const std::uint16_t shards : {1, 2}) {
      for (const std::int64_t rate : rates) all.push_back({std::string(query), rate, shards});
    }
  }
  return all;
}
std::string name_of(const testing::TestParamInfo<QueryCase>& asked) {
  return asked.param.query + "_" + std::to_string(asked.param.rate_per_second) + "_on_" + std::to_string(asked.param.shards);
}
INSTANTIATE_TEST_SUITE_P(All, NexmarkQueries, testing::ValuesIn(cases(kQueries, {100'000, 10'000, 200})), name_of);

constexpr std::array<std::string_view, 4> kOfOneBid = {"q13", "q14", "q21", "q22"};
constexpr std::array<std::string_view, 8> kOfTime = {"q4", "q9", "q12", "q15", "q16", "q17", "q19", "q20"};
INSTANTIATE_TEST_SUITE_P(OfOneBid, NexmarkQueriesWithoutLoop, testing::ValuesIn(cases(kOfOneBid, {1})), name_of);
INSTANTIATE_TEST_SUITE_P(OfTime, NexmarkQueriesWithoutLoop, testing::ValuesIn(cases(kOfTime, {100'000, 1})), name_of);

}  // namespace
}  // namespace sluice::nexmark
