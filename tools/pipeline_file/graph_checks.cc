#include "pipeline_file/graph_checks.h"

#include "pipeline_file/join_parts.h"
#include "pipeline_file/keyed_parts.h"
#include "pipeline_file/spelling.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace sluice::tools {
namespace {

enum class Role : std::uint8_t { kSource, kOperator, kSink };

/// A source, an operator or a sink, and what feeds it.
struct Part {
  Role role;
  Place place;
  std::vector<Reference> inputs;  // Those that exist.
  bool read = false;              // Somebody takes its records.
  bool fed_by_errors = false;
};

class GraphCheck {
 public:
  GraphCheck(const Pipeline& pipeline, Problems& problems)
      : pipeline_(pipeline), problems_(problems) {}

  void run() {
    for (const SourceSpec& source : pipeline_.sources) add(source.id, source.place, Role::kSource);
    for (const OperatorSpec& op : pipeline_.operators) add(op.id, op.place, Role::kOperator);
    for (const SinkSpec& sink : pipeline_.sinks) add(sink.id, sink.place, Role::kSink);
    for (const SourceSpec& source : pipeline_.sources) send_to(source.id, source.on_error);
    for (const OperatorSpec& op : pipeline_.operators) {
      inputs(op.id, op.inputs);
      inputs(op.id, op.second);
      send_to(op.id, op.on_error);
      if (!op.late.name.empty()) send_to(op.id, op.late);
    }
    for (const SinkSpec& sink : pipeline_.sinks) {
      inputs(sink.id, sink.inputs);
      send_to(sink.id, sink.on_error);
    }
    connections();
    tests();
    circles();
    unused();
    numbers();
    times();
    documents();
    inner_names();
  }

 private:
  void add(const std::string& id, const Place& place, Role role) {
    const auto [at, added] = parts_.emplace(id, Part{role, place, {}});
    if (added) return;
    same_id_ = true;
    problems_.add(place, ProblemCode::kSameId, fmt::format("the name \"{}\" is used twice", id),
                  fmt::format("the other one is at {}", at->second.place.text()));
  }
  std::vector<std::string> names(std::initializer_list<Role> roles) const {
    std::vector<std::string> found;
    for (const auto& [id, part] : parts_) {
      if (std::ranges::find(roles, part.role) != roles.end()) found.push_back(id);
    }
    return found;
  }
  void undefined(const Reference& reference, std::string_view what,
                 const std::vector<std::string>& candidates) {
    std::string hint = did_you_mean(reference.name, candidates);
    if (hint.empty()) {
      hint = candidates.empty() ? "the file defines none"
                                : fmt::format("there is {}", fmt::join(candidates, ", "));
    }
    problems_.add(reference.place, ProblemCode::kUndefined,
                  fmt::format("there is no {} \"{}\"", what, reference.name), hint);
  }
  void inputs(const std::string& id, const std::vector<Reference>& given) {
    std::set<std::string> seen;
    for (const Reference& input : given) {
      const auto at = parts_.find(input.name);
      if (at == parts_.end() || at->second.role == Role::kSink) {
        undefined(input, "source or operator", names({Role::kSource, Role::kOperator}));
      } else if (!seen.insert(input.name).second) {
        problems_.add(input.place, ProblemCode::kDuplicate,
                      fmt::format("the input \"{}\" is named twice", input.name));
      } else {
        at->second.read = true;
        parts_.at(id).inputs.push_back(input);
      }
    }
  }
  void send_to(const std::string& id, const OnErrorSpec& on_error) {
    if (on_error.what == OnError::kReject) send_to(id, on_error.sink);
  }
  void send_to(const std::string& id, const Reference& sink) {
    const auto at = parts_.find(sink.name);
    if (at == parts_.end() || at->second.role != Role::kSink) {
      undefined(sink, "sink", names({Role::kSink}));
      return;
    }
    at->second.fed_by_errors = true;
    at->second.inputs.push_back({id, sink.place});
  }
  void connections() {
    std::set<std::string> used;
    std::vector<std::string> known;
    for (const ConnectionSpec& connection : pipeline_.connections) known.push_back(connection.id);
    const auto use = [&](const Reference& reference) {
      if (reference.name.empty()) return;  // A missing key; told already.
      used.insert(reference.name);
      if (pipeline_.connection(reference.name) == nullptr) {
        undefined(reference, "connection", known);
      }
    };
    for (const SourceSpec& source : pipeline_.sources) use(source.connection);
    for (const SinkSpec& sink : pipeline_.sinks) use(sink.connection);
    for (const ConnectionSpec& connection : pipeline_.connections) {
      if (used.contains(connection.id)) continue;
      problems_.add(connection.place, ProblemCode::kUnusedPart,
                    fmt::format("no source or sink uses the connection \"{}\"", connection.id));
    }
  }
  void tests() {
    for (const TestSpec& test : pipeline_.tests) {
      if (test.target.name.empty()) continue;
      if (const OperatorSpec* const op = pipeline_.find_operator(test.target.name)) {
        for (const Node* const line : test.input) test_line(*line, *op);
      } else {
        undefined(test.target, "operator", names({Role::kOperator}));
      }
    }
  }
  /// Of an operator with two inputs each line is {input: value}, of another it is the value.
  void test_line(const Node& line, const OperatorSpec& op) {
    const bool map = line.kind == Node::Kind::kMap;
    if (!joins(op.kind)) {
      if (!map) return;
      problems_.add(line.place, ProblemCode::kWrongType,
                    fmt::format("this line says which input it is of, but \"{}\" has only one", op.id),
                    "write the value alone");
      return;
    }
    std::vector<std::string> inputs;
    for (const Reference& input : op.inputs) inputs.push_back(input.name);
    for (const Reference& input : op.second) inputs.push_back(input.name);
    if (!map || line.entries.size() != 1) {
      problems_.add(line.place, ProblemCode::kWrongType,
                    fmt::format("\"{}\" has two inputs, so each line says which it is of, and is one "
                                "record",
                                op.id),
                    inputs.empty() ? "" : fmt::format("write {{{}: '…'}}", inputs.front()));
      return;
    }
    const Entry& entry = line.entries.front();
    if (std::ranges::find(inputs, entry.key) == inputs.end()) {
      undefined({entry.key, entry.place}, fmt::format("input of \"{}\" called", op.id), inputs);
    }
  }

