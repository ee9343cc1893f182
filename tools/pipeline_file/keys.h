#pragma once

#include "pipeline_file/shape.h"

#include <span>
#include <string_view>
#include <vector>

/// The tables of keys. What is written here is checked, proposed by editors and documented.
namespace sluice::tools {

[[nodiscard]] const Section& pipeline_section();
[[nodiscard]] const Shape& pipeline_shape();

// The parts, for pipeline_section() and for those who describe them.
[[nodiscard]] const Section& checkpoint_section();
[[nodiscard]] const Section& restart_section();
[[nodiscard]] const Section& connection_section();
[[nodiscard]] const Section& source_section();
[[nodiscard]] const Section& kafka_source_section();
[[nodiscard]] const Section& time_section();
[[nodiscard]] const Section& operator_section();
[[nodiscard]] const Section& window_section();
[[nodiscard]] const Section& deduplicate_section();
[[nodiscard]] const Section& join_section();
[[nodiscard]] const Section& lookup_section();
[[nodiscard]] const Section& sink_section();
[[nodiscard]] const Section& kafka_sink_section();
[[nodiscard]] const Section& test_section();

/// The sections in the order of the reference page.
[[nodiscard]] std::vector<const Section*> all_sections();

/// Of each operator: help, and an example that is run as a test.
[[nodiscard]] std::vector<const Section*> operator_sections();

/// What a failing record leads to: of sources and operators, and of sinks.
[[nodiscard]] const Shape& on_error_shape();
[[nodiscard]] const Shape& sink_on_error_shape();

}  // namespace sluice::tools
