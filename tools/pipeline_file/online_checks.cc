#include "pipeline_file/online_checks.h"

#include <sluice/io/shards.h>

#include "pipeline_file/builder.h"
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <set>
#include <string>

namespace sluice::tools {
namespace {

/// Where a part of the graph stands in the file, and which cluster it asks.
struct Origin {
  Place place;
  std::string connection;
};

Origin origin_of(const Pipeline& pipeline, const std::string& id) {
  for (const SourceSpec& source : pipeline.sources) {
    if (source.id == id) return {source.place, source.connection.name};
  }
  for (const SinkSpec& sink : pipeline.sinks) {
    if (sink.id == id) return {sink.place, sink.connection.name};
  }
  return {};
}

class Asking {
 public:
  Asking(const Pipeline& pipeline, const Job& job, io::Shards& shards, Problems& problems)
      : pipeline_(pipeline),
        job_(job),
        problems_(problems),
        attempt_(job.name(), job.name(), shards, io::system_clock(), metrics_) {
    attempt_.checkpoint_interval = job.options.checkpoint.interval;
  }

  asio::awaitable<void> run() {
    for (internal::SourceNodeBase* const source : job_.graph().sources()) {
      if (skipped(source->id())) continue;
      const Status checked = co_await source->check(attempt_);
      note(source->id(), checked);
    }
    for (internal::SinkNodeBase* const sink : job_.graph().sinks()) {
      if (skipped(sink->id())) continue;
      const Status checked = co_await sink->check(attempt_);
      note(sink->id(), checked);
    }
    if (attempt_.several_deciders()) {
      problems_.add(pipeline_.sinks.front().place, ProblemCode::kEngine,
                    "exactly-once sinks on several Kafka clusters in one job are not supported",
                    "write to one cluster");
    }
    for (internal::SourceNodeBase* const source : job_.graph().sources()) {
      const Status closed = co_await source->close(attempt_);
      (void)closed.ok();
    }
    for (internal::SinkNodeBase* const sink : job_.graph().sinks()) {
      const Status closed = co_await sink->close(attempt_);
      (void)closed.ok();
    }
    attempt_.forget();
  }

 private:
  /// A cluster that did not answer once will not answer the next part either.
  bool skipped(const std::string& id) const {
    return unreachable_.contains(origin_of(pipeline_, id).connection);
  }
  void note(const std::string& id, const Status& status) {
    if (status.ok()) return;
    const Origin origin = origin_of(pipeline_, id);
    if (status.exit_status() == ExitStatus::kUnavailable) unreachable_.insert(origin.connection);
    problems_.add({origin.place,
                   ProblemCode::kBroker,
                   std::string(status.message()),
                   {},
                   static_cast<int>(status.exit_status())});
  }

  const Pipeline& pipeline_;
  const Job& job_;
  Problems& problems_;
  Metrics metrics_;
  Attempt attempt_;
  std::set<std::string> unreachable_;
};

}  // namespace

void check_online(const Pipeline& pipeline, Problems& problems) {
  const Job job = build_job(pipeline);
  const Status fits = job.check();
  if (!fits.ok()) {
    problems.add({pipeline.root->place.source, 0, 0}, ProblemCode::kEngine,
                 std::string(fits.message()));
    return;
  }
  auto shards = io::Shards::start(io::Shards::Options());
  if (!shards.ok()) {
    problems.add({pipeline.root->place.source, 0, 0}, ProblemCode::kEngine,
                 std::string(shards.status().message()));
    return;
  }
  Asking asking(pipeline, job, **shards, problems);
  asio::co_spawn((*shards)->control().executor(), asking.run(), asio::use_future).get();
  (*shards)->stop();
}

}  // namespace sluice::tools
