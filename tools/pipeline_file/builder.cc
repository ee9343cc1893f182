#include "pipeline_file/builder.h"

#include <sluice/engine/operators/number.h>

#include "pipeline_file/join_parts.h"
#include "pipeline_file/kafka_parts.h"
#include "pipeline_file/keyed_parts.h"
#include "pipeline_file/operators.h"
#include "pipeline_file/source_time.h"

#include <algorithm>
#include <map>
#include <set>

namespace sluice::tools {
namespace {

using Records = Stream<Record>;

/// Adds parts in the order in which records reach them: sources, operators behind their inputs,
/// sinks behind everything that sends to them.
class Builder {
 public:
  explicit Builder(const Pipeline& pipeline) : pipeline_(pipeline), job_(pipeline.name) {
    job_.options = pipeline.options;
  }

  Job build() {
    for (const SourceSpec& spec : pipeline_.sources) source(spec);
    for (const OperatorSpec& spec : pipeline_.operators) add(spec);
    for (const SinkSpec& spec : pipeline_.sinks) add(spec);
    return std::move(job_);
  }

 private:
  void source(const SourceSpec& spec) {
    SourceStream<Record> stream = job_.from(make_source(pipeline_, spec), spec.id);
    send_to(spec.on_error, stream.rejected());
    if (spec.time == nullptr) {
      streams_.emplace(spec.id, stream);
      return;
    }
    Result<Watermarks<Record>> watermarks = make_watermarks(*spec.time);
    SLUICE_ASSERT(watermarks.ok());  // check_operators() made them before.
    streams_.emplace(spec.id, stream.watermarks(*std::move(watermarks), spec.id + ".time"));
  }

  void add(const OperatorSpec& spec) {
    if (streams_.contains(spec.id)) return;
    for (const Reference& input : spec.inputs) {
      if (const OperatorSpec* const before = pipeline_.find_operator(input.name)) add(*before);
    }
    for (const Reference& input : spec.second) {
      if (const OperatorSpec* const before = pipeline_.find_operator(input.name)) add(*before);
    }
    const Records input = united(spec.id, inputs_of(spec.inputs));
    if (keyed(spec.kind)) {
      const KeyedPart part =
          joins(spec.kind)
              ? add_join(spec, input, united(spec.id + ".second", inputs_of(spec.second)),
                         spec.on_error.what)
              : add_keyed(spec, input, spec.on_error.what);
      for (const Records& refused : part.refused) send_to(spec.on_error, refused);
      if (part.late) refused_.emplace(spec.late.name, *part.late);
      streams_.emplace(spec.id, part.out);
      return;
    }
    Result<Step> step = make_step(spec);
    SLUICE_ASSERT(step.ok());  // check_operators() made it before.
    const auto apply = [&](auto one) {
      if constexpr (std::same_as<decltype(one), NumberWriter>) {
        streams_.emplace(spec.id, input.process(spec.id, number<Record>(std::move(one))));
      } else {
        const auto split = input.apply(spec.id, std::move(one), spec.on_error.what);
        send_to(spec.on_error, split.rejected());
        streams_.emplace(spec.id, split);
      }
    };
    std::visit(apply, *std::move(step));
  }

  void add(const SinkSpec& spec) {
    if (!sinks_.insert(spec.id).second) return;
    for (const SinkSpec& before : pipeline_.sinks) {
      const bool feeds =
          before.on_error.what == OnError::kReject && before.on_error.sink.name == spec.id;
      if (feeds) add(before);
    }
    std::vector<Records> inputs = inputs_of(spec.inputs);
    const auto refused = refused_.equal_range(spec.id);
    for (auto at = refused.first; at != refused.second; ++at) inputs.push_back(at->second);
    const SinkHandle<Record> handle =
        united(spec.id, std::move(inputs)).to(make_sink(pipeline_, spec), spec.id);
    send_to(spec.on_error, handle.rejected());
  }

  void send_to(const OnErrorSpec& spec, Records refused) {
    if (spec.what == OnError::kReject) refused_.emplace(spec.sink.name, refused);
  }
  std::vector<Records> inputs_of(const std::vector<Reference>& names) const {
    std::vector<Records> inputs;
    for (const Reference& name : names) inputs.push_back(streams_.at(name.name));
    return inputs;
  }
  /// One stream of several; a union keeps no state, so its id may be made up.
  static Records united(const std::string& id, std::vector<Records> inputs) {
    SLUICE_ASSERT(!inputs.empty());
    Records all = inputs.front();
    for (std::size_t i = 1; i < inputs.size(); ++i) {
      all = all.union_with(inputs[i], fmt::format("{}.union-{}", id, i));
    }
    return all;
  }

  const Pipeline& pipeline_;
  Job job_;
  std::map<std::string, Records> streams_;  // Of sources and operators.
  std::multimap<std::string, Records>
      refused_;  // And late ones; by the sink that they are sent to.
  std::set<std::string> sinks_;
};

}  // namespace

Job build_job(const Pipeline& pipeline) { return Builder(pipeline).build(); }

}  // namespace sluice::tools
