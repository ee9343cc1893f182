#include "pipeline_file/keys.h"
#include "pipeline_file/shapes.h"
#include "pipeline_file/text_checks.h"

#include <algorithm>
#include <array>

// The keys of the job as a whole.
namespace sluice::tools {
namespace {

using namespace std::chrono_literals;

constexpr auto kModes = std::to_array<std::string_view>({"aligned"});
constexpr auto kLaterModes = std::to_array<std::string_view>({"unaligned", "at_least_once"});
constexpr auto kStrategies =
    std::to_array<std::string_view>({"exponential", "fixed_delay", "failure_rate", "none"});
constexpr auto kGuarantees =
    std::to_array<std::string_view>({"exactly_once", "at_least_once", "none"});

const Key kCheckpointKeys[] = {
    {.name = "interval",
     .shape = duration(1ms, 1h),
     .fallback = "1s",
     .help = "Time between checkpoints, and so between commits: output is visible to "
             "read_committed readers about so late.",
     .example = "100ms"},
    {.name = "timeout",
     .shape = duration(10ms, 24h),
     .fallback = "10m",
     .help = "A checkpoint that is not durable after this time has failed.",
     .example = "1m"},
    {.name = "min_pause",
     .shape = duration(0s, 1h),
     .fallback = "0s",
     .help = "Least time between the end of a checkpoint and the start of the next.",
     .example = "50ms"},
    {.name = "tolerable_failures",
     .shape = integer(0, 1'000'000),
     .fallback = "3",
     .help = "Checkpoints in a row that may fail before the job recovers from the last good one.",
     .example = "0"},
    {.name = "keep",
     .shape = integer(1, 1000),
     .fallback = "3",
     .help = "Decided checkpoints that stay in the directory.",
     .example = "10"},
    {.name = "directory",
     .shape = text(check_not_empty),
     .fallback = "state/NAME",
     .help = "Where checkpoints are written; one directory a job. Relative paths start at the "
             "working directory.",
     .example = "./state"},
    {.name = "mode",
     .shape = one_of(kModes, kLaterModes),
     .fallback = "aligned",
     .help = "How barriers pass operators with several inputs.",
     .example = "aligned"},
};

const Key kRestartKeys[] = {
    {.name = "strategy",
     .shape = one_of(kStrategies),
     .fallback = "exponential",
     .help = "What follows a failed attempt, in the same process.",
     .example = "fixed_delay"},
    {.name = "delay",
     .shape = duration(0s, 1h),
     .fallback = "100ms",
     .help = "Wait before the next attempt; with exponential the first of growing ones.",
     .example = "1s"},
    {.name = "delay_max",
     .shape = duration(0s, 24h),
     .fallback = "30s",
     .help = "The longest wait of exponential.",
     .example = "1m"},
    {.name = "attempts_max",
     .shape = integer(0, 1'000'000),
     .fallback = "0",
     .help = "Of fixed_delay: attempts before the job gives up; 0: no limit.",
     .example = "10"},
    {.name = "reset_after",
     .shape = duration(0s, 24h),
     .fallback = "1m",
     .help = "Work without a failure after which failures are counted anew.",
     .example = "10m"},
    {.name = "failures_max",
     .shape = integer(1, 1'000'000),
     .fallback = "3",
     .help = "Of failure_rate: failures within the interval before the job gives up.",
     .example = "5"},
    {.name = "interval",
     .shape = duration(1ms, 24h),
     .fallback = "5m",
     .help = "Of failure_rate: the time over which failures are counted.",
     .example = "10m"},
};

const Section kCheckpoint{.title = "checkpoint",
                          .help = "When and where the job's state is made durable.",
                          .keys = kCheckpointKeys};
const Section kRestart{
    .title = "restart", .help = "What follows a failed attempt.", .keys = kRestartKeys};

const Shape kTest = map_of(test_section());
const Shape kConnection = map_of(connection_section());
const Shape kSource = map_of(source_section());
const Shape kOperator = map_of(operator_section());
const Shape kSink = map_of(sink_section());

const Key kPipelineKeys[] = {
    {.name = "version",
     .shape = integer(1, 1),
     .need = Need::kRequired,
     .help = "Of the pipeline language.",
     .example = "1"},
    {.name = "name",
     .shape = text(check_job_name),
     .need = Need::kRequired,
     .help = "The job's identity: its decision, its transactional id and its state are found by "
             "it. 1 to 64 of A-Z a-z 0-9 . _ -",
     .example = "identity-rewrite"},
    {.name = "guarantee",
     .shape = one_of(kGuarantees),
     .fallback = "exactly_once",
     .help = "What the sinks promise: each record once, once or more after a crash, or no promise.",
     .example = "at_least_once"},
    {.name = "checkpoint",
     .shape = map_of(kCheckpoint),
     .help = "When and where state is made durable.",
     .example = "{interval: 100ms}"},
    {.name = "restart",
     .shape = map_of(kRestart),
     .help = "What follows a failed attempt.",
     .example = "{strategy: none}"},
    {.name = "shards",
     .shape = integer(1, 1024),
     .fallback = "1",
     .help = "Threads that share the work; a source partition belongs to one of them.",
     .example = "4"},
    {.name = "memory",
     .shape = text(),
     .help = "One budget for all buffers and caches.",
     .example = "512MiB",
     .not_yet = "remove it; buffers have fixed limits in this version"},
    {.name = "admin",
     .shape = text(),
     .help = "The admin service.",
     .example = "{listen: 127.0.0.1:8081}",
     .not_yet = "remove it; \"sluice run\" shows rate and checkpoints on its terminal"},
    {.name = "connections",
     .shape = map_by("name", kConnection, 0, check_id),
     .help = "Clusters, named once and used by sources and sinks.",
     .example = "{main: {brokers: \"127.0.0.1:9092\"}}"},
    {.name = "sources",
     .shape = map_by("name", kSource, 1, check_id),
     .need = Need::kRequired,
     .help = "Where records come from.",
     .example = "{events: {kafka: {connection: main, topics: [events], group: rewrite}}}"},
    {.name = "operators",
     .shape = map_by("name", kOperator, 0, check_id),
     .help = "What happens to records on their way. The name is the id of an operator's state: "
             "keep it when the pipeline changes.",
     .example = "{big: {input: events, filter: {greater: {/amount: 100}}}}"},
    {.name = "sinks",
     .shape = map_by("name", kSink, 1, check_id),
     .need = Need::kRequired,
     .help = "Where records go.",
     .example = "{out: {input: big, kafka: {connection: main, topic: big-events}}}"},
    {.name = "tests",
     .shape = list_of(kTest, 0),
     .help = "Input for an operator and what must come out; run by \"sluice test\".",
     .example = "[{target: big, input: ['{\"amount\":1}'], expect: []}]"},
};

const Section kPipeline{
    .title = "the pipeline", .help = "The keys at the top of the file.", .keys = kPipelineKeys};
const Shape kPipelineShape = map_of(kPipeline);

}  // namespace

const Section& pipeline_section() { return kPipeline; }
const Shape& pipeline_shape() { return kPipelineShape; }
const Section& checkpoint_section() { return kCheckpoint; }
const Section& restart_section() { return kRestart; }

namespace {

void add_all(const Shape& shape, std::vector<const Section*>& found);

/// The section and those below it, each once: conditions contain conditions.
void add_all(const Section& section, std::vector<const Section*>& found) {
  if (std::ranges::find(found, &section) != found.end()) return;
  found.push_back(&section);
  for (const Key& key : section.keys) add_all(key.shape, found);
  if (&section != &operator_section()) return;
  // One of them has free keys, so no key leads to it.
  for (const Section* const one : operator_sections()) add_all(*one, found);
}

void add_all(const Shape& shape, std::vector<const Section*>& found) {
  if (shape.section != nullptr) add_all(*shape.section, found);
  if (shape.values != nullptr) add_all(*shape.values, found);
  if (shape.items != nullptr) add_all(*shape.items, found);
}

}  // namespace

std::vector<const Section*> all_sections() {
  std::vector<const Section*> found;
  add_all(kPipeline, found);
  return found;
}

}  // namespace sluice::tools
