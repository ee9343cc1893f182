#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sluice/engine/internal/exchange.h>
#include <sluice/engine/internal/inbox_stage.h>
#include <sluice/engine/internal/operator_tail.h>
#include <sluice/engine/internal/sink_tail.h>
#include <sluice/engine/internal/source_stage.h>

namespace sluice::internal {

/// A point of the graph as the user wrote it. No threads here; build() makes one shard's instance.
class Node {
 public:
  Node(std::string kind, std::string id) : kind_(std::move(kind)), id_(std::move(id)) {}
  virtual ~Node() = default;
  [[nodiscard]] const std::string& kind() const noexcept { return kind_; }
  [[nodiscard]] const std::string& id() const noexcept { return id_; }
  void rename(std::string id) { id_ = std::move(id); }
  [[nodiscard]] virtual std::string describe() const { return kind_; }
  /// Sources, unions and exchanges start a stage; all others are reached from one.
  [[nodiscard]] virtual bool starts_stage() const noexcept { return false; }
  /// On every shard before the first build_stage(): what is fed from other shards must be there.
  virtual void build_inbox(ShardBuild&) {}
  virtual void build_stage(ShardBuild&) {}
  /// The node whose stage this one is in, on so many shards: what has one stage is called by one coroutine.
  [[nodiscard]] virtual const Node* stage(std::uint16_t shards) const {
    return starts_stage() || inputs.empty() ? this : inputs.front()->stage(shards);
  }
  [[nodiscard]] virtual bool stateful() const noexcept { return false; }
  /// What is wrong with it wherever it runs.
  [[nodiscard]] virtual Status fault() const { return problem; }
  bool named = false;  ///< by the user, not by us
  Status problem;      ///< found when it was made
  std::vector<const Node*> inputs;

 private:
  const std::string kind_;
  std::string id_;
};

/// What the coordinator calls on sources, whatever they read.
class SourceNodeBase : public Node {
 public:
  using Node::Node;
  using Positions = std::optional<std::vector<SplitPosition>>;
  [[nodiscard]] virtual asio::awaitable<Status> check(Attempt& attempt) = 0;
  [[nodiscard]] virtual asio::awaitable<Result<std::vector<SplitPosition>>> start(Attempt& attempt,
                                                                                  Positions restored) = 0;
  [[nodiscard]] virtual asio::awaitable<Result<std::vector<SplitPosition>>> discover(Attempt& attempt) = 0;
  [[nodiscard]] virtual std::chrono::nanoseconds discovery_interval() const = 0;
  [[nodiscard]] virtual asio::awaitable<Status> close(Attempt& attempt) = 0;
};

class SinkNodeBase : public Node {
 public:
  using Node::Node;
  [[nodiscard]] virtual asio::awaitable<Status> check(Attempt& attempt) = 0;
  [[nodiscard]] virtual asio::awaitable<Status> start(Attempt& attempt) = 0;
  [[nodiscard]] virtual asio::awaitable<Status> delivered(Attempt& attempt) = 0;
  [[nodiscard]] virtual asio::awaitable<Status> commit(Epoch epoch, std::vector<PreparedOutput> prepared) = 0;
  [[nodiscard]] virtual asio::awaitable<Status> recover(Epoch epoch, std::vector<PreparedOutput> prepared) = 0;
  [[nodiscard]] virtual asio::awaitable<Status> close(Attempt& attempt) = 0;
};

/// A stream of T: whoever reads it adds itself; make_tail() builds what follows on one shard.
template <class T>
class Outlet {
 public:
  using Make = std::function<std::unique_ptr<Tail<T>>(ShardBuild&)>;
  void add(Make make) { readers_.push_back(std::move(make)); }
  [[nodiscard]] std::unique_ptr<Tail<T>> make_tail(ShardBuild& build) const {
    if (readers_.size() == 1) return readers_.front()(build);
    std::vector<std::unique_ptr<Tail<T>>> branches;
    for (const Make& make : readers_) branches.push_back(make(build));
    return std::make_unique<TeeTail<T>>(std::move(branches));
  }
  [[nodiscard]] bool read() const noexcept { return !readers_.empty(); }

 private:
  std::vector<Make> readers_;
};

template <class T>
class SourceNode final : public SourceNodeBase {
 public:
  SourceNode(std::string id, std::shared_ptr<Source<T>> source)
      : SourceNodeBase("source", std::move(id)), source_(std::move(source)) {}
  Outlet<T> out;
  Outlet<Record> rejected;

  std::string describe() const override { return source_->describe(); }
  asio::awaitable<Status> check(Attempt& attempt) override { return source_->check(attempt); }
  asio::awaitable<Result<std::vector<SplitPosition>>> start(Attempt& attempt,
                                                            Positions restored) override {
    return source_->start(attempt, id(), std::move(restored));
  }
  asio::awaitable<Result<std::vector<SplitPosition>>> discover(Attempt& attempt) override {
    return source_->discover(attempt, id());
  }
  std::chrono::nanoseconds discovery_interval() const override { return source_->discovery_interval(); }
  asio::awaitable<Status> close(Attempt& attempt) override { return source_->close(attempt); }

