#include "pipeline_file/operator_checks.h"

#include "pipeline_file/check.h"
#include "pipeline_file/keyed_parts.h"
#include "pipeline_file/keys.h"
#include "pipeline_file/operators.h"
#include "pipeline_file/source_time.h"
#include <fmt/format.h>

namespace sluice::tools {

void check_operators(const Pipeline& pipeline, Problems& problems) {
  for (const OperatorSpec& spec : pipeline.operators) {
    if (spec.kind.empty() || spec.options == nullptr) continue;
    if (spec.on_error_place.source && !may_refuse(spec.kind)) {
      problems.add(spec.on_error_place, ProblemCode::kConflict,
                   fmt::format("operators.{}: {} refuses no record, so on_error has no effect",
                               spec.id, spec.kind),
                   "remove it");
    }
    // Only what is right key by key can be made; the rest was told already.
    Problems found;
    check(*spec.options, operator_section().find(spec.kind)->shape, {}, found);
    if (!found.ok()) continue;
    const Status made = keyed(spec.kind) ? check_keyed(spec) : make_step(spec).status();
    if (made.ok()) continue;
    problems.add(spec.options->place, ProblemCode::kExpression,
                 fmt::format("operators.{}.{}: {}", spec.id, spec.kind, made.message()));
  }
  for (const SourceSpec& spec : pipeline.sources) {
    if (spec.time == nullptr) continue;
    Problems found;
    check(*spec.time, source_section().find("time")->shape, {}, found);
    if (!found.ok()) continue;
    const Status made = make_watermarks(*spec.time).status();
    if (made.ok()) continue;
    problems.add(spec.time->place, ProblemCode::kExpression,
                 fmt::format("sources.{}.time: {}", spec.id, made.message()));
  }
}

}  // namespace sluice::tools