  // ---- circles ----

  void circles() {
    if (same_id_) return;  // Whose inputs are whose is not known.
    for (const auto& [id, part] : parts_) {
      std::vector<std::string> path;
      if (circle(id, path)) return;  // One is enough: what hangs on it would only repeat it.
    }
  }
  bool circle(const std::string& id, std::vector<std::string>& path) {
    const auto at = std::ranges::find(path, id);
    if (at != path.end()) {
      std::vector<std::string> around(at, path.end());
      around.push_back(id);
      std::ranges::reverse(around);  // We followed inputs; records flow the other way.
      problems_.add(parts_.at(id).place, ProblemCode::kCycle,
                    fmt::format("records would flow in a circle: {}", fmt::join(around, " -> ")));
      return true;
    }
    if (done_.contains(id)) return false;
    path.push_back(id);
    for (const Reference& input : parts_.at(id).inputs) {
      if (circle(input.name, path)) return true;
    }
    path.pop_back();
    done_.insert(id);
    return false;
  }

  // ---- parts without effect, and in the wrong place ----

  void unused() {
    for (const auto& [id, part] : parts_) {
      if (part.role == Role::kSink) {
        const auto sink = std::ranges::find(pipeline_.sinks, id, &SinkSpec::id);
        if (!sink->inputs.empty() || part.fed_by_errors) continue;
        problems_.add(part.place, ProblemCode::kUnused,
                      fmt::format("nothing is written to the sink \"{}\"", id),
                      "give it an input, let an on_error send to it, or remove it");
      } else if (!part.read) {
        problems_.add(part.place, ProblemCode::kUnused,
                      fmt::format("nothing reads the {} \"{}\"",
                                  part.role == Role::kSource ? "source" : "operator", id),
                      "name it as an input, or remove it");
      }
    }
  }
  /// Whether batches of this part still come from one partition each.
  bool ordered(const std::string& id, std::size_t depth = 0) const {
    const auto at = parts_.find(id);
    if (at == parts_.end() || depth > parts_.size()) return true;  // A circle; told already.
    const std::vector<Reference>& inputs = at->second.inputs;
    if (at->second.role == Role::kSource) return true;
    if (inputs.size() > 1) return false;
    const OperatorSpec* const op = pipeline_.find_operator(id);
    if (op != nullptr && keyed(op->kind) && depth > 0) return false;
    return inputs.empty() || ordered(inputs.front().name, depth + 1);
  }
  void numbers() {
    for (const OperatorSpec& op : pipeline_.operators) {
      if (op.kind != "number" || ordered(op.id)) continue;
      problems_.add(
          op.place, ProblemCode::kOrder,
          fmt::format("operator \"{}\" numbers records behind a union or an operator with "
                      "a key, where source partitions have no order any more",
                      op.id),
          "number each source in front of it");
    }
  }