  bool starts_stage() const noexcept override { return true; }
  void build_stage(ShardBuild& build) override {
    std::vector<SplitPosition> starts;
    for (const SplitPosition& start : *build.starts) {
      if (start.source == id() && build.context.owns(start.split)) starts.push_back(start);
    }
    std::vector<Split> splits;
    for (const SplitPosition& start : starts) splits.push_back(start.split);
    auto watch = std::make_unique<SplitWatch>(std::move(splits));
    auto reader = source_->reader(*build.attempt, build.context.shard);
    build.splits = watch.get();
    auto tail = out.make_tail(build);
    auto dead = rejected.make_tail(build);
    build.splits = nullptr;
    build.stages.push_back(std::make_unique<SourceStage<T>>(build, id(), std::move(starts), std::move(reader),
                                                            std::move(tail), std::move(dead), std::move(watch)));
  }

 private:
  std::shared_ptr<Source<T>> source_;
};

template <class T>
class SinkNode final : public SinkNodeBase {
 public:
  SinkNode(std::string id, std::shared_ptr<Sink<T>> sink) : SinkNodeBase("sink", std::move(id)), sink_(std::move(sink)) {}
  Outlet<Record> rejected;

  std::string describe() const override { return sink_->describe(); }
  asio::awaitable<Status> check(Attempt& attempt) override { return sink_->check(attempt, id()); }
  asio::awaitable<Status> start(Attempt& attempt) override { return sink_->start(attempt); }
  asio::awaitable<Status> delivered(Attempt& attempt) override { return sink_->delivered(attempt); }
  asio::awaitable<Status> commit(Epoch epoch, std::vector<PreparedOutput> prepared) override {
    return sink_->commit(epoch, std::move(prepared));
  }
  asio::awaitable<Status> recover(Epoch epoch, std::vector<PreparedOutput> prepared) override {
    return sink_->recover(epoch, std::move(prepared));
  }
  asio::awaitable<Status> close(Attempt& attempt) override { return sink_->close(attempt); }

  [[nodiscard]] std::unique_ptr<Tail<T>> make_tail(ShardBuild& build) const {
    Context context = build.context;
    context.operator_id = id();
    auto tail = std::make_unique<SinkTail<T>>(std::move(context), build.hold_bytes_max, sink_->holds(),
                                              sink_->writer(*build.attempt, build.context.shard),
                                              rejected.make_tail(build));
    build.holders.push_back(tail.get());
    return tail;
  }

 private:
  std::shared_ptr<Sink<T>> sink_;
};

template <class In, class Out>
class OperatorNode final : public Node {
 public:
  using Make = std::function<std::unique_ptr<Operator<In, Out>>()>;
  OperatorNode(std::string kind, std::string id, bool stateful, Make make)
      : Node(std::move(kind), std::move(id)), stateful_(stateful), make_(std::move(make)) {}
  Outlet<Out> out;

  bool stateful() const noexcept override { return stateful_; }
  [[nodiscard]] std::unique_ptr<Tail<In>> make_tail(ShardBuild& build) const {
    Context context = build.context;
    context.operator_id = id();
    return std::make_unique<OperatorTail<In, Out>>(std::move(context), build.restored, make_(), out.make_tail(build));
  }

 private:
  const bool stateful_;
  const Make make_;
};

/// An operator with a second way out.
template <class In, class Out, class Side>
class SideOperatorNode final : public Node {
 public:
  using Make = std::function<std::unique_ptr<SideOperator<In, Out, Side>>()>;
  SideOperatorNode(std::string kind, std::string id, bool stateful, Make make)
      : Node(std::move(kind), std::move(id)), stateful_(stateful), make_(std::move(make)) {}
  Outlet<Out> out;
  Outlet<Side> side;
  bool side_wanted = false;  ///< what goes aside would be lost without a reader

  bool stateful() const noexcept override { return stateful_; }
  Status fault() const override {
    if (!problem.ok()) return problem;
    if (side_wanted && !side.read()) {
      return Status(Code::kInvalid, "rejects records, but nobody reads them: send .rejected() to a sink, or set on_error to fail or skip");
    }
    return {};
  }
  [[nodiscard]] std::unique_ptr<Tail<In>> make_tail(ShardBuild& build) const {
    Context context = build.context;
    context.operator_id = id();
    auto op = make_();
    auto exit = std::make_unique<SideExitTo<In, Out, Side>>(*op, side.make_tail(build));
    return std::make_unique<OperatorTail<In, Out>>(std::move(context), build.restored, std::move(op), out.make_tail(build),
                                                   std::move(exit));
  }

