#include "pipeline_file/pipeline.h"

#include "pipeline_file/keys.h"
#include "pipeline_file/values.h"

#include <algorithm>

namespace sluice::tools {
namespace {

using namespace std::chrono_literals;

/// Calls `call(id, key's place, value)` for each key of a map below `root`.
template <class Call>
void each(const Node& root, std::string_view part, Call call) {
  const Node* const map = root.find(part);
  if (map == nullptr) return;
  for (const Entry& entry : map->entries) call(entry.key, entry.place, entry.value);
}

Reference reference(const Node* node) {
  return node == nullptr ? Reference{} : Reference{text_or(node, ""), node->place};
}

std::vector<Reference> references(const Node* node) {
  std::vector<Reference> found;
  if (node == nullptr) return found;
  if (node->kind == Node::Kind::kScalar) found.push_back(reference(node));
  for (const Node& item : node->items) {
    if (item.kind == Node::Kind::kScalar) found.push_back(reference(&item));
  }
  return found;
}

OnErrorSpec on_error(const Node* node) {
  OnErrorSpec spec;
  if (node == nullptr) return spec;
  if (text_or(node, "") == "skip") spec.what = OnError::kSkip;
  if (const Node* const sink = node->find("send_to")) {
    spec.what = OnError::kReject;
    spec.sink = reference(sink);
  }
  return spec;
}

PropertySpecs properties(const Node* node) {
  PropertySpecs specs;
  if (node == nullptr) return specs;
  for (const Entry& entry : node->entries) {
    if (entry.value.kind != Node::Kind::kScalar) continue;
    specs[entry.key] = {entry.value.text, entry.place, entry.value.secret};
  }
  return specs;
}

CheckpointOptions checkpoints(const Node& root) {
  CheckpointOptions options;
  const Node* const section = root.find("checkpoint");
  if (section == nullptr) return options;
  const auto us = [&](std::string_view key, std::chrono::nanoseconds otherwise) {
    return duration_or(section->find(key),
                       std::chrono::duration_cast<std::chrono::microseconds>(otherwise));
  };
  options.interval = us("interval", options.interval);
  options.timeout = us("timeout", options.timeout);
  options.min_pause = us("min_pause", options.min_pause);
  options.tolerable_failures = static_cast<std::uint32_t>(
      integer_or(section->find("tolerable_failures"), options.tolerable_failures));
  options.keep = static_cast<std::uint32_t>(integer_or(section->find("keep"), options.keep));
  options.directory = text_or(section->find("directory"), "");
  return options;
}

RestartOptions restarts(const Node& root) {
  RestartOptions options;
  const Node* const section = root.find("restart");
  if (section == nullptr) return options;
  const std::string strategy = text_or(section->find("strategy"), "exponential");
  using Strategy = RestartOptions::Strategy;
  if (strategy == "none") options.strategy = Strategy::kNone;
  if (strategy == "fixed_delay") options.strategy = Strategy::kFixedDelay;
  if (strategy == "failure_rate") options.strategy = Strategy::kFailureRate;
  const auto us = [&](std::string_view key, std::chrono::nanoseconds otherwise) {
    return duration_or(section->find(key),
                       std::chrono::duration_cast<std::chrono::microseconds>(otherwise));
  };
  options.delay = us("delay", options.delay);
  options.delay_max = us("delay_max", options.delay_max);
  options.reset_after = us("reset_after", options.reset_after);
  options.interval = us("interval", options.interval);
  options.attempts_max =
      static_cast<std::uint32_t>(integer_or(section->find("attempts_max"), options.attempts_max));
  options.failures_max =
      static_cast<std::uint32_t>(integer_or(section->find("failures_max"), options.failures_max));
  return options;
}

SourceSpec source(const std::string& id, const Place& place, const Node& node) {
  SourceSpec spec{
      .id = id, .place = place, .connection = {}, .format = {}, .on_error = {}, .properties = {}};
  spec.format = text_or(node.find("format"), "bytes");
  spec.on_error = on_error(node.find("on_error"));
  spec.kafka = node.find("kafka");
  spec.time = node.find("time");
  if (spec.kafka == nullptr) return spec;
  spec.connection = reference(spec.kafka->find("connection"));
  spec.properties = properties(spec.kafka->find("properties"));
  return spec;
}

OperatorSpec an_operator(const std::string& id, const Place& place, const Node& node) {
  OperatorSpec spec{.id = id,
                    .place = place,
                    .inputs = references(node.find("input")),
                    .kind = {},
                    .on_error = on_error(node.find("on_error")),
                    .on_error_place = {}};
  if (const Entry* const given = node.entry("on_error")) spec.on_error_place = given->place;
  for (const Key& key : operator_section().keys) {
    const Node* const options = node.find(key.name);
    if (key.need != Need::kOneOf || options == nullptr) continue;
    spec.kind = spec.options == nullptr ? std::string(key.name) : std::string();
    spec.options = options;
  }
  if (spec.kind == "join") spec.second = references(spec.options->find("with"));
  if (spec.kind == "lookup") spec.second = references(spec.options->find("table"));
  if (spec.kind != "window") return spec;
  if (const Node* const late = spec.options->find("late"))
    spec.late = reference(late->find("send_to"));
  return spec;
}

SinkSpec sink(const std::string& id, const Place& place, const Node& node) {
  SinkSpec spec{.id = id,
                .place = place,
                .inputs = references(node.find("input")),
                .connection = {},
                .topic = {},
                .on_error = on_error(node.find("on_error")),
                .properties = {}};
  spec.kafka = node.find("kafka");
  if (spec.kafka == nullptr) return spec;
  spec.connection = reference(spec.kafka->find("connection"));
  spec.topic = text_or(spec.kafka->find("topic"), "");
  spec.properties = properties(spec.kafka->find("properties"));
  return spec;
}

TestSpec test(const Node& node) {
  TestSpec spec{
      .place = node.place, .target = reference(node.find("target")), .input = {}, .expect = {}};
  const auto texts = [](const Node* list, std::vector<const Node*>& into) {
    if (list == nullptr) return;
    for (const Node& item : list->items) into.push_back(&item);
  };
  texts(node.find("input"), spec.input);
  texts(node.find("expect"), spec.expect);
  spec.errors = integer_or(node.find("errors"), 0);
  return spec;
}

/// What a side is known by in its state: the first source in the file that leads to it. So an operator
/// may come between, and another source behind that one, and the state stays.
std::string first_source(const Pipeline& pipeline, const std::vector<Reference>& inputs) {
  std::set<std::string> before;
  parts_before(pipeline, inputs, before);
  const auto at = std::ranges::find_if(
      pipeline.sources, [&](const SourceSpec& source) { return before.contains(source.id); });
  return at == pipeline.sources.end() ? std::string() : at->id;
}

void name_sides(Pipeline& pipeline) {
  for (OperatorSpec& op : pipeline.operators) {
    if (op.second.empty()) continue;
    op.first_source = first_source(pipeline, op.inputs);
    op.second_source = first_source(pipeline, op.second);
  }
}

}  // namespace

const ConnectionSpec* Pipeline::connection(const std::string& id) const {
  const auto at = std::ranges::find(connections, id, &ConnectionSpec::id);
  return at == connections.end() ? nullptr : &*at;
}

const OperatorSpec* Pipeline::find_operator(const std::string& id) const {
  const auto at = std::ranges::find(operators, id, &OperatorSpec::id);
  return at == operators.end() ? nullptr : &*at;
}

void parts_before(const Pipeline& pipeline, const std::vector<Reference>& inputs,
                  std::set<std::string>& seen) {
  for (const Reference& input : inputs) {
    if (!seen.insert(input.name).second) continue;
    if (const OperatorSpec* const before = pipeline.find_operator(input.name)) {
      parts_before(pipeline, before->inputs, seen);
      parts_before(pipeline, before->second, seen);
    }
  }
}

Pipeline read_pipeline(std::shared_ptr<const Node> root) {
  Pipeline pipeline;
  const Node& top = *root;
  pipeline.root = std::move(root);
  pipeline.name = text_or(top.find("name"), "");
  const std::string guarantee = text_or(top.find("guarantee"), "exactly_once");
  if (guarantee == "at_least_once") pipeline.guarantee = Delivery::kAtLeastOnce;
  if (guarantee == "none") pipeline.guarantee = Delivery::kNone;
  pipeline.options.checkpoint = checkpoints(top);
  pipeline.options.restart = restarts(top);
  pipeline.options.shards = static_cast<std::uint16_t>(integer_or(top.find("shards"), 1));
  each(top, "connections", [&](const std::string& id, const Place& place, const Node& node) {
    pipeline.connections.push_back(
        {id, place, text_or(node.find("brokers"), ""), properties(node.find("properties"))});
  });
  each(top, "sources", [&](const std::string& id, const Place& place, const Node& node) {
    pipeline.sources.push_back(source(id, place, node));
  });
  each(top, "operators", [&](const std::string& id, const Place& place, const Node& node) {
    pipeline.operators.push_back(an_operator(id, place, node));
  });
  each(top, "sinks", [&](const std::string& id, const Place& place, const Node& node) {
    pipeline.sinks.push_back(sink(id, place, node));
  });
  name_sides(pipeline);
  if (const Node* const tests = top.find("tests")) {
    for (const Node& node : tests->items) pipeline.tests.push_back(test(node));
  }
  return pipeline;
}

}  // namespace sluice::tools
