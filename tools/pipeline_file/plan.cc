#include "pipeline_file/plan.h"

#include "pipeline_file/keyed_parts.h"
#include "pipeline_file/settings.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace sluice::tools {
namespace {

/// A part of the graph as all three forms show it.
struct Part {
  std::string_view role;  ///< "source", "operator", "sink"
  std::string id;
  std::string what;  ///< "kafka events-a, events-b", "json_replace"
  std::vector<std::string> inputs;
  std::string refused_to;  ///< the sink of on_error, or empty
  std::string late_to;     ///< the sink of late records, or empty
};

std::string topics(const Node* kafka) {
  if (const Node* const pattern = kafka->find("topic_pattern")) return "/" + pattern->text + "/";
  std::vector<std::string> names;
  if (const Node* const list = kafka->find("topics")) {
    for (const Node& item : list->items) names.push_back(item.text);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// ", time /ts": where event time comes from.
std::string time(const Node* given) {
  if (given == nullptr) return {};
  const Node* const field = given->find("field");
  return ", time " + (field == nullptr ? std::string("of the record") : field->text);
}

std::vector<std::string> names(const std::vector<Reference>& references) {
  std::vector<std::string> found;
  for (const Reference& reference : references) found.push_back(reference.name);
  return found;
}

std::vector<Part> parts_of(const Pipeline& pipeline) {
  std::vector<Part> parts;
  for (const SourceSpec& source : pipeline.sources) {
    parts.push_back({"source",
                     source.id,
                     "kafka " + topics(source.kafka) + time(source.time),
                     {},
                     source.on_error.sink.name,
                     {}});
  }
  for (const OperatorSpec& op : pipeline.operators) {
    std::vector<Reference> inputs = op.inputs;
    inputs.insert(inputs.end(), op.second.begin(), op.second.end());
    parts.push_back({"operator", op.id, keyed(op.kind) ? describe_keyed(op) : op.kind,
                     names(inputs), op.on_error.sink.name, op.late.name});
  }
  for (const SinkSpec& sink : pipeline.sinks) {
    parts.push_back(
        {"sink", sink.id, "kafka " + sink.topic, names(sink.inputs), sink.on_error.sink.name, {}});
  }
  return parts;
}

std::string dot_text(std::string_view text) {
  std::string escaped = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped + '"';
}

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

void field(Writer& writer, std::string_view name, std::string_view value) {
  writer.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
  writer.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
}

void write(Writer& writer, const Part& part) {
  writer.StartObject();
  field(writer, "role", part.role);
  field(writer, "id", part.id);
  field(writer, "what", part.what);
  writer.Key("inputs");
  writer.StartArray();
  for (const std::string& input : part.inputs) writer.String(input.c_str());
  writer.EndArray();
  if (!part.refused_to.empty()) field(writer, "refused_to", part.refused_to);
  if (!part.late_to.empty()) field(writer, "late_to", part.late_to);
  writer.EndObject();
}

}  // namespace

std::string plan_text(const Pipeline& pipeline, bool origins) {
  std::string text = fmt::format("pipeline {}\n\n", pipeline.name);
  for (const Part& part : parts_of(pipeline)) {
    text += fmt::format("{:<9} {:<16} {}", part.role, part.id, part.what);
    if (!part.inputs.empty()) text += fmt::format("  <- {}", fmt::join(part.inputs, ", "));
    if (!part.refused_to.empty()) text += fmt::format("  (refused -> {})", part.refused_to);
    if (!part.late_to.empty()) text += fmt::format("  (late -> {})", part.late_to);
    text += '\n';
  }
  text += '\n';
  const std::vector<Setting> settings = settings_of(*pipeline.root);
  std::size_t width = 0;
  for (const Setting& setting : settings) {
    width = std::max(width, setting.path.size() + setting.value.size() + 2);
  }
  for (const Setting& setting : settings) {
    const std::string line = fmt::format("{}: {}", setting.path, setting.value);
    text += origins ? fmt::format("{:<{}}  # {}\n", line, std::min<std::size_t>(width, 72),
                                  setting.origin)
                    : line + '\n';
  }
  return text;
}

std::string plan_dot(const Pipeline& pipeline) {
  std::string text = fmt::format("digraph {} {{\n  rankdir=LR;\n", dot_text(pipeline.name));
  const std::vector<Part> parts = parts_of(pipeline);
  for (const Part& part : parts) {
    const std::string_view shape = part.role == "operator" ? "box" : "cylinder";
    text += fmt::format("  {} [shape={}, label={}];\n", dot_text(part.id), shape,
                        dot_text(part.id + "\n" + part.what));
  }
  for (const Part& part : parts) {
    for (const std::string& input : part.inputs) {
      text += fmt::format("  {} -> {};\n", dot_text(input), dot_text(part.id));
    }
    if (!part.refused_to.empty()) {
      text += fmt::format("  {} -> {} [style=dashed, label=\"refused\"];\n", dot_text(part.id),
                          dot_text(part.refused_to));
    }
    if (!part.late_to.empty()) {
      text += fmt::format("  {} -> {} [style=dashed, label=\"late\"];\n", dot_text(part.id),
                          dot_text(part.late_to));
    }
  }
  return text + "}\n";
}

std::string plan_json(const Pipeline& pipeline, bool origins) {
  rapidjson::StringBuffer buffer;
  Writer writer(buffer);
  writer.StartObject();
  writer.Key("schema_version");
  writer.Int(1);
  field(writer, "command", "plan");
  field(writer, "pipeline", pipeline.name);
  writer.Key("graph");
  writer.StartArray();
  for (const Part& part : parts_of(pipeline)) write(writer, part);
  writer.EndArray();
  writer.Key("settings");
  writer.StartArray();
  for (const Setting& setting : settings_of(*pipeline.root)) {
    writer.StartObject();
    field(writer, "path", setting.path);
    field(writer, "value", setting.value);
    if (origins) field(writer, "origin", setting.origin);
    writer.EndObject();
  }
  writer.EndArray();
  writer.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + '\n';
}

}  // namespace sluice::tools
