#pragma once

#include <memory>
#include <string>
#include <utility>

#include <sluice/engine/options.h>
#include <sluice/engine/stream.h>

namespace sluice {

/// A pipeline and how it is to run. Built on one thread, then handed to run() or Engine::start().
///
///     Job job{"identity-rewrite"};
///     job.checkpoint({.interval = 100ms, .directory = "state"});
///     job.from(…).map(…).to(…);
///     return run(std::move(job));
class Job {
 public:
  /// The name is the job's identity: its registers, group and transactional id are derived from it. [A-Za-z0-9._-]{1,64}
  explicit Job(std::string name) : name_(std::move(name)), graph_(std::make_shared<internal::Graph>()) {}

  Job& checkpoint(CheckpointOptions checkpoints) {
    options.checkpoint = std::move(checkpoints);
    return *this;
  }
  Job& restart(RestartOptions restarts) {
    options.restart = restarts;
    return *this;
  }
  Job& shards(std::uint16_t count) {
    options.shards = count;
    return *this;
  }

  /// A source is named, as its positions in checkpoints are: "source-1", "source-2" where nothing is said.
  template <class T>
  SourceStream<T> from(std::shared_ptr<Source<T>> source, std::string id = {}) {
    auto node = graph_->add<internal::SourceNode<T>>(id.empty() ? graph_->next_id("source") : id, std::move(source));
    node->named = !id.empty();
    return SourceStream<T>(graph_, node);
  }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// The plan, a line a node, for people.
  [[nodiscard]] std::string plan() const { return graph_->plan(); }
  [[nodiscard]] Status check() const;
  [[nodiscard]] const internal::Graph& graph() const noexcept { return *graph_; }

  JobOptions options;

 private:
  std::string name_;
  std::shared_ptr<internal::Graph> graph_;
};

}  // namespace sluice
