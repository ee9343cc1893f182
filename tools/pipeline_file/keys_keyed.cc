#include "pipeline_file/keys.h"
#include "pipeline_file/shapes.h"
#include "pipeline_file/text_checks.h"

#include <array>

// The keys of event time and of operators with a key.
namespace sluice::tools {
namespace {

using namespace std::chrono_literals;

constexpr auto kRecord = std::to_array<std::string_view>({"record"});
constexpr auto kUnits = std::to_array<std::string_view>({"s", "ms", "us", "ns"});
constexpr auto kNever = std::to_array<std::string_view>({"never"});
constexpr auto kMissing = std::to_array<std::string_view>({"fail", "skip", "arrival"});
constexpr auto kCount = std::to_array<std::string_view>({"count"});
constexpr auto kCalendarUnits = std::to_array<std::string_view>({"day", "week", "month"});
constexpr auto kDrop = std::to_array<std::string_view>({"drop"});
constexpr auto kForever = std::to_array<std::string_view>({"forever"});

constexpr std::chrono::microseconds kLongest = 24h * 3660;
const Shape kPointer = text(check_pointer);
const Shape kLength = duration(1ms, kLongest);
constexpr Shape word_or_duration(std::span<const std::string_view> words,
                                 std::chrono::microseconds low, std::chrono::microseconds high) {
  return {.scalar = Scalar::kDuration, .low = low.count(), .high = high.count(), .words = words};
}

// ---- time of a source ----

const Key kTimeKeys[] = {
    {.name = "field",
     .shape = kPointer,
     .need = Need::kOneOf,
     .help = "A JSON pointer to the time: a whole number of `unit` since 1970, or a text of ISO "
             "8601 with its offset from UTC. A tombstone (a null value) has Kafka's timestamp.",
     .example = "/ts"},
    {.name = "from",
     .shape = one_of(kRecord),
     .need = Need::kOneOf,
     .help = "The timestamp that Kafka has of the record.",
     .example = "record"},
    {.name = "unit",
     .shape = one_of(kUnits),
     .fallback = "ms",
     .help = "Of a field that is a number.",
     .example = "s"},
    {.name = "max_out_of_order",
     .shape = duration(0s, kLongest),
     .fallback = "5s",
     .help = "How far a record may be behind the latest of its partition and still be waited for: "
             "the watermark is so far behind.",
     .example = "1m"},
    {.name = "idle_after",
     .shape = word_or_duration(kNever, 1ms, kLongest),
     .fallback = "never",
     .help = "A partition that has sent nothing for so long does not hold back time. With never, "
             "one silent partition keeps every window open.",
     .example = "30s"},
    {.name = "ignore_jumps_over",
     .shape = word_or_duration(kNever, 1ms, kLongest),
     .fallback = "never",
     .help = "Time does not follow a record that is so far ahead of its partition, until 100 in a "
             "row are: one wrong clock makes nobody late.",
     .example = "1h"},
    {.name = "max_drift",
     .shape = word_or_duration(kNever, 1ms, kLongest),
     .fallback = "never",
     .help = "A partition that is so far ahead of the last one, on whatever shard, is not read until "
             "that has caught up: what is open stays bounded. Give idle_after too.",
     .example = "2h"},
    {.name = "on_missing",
     .shape = one_of(kMissing),
     .fallback = "fail",
     .help = "A record whose time is missing, unreadable or out of range: the job fails, it is "
             "left out and counted, or it gets the machine's time.",
     .example = "skip"},
};
const Section kTime{
    .title = "time", .help = "When the records of a source happened.", .keys = kTimeKeys};

// ---- window ----

const Key kSlidingKeys[] = {
    {.name = "size",
     .shape = kLength,
     .need = Need::kRequired,
     .help = "How long a window is.",
     .example = "10m"},
    {.name = "slide",
     .shape = kLength,
     .need = Need::kRequired,
     .help = "The time from one start to the next; need not divide the size.",
     .example = "1m"},
};
const Section kSliding{
    .title = "sliding", .help = "Windows of one length that overlap.", .keys = kSlidingKeys};

const Key kSessionKeys[] = {
    {.name = "gap",
     .shape = kLength,
     .need = Need::kRequired,
     .help = "The pause that ends a session.",
     .example = "30m"},
};
const Section kSession{
    .title = "session", .help = "A key's records up to a pause.", .keys = kSessionKeys};

const Key kCalendarKeys[] = {
    {.name = "unit",
     .shape = one_of(kCalendarUnits),
     .need = Need::kRequired,
     .help = "Days, weeks from Monday, or months.",
     .example = "day"},
    {.name = "zone",
     .shape = text(check_not_empty),
     .fallback = "UTC",
     .help = "The time zone whose clocks count: a day has 23 hours where summer time begins.",
     .example = "Europe/Berlin"},
};
const Section kCalendar{
    .title = "calendar", .help = "Days, weeks or months of a time zone.", .keys = kCalendarKeys};

const Key kTopKeys[] = {
    {.name = "n",
     .shape = integer(1, 10'000),
     .need = Need::kRequired,
     .help = "How many.",
     .example = "3"},
    {.name = "by",
     .shape = kPointer,
     .need = Need::kRequired,
     .help = "A JSON pointer to the number that counts.",
     .example = "/amount"},
};
const Section kTop{
    .title = "top", .help = "The documents with the greatest numbers.", .keys = kTopKeys};

const Key kAggregateKeys[] = {
    {.name = "sum",
     .shape = kPointer,
     .need = Need::kOneOf,
     .help = "The sum of a number. Exact while all are whole: beyond 64 bits the row is refused. "
             "With a fraction among them, a double.",
     .example = "/amount"},
    {.name = "min",
     .shape = kPointer,
     .need = Need::kOneOf,
     .help = "The least number, as it stands in its document.",
     .example = "/amount"},
    {.name = "max",
     .shape = kPointer,
     .need = Need::kOneOf,
     .help = "The greatest number, as it stands in its document.",
     .example = "/amount"},
    {.name = "average",
     .shape = kPointer,
     .need = Need::kOneOf,
     .help = "A double.",
     .example = "/amount"},
    {.name = "distinct",
     .shape = kPointer,
     .need = Need::kOneOf,
     .help = "How many different values (texts, numbers, true, false); exact, so all are kept.",
     .example = "/page"},
    {.name = "top",
     .shape = map_of(kTop),
     .need = Need::kOneOf,
     .help = "A list of the n documents with the greatest number, greatest first; of equal ones "
             "those that came first.",
     .example = "{n: 3, by: /amount}"},
};
const Section kAggregate{
    .title = "aggregate",
    .help = "What is said of the records of a window: `count`, or one of these.",
    .keys = kAggregateKeys};
const Shape kAggregateShape = word_or_map(kCount, kAggregate);

const Key kLateKeys[] = {
    {.name = "send_to",
     .shape = text(check_id),
     .need = Need::kRequired,
     .help = "A sink: it gets late records as they came.",
     .example = "late"},
};
const Section kLate{.title = "late", .help = "Late records go to a sink.", .keys = kLateKeys};

const Key kWindowKeys[] = {
    {.name = "key",
     .shape = text_or_list(kPointer),
     .need = Need::kRequired,
     .help = "JSON pointers to what records have in common: texts, numbers, true or false. Of a "
             "list the key is a list.",
     .example = "/user"},
    {.name = "tumbling",
     .shape = kLength,
     .need = Need::kOneOf,
     .help = "Windows of this length, one after the other, from 1970 in UTC on.",
     .example = "1m"},
    {.name = "sliding",
     .shape = map_of(kSliding),
     .need = Need::kOneOf,
     .help = "Windows of one length that overlap.",
     .example = "{size: 10m, slide: 1m}"},
    {.name = "session",
     .shape = map_of(kSession),
     .need = Need::kOneOf,
     .help = "A key's records up to a pause.",
     .example = "{gap: 30m}"},
    {.name = "calendar",
     .shape = map_of(kCalendar),
     .need = Need::kOneOf,
     .help = "Days, weeks or months of a time zone.",
     .example = "{unit: day, zone: Europe/Berlin}"},
    {.name = "aggregate",
     .shape = map_by("name", kAggregateShape, 1, check_not_empty),
     .need = Need::kRequired,
     .help = "What is said of the records of a window: a name in the row, and what stands there.",
     .example = "{clicks: count, spent: {sum: /amount}}"},
    {.name = "allowed_lateness",
     .shape = duration(0s, kLongest),
     .fallback = "0s",
     .help = "Records that come so much behind the end of their window still count: the window "
             "speaks again, and the newer row replaces the older.",
     .example = "1m"},
    {.name = "late",
     .shape = word_or_map(kDrop, kLate),
     .fallback = "drop",
     .help = "Records that come too late for all of their windows are dropped and counted, or go "
             "to a sink.",
     .example = "{send_to: late}"},
};
const Section kWindow{
    .title = "window",
    .help =
        "Windows of event time, each key for itself. When time has passed the end of a window, a "
        "row {\"key\":…,\"window_start\":…,\"window_end\":…} with the aggregates comes out (times "
        "in milliseconds), under the key and with the time window_end - 1 ms. The source needs "
        "`time`. A record without the key or a field is refused: on_error. In a test the end of "
        "the input closes all windows; rows are compared in any order.",
    .keys = kWindowKeys,
    .example = R"(operators:
  per-user:
    input: events
    window: {key: /user, tumbling: 1m, aggregate: {clicks: count, spent: {sum: /amount}}}
tests:
  - target: per-user
    input:
      - '{"user":"ann","ts":1000,"amount":3}'
      - '{"user":"ann","ts":59999,"amount":4}'
      - '{"user":"ann","ts":60000,"amount":0.5}'
    expect:
      - '{"key":"ann","window_start":0,"window_end":60000,"clicks":2,"spent":7}'
      - '{"key":"ann","window_start":60000,"window_end":120000,"clicks":1,"spent":0.5}'
)"};

// ---- deduplicate ----

const Key kDeduplicateKeys[] = {
    {.name = "key",
     .shape = text_or_list(kPointer),
     .need = Need::kRequired,
     .help = "JSON pointers to what makes two records copies: texts, numbers, true or false.",
     .example = "/id"},
    {.name = "within",
     .shape = word_or_duration(kForever, 1ms, kLongest),
     .need = Need::kRequired,
     .help = "A record less than this of event time after (or before) one that passed is a copy. "
             "With forever all others are, and what is remembered grows with the keys.",
     .example = "1h"},
};
const Section kDeduplicate{
    .title = "deduplicate",
    .help =
        "The first record of each key passes, its copies are dropped and counted. A record so old "
        "that its copies may be forgotten is dropped as late. The source needs `time`, but for "
        "forever.",
    .keys = kDeduplicateKeys,
    .example = R"(operators:
  once: {input: events, deduplicate: {key: /id, within: 1h}}
tests:
  - target: once
    input: ['{"id":1,"ts":0}', '{"id":1,"ts":3599999}', '{"id":2,"ts":3599999}', '{"id":1,"ts":3600000}']
    expect: ['{"id":1,"ts":0}', '{"id":2,"ts":3599999}', '{"id":1,"ts":3600000}']
)"};

}  // namespace

const Section& time_section() { return kTime; }
const Section& window_section() { return kWindow; }
const Section& deduplicate_section() { return kDeduplicate; }

}  // namespace sluice::tools
