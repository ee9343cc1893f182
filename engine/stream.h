#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <sluice/engine/function.h>
#include <sluice/engine/internal/fused.h>
#include <sluice/engine/internal/graph.h>
#include <sluice/engine/internal/split_operator.h>
#include <sluice/engine/internal/step_operator.h>
#include <sluice/engine/internal/watermark_node.h>
#include <sluice/engine/joins/join_options.h>
#include <sluice/engine/keyed.h>
#include <sluice/engine/on_error.h>
#include <sluice/engine/sink.h>
#include <sluice/engine/source.h>
#include <sluice/engine/watermarks.h>

namespace sluice {

/// Where a stream ends; its id, and what it could not write.
template <class T>
class SinkHandle;

/// A stream with another beside it.
template <class Out, class Side>
class SplitStream;

/// Records that stand where the state of their key is.
template <class Key, class T>
class KeyedStream;

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
    using Out = typename internal::Made<F, T>::type;
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

  /// The same for an operator with a second way out. `problem`: what is wrong with it wherever it runs, told when the job is checked.
  template <class Out, class Side>
  [[nodiscard]] SplitStream<Out, Side> process(std::string id,
                                               std::function<std::unique_ptr<SideOperator<T, Out, Side>>()> make,
                                               Status problem = {}) const {
    return split_node<Out, Side>("process", std::move(id), true, std::move(make), std::move(problem));
  }
  /// `f(record, arena, out, side)`: any number of results either way; out takes an Out, side a Side. A copy of `f` a shard.
  ///
  ///     auto orders = events.split<Order, Event>("orders", [](const Event& e, Arena&, auto& out, auto& side) { … });
  ///     orders.to(…);   orders.side().to(…);
  template <class Out, class Side, class F>
  [[nodiscard]] SplitStream<Out, Side> split(std::string id, F f) const {
    return split_node<Out, Side>("split", std::move(id), false,
                                 [f = std::move(f)]() -> std::unique_ptr<SideOperator<T, Out, Side>> {
                                   return std::make_unique<internal::SplitOperator<T, Out, Side, F>>(f);
                                 });
  }
  /// A SplitStream<Record, Record>: a step that may refuse single records (json_replace and its like, or one of your own: engine/function.h); `on_error` says
  /// what becomes of those. kReject: they are in .rejected(), with headers that say why and where from.
  ///
  ///     auto rewritten = events.apply("rewrite", JsonReplace({…}), OnError::kReject);
  ///     rewritten.to(…);   rewritten.rejected().to(…);
  template <RecordStep Step>
  [[nodiscard]] auto apply(std::string id, Step step, OnError on_error = OnError::kFail) const {
    static_assert(std::same_as<T, Record>, "apply() is for streams of Record");
    Status problem = internal::check_function(step);
    return split_node<Record, Record>(
        "apply", std::move(id), internal::Stateful<Step>,
        [step = std::move(step), on_error]() -> std::unique_ptr<SideOperator<Record, Record, Record>> {
          return std::make_unique<internal::StepOperator<Step>>(step, on_error);
        },
        std::move(problem), on_error == OnError::kReject);
  }

