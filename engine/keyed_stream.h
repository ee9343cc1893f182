#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <sluice/engine/internal/process_operator.h>
#include <sluice/engine/joins/join_options.h>
#include <sluice/engine/keyed.h>
#include <sluice/engine/keyed_process.h>
#include <sluice/engine/stream.h>

namespace sluice {

/// Records that stand where the state of their key is: all of one key on one shard, those of one source split in its order.
/// What Stream::key_by makes.
///
///     orders.key_by([](const Order& o) { return o.customer; })
///         .process<Total>("totals", [] { return std::make_unique<Totals>(); })
///         .to(…);
template <class Key, class T>
class KeyedStream {
 public:
  /// For the builder; users get these from Stream::key_by.
  KeyedStream(std::shared_ptr<internal::Graph> graph, std::shared_ptr<internal::ExchangeNode<Keyed<Key, T>>> node)
      : graph_(std::move(graph)), node_(std::move(node)) {}

  /// An operator that is called once a batch and finds the key and its group beside each record; `make` makes one for each shard.
  template <class Out>
  [[nodiscard]] Stream<Out> process(std::string id,
                                    std::function<std::unique_ptr<Operator<Keyed<Key, T>, Out>>()> make) const {
    return records().template process<Out>(std::move(id), std::move(make));
  }
  /// The same with a second way out.
  template <class Out, class Side>
  [[nodiscard]] SplitStream<Out, Side> process(
      std::string id, std::function<std::unique_ptr<SideOperator<Keyed<Key, T>, Out, Side>>()> make) const {
    return records().template process<Out, Side>(std::move(id), std::move(make));
  }
  /// A function that is called for each record and each timer of a key, with its state; a copy of `f` a shard. A SplitStream where
  /// the function has a second way out. See engine/keyed_process.h.
  template <ProcessFunction F>
  [[nodiscard]] auto process(std::string id, F f) const {
    using Op = internal::ProcessOperator<F, Key, T>;
    auto make = [f = std::move(f)] { return std::make_unique<Op>(f); };
    if constexpr (std::is_void_v<typename F::Side>) {
      return process<typename F::Output>(std::move(id), std::move(make));
    } else {
      return process<typename F::Output, typename F::Side>(std::move(id), std::move(make));
    }
  }
  /// Cut into windows of event time: `window(tumbling(1h))`. Include engine/windows/windowed_stream.h.
  template <class Assigner>
  [[nodiscard]] auto window(Assigner assigner) const;
  /// As a plain stream, each record with its key.
  [[nodiscard]] Stream<Keyed<Key, T>> records() const {
    return {graph_, node_, std::shared_ptr<internal::Outlet<Keyed<Key, T>>>(node_, &node_->out)};
  }

  // ---- with a second stream of the same key: joins/joins.md ----

  /// Into one operator: `orders.connect(payments).process<Paid>("match", …)`.
  template <class RightKey, class Right>
  [[nodiscard]] auto connect(const KeyedStream<RightKey, Right>& right) const;
  /// Rows of both that are near in time: `orders.join(payments).between(-3s, 3s).left("paid", …)`, or `.window(tumbling(10s)).inner(…)`.
  template <class RightKey, class Right>
  [[nodiscard]] auto join(const KeyedStream<RightKey, Right>& right) const;
  /// What `table` last said of each row's key: `orders.lookup(customers).left("named", …)`.
  template <class RightKey, class Right>
  [[nodiscard]] auto lookup(const KeyedStream<RightKey, Right>& table, LookupOptions options = {}) const;

 private:
  template <class, class>
  friend class KeyedStream;

  std::shared_ptr<internal::Graph> graph_;
  std::shared_ptr<internal::ExchangeNode<Keyed<Key, T>>> node_;
};

}  // namespace sluice

#include <sluice/engine/joins/joined_streams.h>  // IWYU pragma: export
