#include "nexmark/queries/queries.h"

#include "nexmark/queries/event_source.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include <sluice/checkpoint/engine.h>
#include <sluice/io/base/random.h>

namespace sluice::nexmark {

std::vector<Query> all_queries() {
  std::vector<Query> all;
  for (const auto& part : {pass_queries(), text_queries(), window_queries(), join_queries(), auction_queries(), day_queries(),
                           keyed_queries()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  const auto number = [](const Query& query) { return std::atoi(query.name.data() + 1); };
  std::sort(all.begin(), all.end(), [&](const Query& a, const Query& b) { return number(a) < number(b); });
  return all;
}

Result<std::shared_ptr<Answer>> run_query(const Query& query, const QueryRun& options) {
  const auto directory = std::filesystem::temp_directory_path() / ("sluice-nexmark-" + Uuid::make().to_string());
  const auto answer = std::make_shared<Answer>(options.digests);
  Job job{"nexmark-" + std::string(query.name)};
  job.shards(options.shards);
  job.checkpoint({.interval = std::chrono::hours(1), .directory = directory});
  const Share share(options.events, options.generator.rate_per_second, options.shards);
  query.build(job.from<Event>(std::make_shared<EventSource>(Generator(options.generator), share, answer), "events"), answer);
  Status ended;
  {
    Result<Running> running = Engine().start(std::move(job));
    ended = running.ok() ? running->wait() : running.status();
  }
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  if (!ended.ok()) return ended;
  return answer;
}

}  // namespace sluice::nexmark