  // ---- event time ----

  /// The sources whose records reach a part.
  void sources_of(const std::string& id, std::set<std::string>& seen) const {
    const auto at = parts_.find(id);
    if (at == parts_.end() || !seen.insert(id).second) return;
    for (const Reference& input : at->second.inputs) sources_of(input.name, seen);
  }
  void times() {
    for (const OperatorSpec& op : pipeline_.operators) {
      if (op.options == nullptr || !keyed(op.kind) || !needs_time(op)) continue;
      std::set<std::string> before;
      sources_of(op.id, before);
      for (const SourceSpec& source : pipeline_.sources) {
        if (source.time != nullptr || !before.contains(source.id)) continue;
        problems_.add(
            op.place, ProblemCode::kNoTime,
            fmt::format("operator \"{}\" ({}) needs event time, and its source \"{}\" has none",
                        op.id, op.kind, source.id),
            fmt::format("give {} a time: {{field: /ts, unit: ms, max_out_of_order: 5s, idle_after: "
                        "30s}}, or {{from: record, idle_after: 30s}} for Kafka's timestamps",
                        source.id));
      }
    }
  }

  // ---- documents that are copied ----

  /// The sources whose values reach a part; a window's rows are our own.
  void documents_of(const std::string& id, std::set<std::string>& seen) const {
    const auto at = parts_.find(id);
    if (at == parts_.end() || !seen.insert(id).second) return;
    for (const Reference& input : at->second.inputs) {
      const OperatorSpec* const op = pipeline_.find_operator(input.name);
      if (op == nullptr || op->kind != "window") documents_of(input.name, seen);
    }
  }
  void documents() {
    std::set<std::string> told;
    for (const OperatorSpec& op : pipeline_.operators) {
      if (!joins(op.kind)) continue;
      std::set<std::string> before;
      documents_of(op.id, before);
      for (const SourceSpec& source : pipeline_.sources) {
        if (source.format == "json" || !before.contains(source.id)) continue;
        if (!told.insert(source.id).second) continue;
        problems_.add(source.place, ProblemCode::kNotJson,
                      fmt::format("operator \"{}\" ({}) copies whole JSON documents, and source "
                                  "\"{}\" has format {}",
                                  op.id, op.kind, source.id, source.format),
                      fmt::format("give {} format: json", source.id));
      }
    }
  }

  // ---- names that our own parts have ----

  void inner_name(const std::string& inner, const std::string& owner) {
    const auto at = parts_.find(inner);
    if (at == parts_.end()) return;
    problems_.add(at->second.place, ProblemCode::kSameId,
                  fmt::format("the name \"{}\" is that of a part of \"{}\"", inner, owner),
                  "give it another");
  }
  void inner_names() {
    for (const SourceSpec& source : pipeline_.sources) {
      if (source.time != nullptr) inner_name(source.id + ".time", source.id);
    }
    for (const OperatorSpec& op : pipeline_.operators) {
      for (const std::string& inner : inner_ids(op)) inner_name(inner, op.id);
      for (std::size_t i = 1; i < op.second.size(); ++i)
        inner_name(fmt::format("{}.second.union-{}", op.id, i), op.id);
    }
    for (const auto& [id, part] : parts_) {
      for (std::size_t i = 1; i < part.inputs.size(); ++i)
        inner_name(fmt::format("{}.union-{}", id, i), id);
    }
  }

  const Pipeline& pipeline_;
  Problems& problems_;
  std::map<std::string, Part> parts_;
  std::set<std::string> done_;
  bool same_id_ = false;
};

}  // namespace

void check_graph(const Pipeline& pipeline, Problems& problems) {
  GraphCheck(pipeline, problems).run();
}

}  // namespace sluice::tools