 private:
  const bool stateful_;
  const Make make_;
};

/// Makes this shard's inbox of `node`; its tail comes with build_stage().
template <class T>
void add_inbox(ShardBuild& build, const Node& node) {
  auto stage = std::make_unique<InboxStage<T>>(build, node.id());
  std::vector<void*>& by_shard = (*build.inboxes)[&node];
  by_shard.resize(build.context.parallelism);
  by_shard[build.context.shard.value()] = stage.get();
  build.stages.push_back(std::move(stage));  // Lives as long as the lanes are used; `inboxes` only finds it again.
}
template <class T>
[[nodiscard]] InboxStage<T>& inbox_of(ShardBuild& build, const Node& node, ShardId shard) {
  const auto found = build.inboxes->find(&node);
  SLUICE_ASSERT(found != build.inboxes->end() && found->second[shard.value()] != nullptr);
  return *static_cast<InboxStage<T>*>(found->second[shard.value()]);
}

template <class T>
class UnionNode final : public Node {
 public:
  explicit UnionNode(std::string id) : Node("union", std::move(id)) {}
  Outlet<T> out;

  bool starts_stage() const noexcept override { return true; }
  void build_inbox(ShardBuild& build) override { add_inbox<T>(build, *this); }
  void build_stage(ShardBuild& build) override {
    inbox_of<T>(build, *this, build.context.shard).set_tail(out.make_tail(build));
  }
  [[nodiscard]] std::unique_ptr<Tail<T>> make_lane(ShardBuild& build) const {
    InboxStage<T>& inbox = inbox_of<T>(build, *this, build.context.shard);
    return std::make_unique<LaneTail<T>>(inbox.add_lane(build.context.executor));
  }
};

/// Records that go to other shards: an inbox on each, fed by a lane from each. On one shard there is nothing to cross, and what
/// follows is called at once.
template <class T>
class ExchangeNode final : public Node {
 public:
  using Node::Node;
  Outlet<T> out;

  /// A reader with an inbox of its own, into which the lanes of this exchange go straight: makes the lane from this shard to another.
  using MakeLane = std::function<std::unique_ptr<Tail<T>>(ShardBuild&, ShardId to)>;
  void add_reader_by_lane(MakeLane make) { lanes_.push_back(std::move(make)); }

  bool starts_stage() const noexcept override { return true; }
  const Node* stage(std::uint16_t shards) const override { return shards == 1 ? inputs.front()->stage(shards) : this; }
  void build_inbox(ShardBuild& build) override {
    if (build.context.parallelism > 1 && ends_here()) add_inbox<T>(build, *this);
  }
  void build_stage(ShardBuild& build) override {
    if (build.context.parallelism > 1 && ends_here()) {
      inbox_of<T>(build, *this, build.context.shard).set_tail(out.make_tail(build));
    }
  }
  /// The ways to all shards, for one that sends from this one.
  [[nodiscard]] Ports<T> make_ports(ShardBuild& build) const {
    Ports<T> ports;
    for (std::uint16_t to = 0; to < build.context.parallelism; ++to) ports.push_back(make_port(build, ShardId(to)));
    return ports;
  }

 private:
  /// Somebody reads `out`, or nobody reads at all.
  [[nodiscard]] bool ends_here() const noexcept { return out.read() || lanes_.empty(); }
  [[nodiscard]] std::unique_ptr<Tail<T>> make_port(ShardBuild& build, ShardId to) const {
    std::vector<std::unique_ptr<Tail<T>>> ways;
    for (const MakeLane& make : lanes_) ways.push_back(make(build, to));
    if (ends_here() && build.context.parallelism == 1) {
      ways.push_back(out.make_tail(build));
    } else if (ends_here()) {
      ways.push_back(std::make_unique<LaneTail<T>>(inbox_of<T>(build, *this, to).add_lane(build.context.executor)));
    }
    if (ways.size() == 1) return std::move(ways.front());
    return std::make_unique<TeeTail<T>>(std::move(ways));
  }
  std::vector<MakeLane> lanes_;
};

/// All nodes, in the order in which the user made them: inputs before readers.
class Graph {
 public:
  template <class N, class... Args>
  std::shared_ptr<N> add(Args&&... args) {
    auto node = std::make_shared<N>(std::forward<Args>(args)...);
    nodes_.push_back(node);
    return node;
  }
  [[nodiscard]] const std::vector<std::shared_ptr<Node>>& nodes() const noexcept { return nodes_; }
  [[nodiscard]] std::string next_id(const std::string& kind);
  /// What can be wrong with it whatever runs: two of one id, state without a name, nothing to write to.
  [[nodiscard]] Status check() const;
  /// One shard's inboxes; on all shards, then
  void build_inboxes(ShardBuild& build) const;
  /// one shard's stages, which may feed the inboxes of others.
  void build(ShardBuild& build) const;
  [[nodiscard]] std::vector<SourceNodeBase*> sources() const;
  [[nodiscard]] std::vector<SinkNodeBase*> sinks() const;
  /// For people: a line a node.
  [[nodiscard]] std::string plan() const;

 private:
  std::vector<std::shared_ptr<Node>> nodes_;
};

}  // namespace sluice::internal
