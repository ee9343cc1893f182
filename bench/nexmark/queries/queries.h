#pragma once

#include "nexmark/generator.h"
#include "nexmark/queries/answer.h"

#include <memory>
#include <string_view>
#include <vector>

#include <sluice/engine/job.h>

namespace sluice::nexmark {

/// A query as a stream: from events to rows, which go to a sink that adds them to `answer`.
struct Query {
  std::string_view name;
  void (*build)(const Stream<Event>& events, const std::shared_ptr<Answer>& answer);
};

/// Queries whose rows hang on one event alone, or on its texts; on windows and sessions; on two streams; on bids and their auctions;
/// on a day; on a key and all of the stream.
[[nodiscard]] std::vector<Query> pass_queries();
[[nodiscard]] std::vector<Query> text_queries();
[[nodiscard]] std::vector<Query> window_queries();
[[nodiscard]] std::vector<Query> join_queries();
[[nodiscard]] std::vector<Query> auction_queries();
[[nodiscard]] std::vector<Query> day_queries();
[[nodiscard]] std::vector<Query> keyed_queries();
/// All of them, by name.
[[nodiscard]] std::vector<Query> all_queries();

struct QueryRun {
  Generator::Options generator;
  std::uint64_t events = 1'000'000;
  std::uint16_t shards = 1;
  bool digests = false;  ///< rows are counted otherwise
};
/// Runs a query to the end of its stream, with its state in a directory that is removed.
[[nodiscard]] Result<std::shared_ptr<Answer>> run_query(const Query& query, const QueryRun& options);

}  // namespace sluice::nexmark
