#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <sluice/engine/function.h>
#include <sluice/engine/internal/fused.h>
#include <sluice/engine/internal/graph.h>
#include <sluice/engine/sink.h>
#include <sluice/engine/source.h>

namespace sluice {

/// Where a stream ends; its id, and what it could not write.
template <class T>
class SinkHandle;

/// Records of type T on their way. A value that describes a part of the graph: nothing runs until the job does.
///
/// map, filter, flat_map and peek are fused at compile time: a chain of them is one loop over a batch. What a callable may be:
/// engine/function.h. A Stream may be read several times: each reader gets every record.
///
///     job.from(kafka::source<Record>({…}))
///         .filter([](const Record& r) { return !r.value.null(); })
///         .map([](const Record& r, Arena& arena) { … })
///         .to(kafka::sink<Record>({…}));
template <class T, class Root = T, class... Steps>
class Stream {
 public:
  /// For the builder; users get streams from Job::from.
  Stream(std::shared_ptr<internal::Graph> graph, std::shared_ptr<const internal::Node> node,
         std::shared_ptr<internal::Outlet<Root>> outlet, std::tuple<Steps...> steps = {}, std::string name = {})
      : graph_(std::move(graph)), node_(std::move(node)), outlet_(std::move(outlet)), steps_(std::move(steps)),
        name_(std::move(name)) {}

  template <class F>
  [[nodiscard]] auto map(F f) const {
    using Out = std::decay_t<typename internal::Invoked<F, T>::type>;
    return then<Out>(internal::MapStep<F>{std::move(f)});
  }
  template <class F>
  [[nodiscard]] auto filter(F f) const {
    return then<T>(internal::FilterStep<F>{std::move(f)});
  }
  template <class F>
  [[nodiscard]] auto peek(F f) const {
    return then<T>(internal::PeekStep<F>{std::move(f)});
  }
  /// `f(record, emit)` or `f(record, arena, emit)`: any number of results, of type Out.
  template <class Out, class F>
  [[nodiscard]] auto flat_map(F f) const {
    return then<Out>(internal::FlatMapStep<F, Out>{std::move(f)});
  }
  /// Names the record operators since the last seam: the id of their state in checkpoints.
  [[nodiscard]] Stream name(std::string id) const {
    Stream named = *this;
    named.name_ = std::move(id);
    return named;
  }

  /// An operator that is called once a batch; `make` makes one for each shard.
  template <class Out>
  [[nodiscard]] Stream<Out> process(std::string id, std::function<std::unique_ptr<Operator<T, Out>>()> make) const {
    const auto input = materialise();
    auto node = graph_->add<internal::OperatorNode<T, Out>>("process", std::move(id), true, std::move(make));
    node->named = true;
    node->inputs.push_back(input.node.get());
    input.outlet->add([node](internal::ShardBuild& build) { return node->make_tail(build); });
    return {graph_, node, std::shared_ptr<internal::Outlet<Out>>(node, &node->out)};
  }

  /// All records of both; no order between the two.
  template <class... Other>
  [[nodiscard]] Stream<T> union_with(const Stream<T, Other...>& other, std::string id = {}) const {
    const auto first = materialise();
    const auto second = other.materialise();
    auto node = graph_->add<internal::UnionNode<T>>(id.empty() ? graph_->next_id("union") : id);
    node->named = !id.empty();
    node->inputs = {first.node.get(), second.node.get()};
    // A plain pointer: the graph owns this node and the one whose outlet keeps the function.
    for (const auto* outlet : {&first.outlet, &second.outlet}) {
      (*outlet)->add([node = node.get()](internal::ShardBuild& build) { return node->make_lane(build); });
    }
    return {graph_, node, std::shared_ptr<internal::Outlet<T>>(node, &node->out)};
  }

  SinkHandle<T> to(std::shared_ptr<Sink<T>> sink, std::string id = {}) const {
    const auto input = materialise();
    auto node = graph_->add<internal::SinkNode<T>>(id.empty() ? graph_->next_id("sink") : id, std::move(sink));
    node->named = !id.empty();
    node->inputs.push_back(input.node.get());
    input.outlet->add([node](internal::ShardBuild& build) { return node->make_tail(build); });
    return SinkHandle<T>(graph_, node);
  }

 private:
  template <class, class, class...>
  friend class Stream;

  struct Point {
    std::shared_ptr<const internal::Node> node;
    std::shared_ptr<internal::Outlet<T>> outlet;
  };
  template <class Out, class Step>
  [[nodiscard]] Stream<Out, Root, Steps..., Step> then(Step step) const {
    return {graph_, node_, outlet_, std::tuple_cat(steps_, std::make_tuple(std::move(step))), name_};
  }
  /// Turns the steps since the last seam into one fused operator of the graph.
  [[nodiscard]] Point materialise() const {
    if constexpr (sizeof...(Steps) == 0) {
      return {node_, outlet_};
    } else {
      using Op = internal::Fused<Root, T, Steps...>;
      auto make = [steps = steps_]() -> std::unique_ptr<Operator<Root, T>> { return std::make_unique<Op>(steps); };
      auto node = graph_->add<internal::OperatorNode<Root, T>>(
          "fused", name_.empty() ? graph_->next_id("fused") : name_, Op::kStateful, std::move(make));
      node->named = !name_.empty();
      node->inputs.push_back(node_.get());
      outlet_->add([node](internal::ShardBuild& build) { return node->make_tail(build); });
      return {node, std::shared_ptr<internal::Outlet<T>>(node, &node->out)};
    }
  }

  std::shared_ptr<internal::Graph> graph_;
  std::shared_ptr<const internal::Node> node_;
  std::shared_ptr<internal::Outlet<Root>> outlet_;
  std::tuple<Steps...> steps_;
  std::string name_;
};

template <class T>
class SinkHandle {
 public:
  SinkHandle(std::shared_ptr<internal::Graph> graph, std::shared_ptr<internal::SinkNode<T>> node)
      : graph_(std::move(graph)), node_(std::move(node)) {}
  /// Records that the sink can never write (too large), with headers that say why; for sinks whose policy it is to reject.
  [[nodiscard]] Stream<Record> rejected() const {
    return {graph_, node_, std::shared_ptr<internal::Outlet<Record>>(node_, &node_->rejected)};
  }

 private:
  std::shared_ptr<internal::Graph> graph_;
  std::shared_ptr<internal::SinkNode<T>> node_;
};

/// A stream that comes straight from a source.
template <class T>
class SourceStream : public Stream<T> {
 public:
  SourceStream(std::shared_ptr<internal::Graph> graph, std::shared_ptr<internal::SourceNode<T>> node)
      : Stream<T>(graph, node, std::shared_ptr<internal::Outlet<T>>(node, &node->out)), graph_(graph), node_(node) {}
  /// Records that could not be read, as they were, with headers that say why and where; for sources whose policy it is to reject.
  [[nodiscard]] Stream<Record> rejected() const {
    return {graph_, node_, std::shared_ptr<internal::Outlet<Record>>(node_, &node_->rejected)};
  }

 private:
  std::shared_ptr<internal::Graph> graph_;
  std::shared_ptr<internal::SourceNode<T>> node_;
};

}  // namespace sluice
