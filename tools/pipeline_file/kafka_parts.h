#pragma once

#include <sluice/engine/sink.h>
#include <sluice/engine/source.h>
#include <sluice/kafka/options.h>

#include "pipeline_file/pipeline.h"

#include <memory>

/// From what the file says of Kafka sources and sinks to those of the engine. All carry whole
/// records: a format is checked, not decoded.
namespace sluice::tools {

[[nodiscard]] kafka::SourceOptions source_options(const Pipeline& pipeline, const SourceSpec& spec);
[[nodiscard]] kafka::SinkOptions sink_options(const Pipeline& pipeline, const SinkSpec& spec);

[[nodiscard]] std::shared_ptr<Source<Record>> make_source(const Pipeline& pipeline,
                                                          const SourceSpec& spec);
[[nodiscard]] std::shared_ptr<Sink<Record>> make_sink(const Pipeline& pipeline,
                                                      const SinkSpec& spec);

}  // namespace sluice::tools
