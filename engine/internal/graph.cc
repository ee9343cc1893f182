#include <sluice/engine/internal/graph.h>

#include <algorithm>
#include <ranges>
#include <set>

namespace sluice::internal {

std::string Graph::next_id(const std::string& kind) {
  const auto same = std::ranges::count_if(nodes_, [&](const auto& node) { return node->kind() == kind; });
  return fmt::format("{}-{}", kind, same + 1);
}

Status Graph::check() const {
  std::set<std::string> ids;
  for (const auto& node : nodes_) {
    if (!ids.insert(node->id()).second) {
      return Status(Code::kInvalid, "two parts of the pipeline have the id", fmt::format("\"{}\":", node->id()),
                    "ids name state in checkpoints, give each its own");
    }
    if (Status wrong = node->fault(); !wrong.ok()) {
      return Status(wrong.code(), node->kind(), fmt::format("\"{}\":", node->id()), wrong.message());
    }
    if (node->stateful() && !node->named) {
      return Status(Code::kInvalid, "operator", fmt::format("\"{}\"", node->id()),
                    "keeps state but has no name: call .name(\"…\") behind it, so that its state is found again after "
                    "the pipeline has changed");
    }
  }
  if (sources().empty()) return Status(Code::kInvalid, "the pipeline has no source: begin with job.from(…)");
  if (sinks().empty()) return Status(Code::kInvalid, "the pipeline has no sink: end a stream with .to(…)");
  return {};
}

void Graph::build_inboxes(ShardBuild& build) const {
  for (const auto& node : std::views::reverse(nodes_)) node->build_inbox(build);
}

void Graph::build(ShardBuild& build) const {
  for (const auto& node : std::views::reverse(nodes_)) {
    if (node->starts_stage()) node->build_stage(build);
  }
}

std::vector<SourceNodeBase*> Graph::sources() const {
  std::vector<SourceNodeBase*> found;
  for (const auto& node : nodes_) {
    if (auto* source = dynamic_cast<SourceNodeBase*>(node.get())) found.push_back(source);
  }
  return found;
}

std::vector<SinkNodeBase*> Graph::sinks() const {
  std::vector<SinkNodeBase*> found;
  for (const auto& node : nodes_) {
    if (auto* sink = dynamic_cast<SinkNodeBase*>(node.get())) found.push_back(sink);
  }
  return found;
}

std::string Graph::plan() const {
  std::string text;
  for (const auto& node : nodes_) {
    std::string inputs;
    for (const Node* input : node->inputs) inputs += (inputs.empty() ? " <- " : ", ") + input->id();
    text += fmt::format("{:<10} {}{}  ({})\n", node->kind(), node->id(), inputs, node->describe());
  }
  return text;
}

Status restore_states(const StateSet& states, const CheckpointData& restored, const Context& context) {
  for (const auto& [name, state] : states.all()) {
    for (const StateSnapshot& snapshot : restored.states) {
      if (snapshot.operator_id != context.operator_id || snapshot.state != name) continue;
      if (!state->reads(snapshot.type)) {
        return Status(Code::kCorrupt, fmt::format("state \"{}\" of operator \"{}\" is a {} in the checkpoint and a {} in the "
                                                  "program: restore with the program that wrote it, register a "
                                                  "migration, or start from nothing with --reset-decision",
                                                  name, context.operator_id, snapshot.type, state->type()));
      }
      const Status taken = state->restore(snapshot.bytes, context);
      if (!taken.ok()) return taken.with(fmt::format("(state \"{}\", as shard {} wrote it)", name, snapshot.shard));
    }
  }
  // What nobody reads would be lost without a word: windows of another kind keep theirs under another name.
  for (const StateSnapshot& snapshot : restored.states) {
    if (snapshot.operator_id != context.operator_id) continue;
    if (std::ranges::any_of(states.all(), [&](const auto& one) { return one.first == snapshot.state; })) continue;
    std::string has;
    for (const auto& [name, state] : states.all()) has += fmt::format("{}\"{}\", a {}", has.empty() ? "" : "; ", name, state->type());
    return Status(Code::kCorrupt, fmt::format("the checkpoint holds state \"{}\" of operator \"{}\", a {}, which the program does not "
                                              "read (it has {}): restore with the program that wrote it, go on declaring the "
                                              "state, or start from nothing with --reset-decision",
                                              snapshot.state, context.operator_id, snapshot.type, has.empty() ? "none" : has));
  }
  return {};
}

}  // namespace sluice::internal
