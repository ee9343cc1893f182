#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <sluice/engine/joins/co_operator.h>
#include <sluice/engine/joins/co_process.h>
#include <sluice/engine/joins/internal/connect.h>
#include <sluice/engine/stream.h>

namespace sluice {

/// Two streams on their way into one operator. What KeyedStream::connect makes; L and R are then Keyed<Key, …>.
///
///     orders.connect(payments).process<Paid>("match", Match{});
template <class L, class R>
class ConnectedStreams {
 public:
  /// For the builder.
  ConnectedStreams(std::shared_ptr<internal::Graph> graph, std::shared_ptr<internal::ConnectNode<L, R>> node)
      : graph_(std::move(graph)), node_(std::move(node)) {}

  /// A CoOperator, made by `make` once for each shard.
  template <class Out, class Make>
    requires std::constructible_from<std::function<std::unique_ptr<TwoInputOperator<L, R, Out>>()>, Make>
  [[nodiscard]] Stream<Out> process(std::string id, Make make) const {
    return both().template process<Out>(std::move(id),
                                        [make = std::move(make)]() -> std::unique_ptr<Operator<Either<L, R>, Out>> { return make(); });
  }
  /// The same with a second way out.
  template <class Out, class Side, class Make>
    requires std::constructible_from<std::function<std::unique_ptr<TwoInputSideOperator<L, R, Out, Side>>()>, Make>
  [[nodiscard]] SplitStream<Out, Side> process(std::string id, Make make) const {
    return both().template process<Out, Side>(
        std::move(id), [make = std::move(make)]() -> std::unique_ptr<SideOperator<Either<L, R>, Out, Side>> { return make(); });
  }
  /// A class with left() and right() that is told of each record: joins/co_process.h. A copy of it a shard.
  template <class Out, class F>
    requires requires(F& f, const L& left, const R& right, Collector<Out>& out) {
      f.left(left, EventTime(), out);
      f.right(right, EventTime(), out);
    }
  [[nodiscard]] Stream<Out> process(std::string id, F f) const {
    return both().template process<Out>(std::move(id), [f = std::move(f)]() -> std::unique_ptr<Operator<Either<L, R>, Out>> {
      return std::make_unique<internal::CoProcess<L, R, Out, F>>(f);
    });
  }
  template <class Out, class Side, class F>
    requires requires(F& f, const L& left, const R& right, Collector<Out>& out, Collector<Side>& side) {
      f.left(left, EventTime(), out, side);
      f.right(right, EventTime(), out, side);
    }
  [[nodiscard]] SplitStream<Out, Side> process(std::string id, F f) const {
    return both().template process<Out, Side>(std::move(id),
                                              [f = std::move(f)]() -> std::unique_ptr<SideOperator<Either<L, R>, Out, Side>> {
                                                return std::make_unique<internal::CoSideProcess<L, R, Out, Side, F>>(f);
                                              });
  }

  /// What is wrong with the two, or with what is to be made of them; found when the job is checked.
  void fault(Status problem) const {
    if (node_->problem.ok()) node_->problem = std::move(problem);
  }

 private:
  [[nodiscard]] Stream<Either<L, R>> both() const {
    return {graph_, node_, std::shared_ptr<internal::Outlet<Either<L, R>>>(node_, &node_->out)};
  }
  std::shared_ptr<internal::Graph> graph_;
  std::shared_ptr<internal::ConnectNode<L, R>> node_;
};

namespace internal {

/// `left` and `right`: what feed() takes, and the node that it belongs to.
template <class L, class R, class LeftFrom, class RightFrom>
[[nodiscard]] ConnectedStreams<L, R> connect(const std::shared_ptr<Graph>& graph, LeftFrom& left, const Node* left_node, RightFrom& right,
                                             const Node* right_node, bool of_one_job) {
  auto node = graph->add<ConnectNode<L, R>>(graph->next_id("connect"));
  node->inputs = {left_node, right_node};
  if (!of_one_job) node->problem = Status(Code::kInvalid, "the two streams belong to two jobs: begin both with from(…) of the same one");
  feed<true>(left, node.get());  // A plain pointer: the graph owns both nodes.
  feed<false>(right, node.get());
  return {graph, std::move(node)};
}

}  // namespace internal
}  // namespace sluice