  /// Gives each record its event time, and the stream its watermark: how far time has come in every split of the source, so this
  /// stands in front of the first exchange or union. `id` names the splits' times in checkpoints ("watermarks-1" where nothing is
  /// said). See time.md.
  ///
  ///     orders.watermarks(bounded_out_of_orderness<Order>(60s, &Order::time).idle_after(30s), "order-time")
  [[nodiscard]] Stream<T> watermarks(Watermarks<T> strategy, std::string id = {}) const {
    const auto input = materialise();
    const bool named = !id.empty();
    auto node =
        graph_->add<internal::WatermarkNode<T>>(named ? std::move(id) : graph_->next_id("watermarks"), std::move(strategy));
    node->named = named;
    node->inputs.push_back(input.node.get());
    input.outlet->add([node = node.get()](internal::ShardBuild& build) { return node->make_tail(build); });
    return {graph_, node, std::shared_ptr<internal::Outlet<T>>(node, &node->out)};
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

  /// Brings all records of a key to one shard: `key(record)` (or a member: `&Ride::zone`) is hashed to a key group, and that has a
  /// shard. A copy of `key` a shard. The order among records of one source split and key is kept. A key that is null is a key too.
  /// A key may be a view of its record's bytes (they are copied once, but for a Record's): a std::string that is made for each
  /// record is allocated for each record.
  template <class F>
  [[nodiscard]] auto key_by(F key, std::string id = {}) const {
    using Key = std::decay_t<std::invoke_result_t<F&, const T&>>;
    Status problem = internal::check_function(key);
    auto node = exchange<Keyed<Key, T>>("key_by", std::move(id), [key = std::move(key)](Context context, auto ports) {
      return std::make_unique<internal::KeyByTail<T, F>>(std::move(context), key, std::move(ports));
    });
    node->problem = std::move(problem);
    return KeyedStream<Key, T>(graph_, std::move(node));
  }
  /// Spreads the work over all shards: batches go round them. Order is kept within a batch only.
  [[nodiscard]] Stream<T> rebalance(std::string id = {}) const {
    auto node = exchange<T>("rebalance", std::move(id), [](const Context& context, auto ports) {
      return std::make_unique<internal::RebalanceTail<T>>(context, std::move(ports));
    });
    return {graph_, node, std::shared_ptr<internal::Outlet<T>>(node, &node->out)};
  }
  /// Every shard gets every record; those of one source split in its order.
  [[nodiscard]] Stream<T> broadcast(std::string id = {}) const {
    auto node = exchange<T>("broadcast", std::move(id), [](const Context& context, auto ports) {
      return std::make_unique<internal::BroadcastTail<T>>(context, std::move(ports));
    });
    return {graph_, node, std::shared_ptr<internal::Outlet<T>>(node, &node->out)};
  }
  /// What a broadcast table last said of a row's key: `orders.lookup_broadcast(rates, &Order::currency, &Rate::currency).left("rated", …)`.
  /// Every shard keeps all of `table`, so rows stay where they are: joins/joins.md.
  template <class Right, class RightRoot, class... RightSteps, class LeftKey, class RightKey>
  [[nodiscard]] auto lookup_broadcast(const Stream<Right, RightRoot, RightSteps...>& table, LeftKey left_key, RightKey right_key,
                                      LookupOptions options = {}) const;

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
  template <class Out, class Side>
  [[nodiscard]] SplitStream<Out, Side> split_node(std::string kind, std::string id, bool stateful,
                                                  std::function<std::unique_ptr<SideOperator<T, Out, Side>>()> make,
                                                  Status problem = {}, bool side_wanted = false) const {
    const auto input = materialise();
    auto node =
        graph_->add<internal::SideOperatorNode<T, Out, Side>>(std::move(kind), std::move(id), stateful, std::move(make));
    node->named = true;
    node->problem = std::move(problem);
    node->side_wanted = side_wanted;
    node->inputs.push_back(input.node.get());
    input.outlet->add([node](internal::ShardBuild& build) { return node->make_tail(build); });
    return {graph_, node};
  }
  /// `make(context, ports)`: the sending end on one shard.
  template <class Out, class Make>
  [[nodiscard]] std::shared_ptr<internal::ExchangeNode<Out>> exchange(const std::string& kind, std::string id, Make make) const {
    const auto input = materialise();
    const bool named = !id.empty();
    auto node = graph_->add<internal::ExchangeNode<Out>>(kind, named ? std::move(id) : graph_->next_id(kind));
    node->named = named;
    node->inputs.push_back(input.node.get());
    // A plain pointer: the graph owns this node and the one whose outlet keeps the function.
    input.outlet->add([node = node.get(), make](internal::ShardBuild& build) -> std::unique_ptr<internal::Tail<T>> {
      Context context = build.context;
      context.operator_id = node->id();
      return make(std::move(context), node->make_ports(build));
    });
    return node;
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
      std::apply(
          [&](const auto&... step) {
            ((node->problem.ok() ? void(node->problem = internal::check_function(step.f)) : void()), ...);
          },
          steps_);
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

template <class Out, class Side>
class SplitStream : public Stream<Out> {
 public:
  template <class In>
  SplitStream(std::shared_ptr<internal::Graph> graph, std::shared_ptr<internal::SideOperatorNode<In, Out, Side>> node)
      : Stream<Out>(graph, node, std::shared_ptr<internal::Outlet<Out>>(node, &node->out)),
        graph_(graph),
        node_(node),
        side_(node, &node->side) {}
  /// What went the other way.
  [[nodiscard]] Stream<Side> side() const { return {graph_, node_, side_}; }
  /// The same, where what goes aside are records that were refused: as they were, with headers that say why and where from.
  [[nodiscard]] Stream<Record> rejected() const
    requires std::same_as<Side, Record>
  {
    return side();
  }

 private:
  std::shared_ptr<internal::Graph> graph_;
  std::shared_ptr<const internal::Node> node_;
  std::shared_ptr<internal::Outlet<Side>> side_;
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

#include <sluice/engine/keyed_stream.h>  // IWYU pragma: export
