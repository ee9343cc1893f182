#include "pipeline_file/keys.h"
#include "pipeline_file/shapes.h"
#include "pipeline_file/text_checks.h"

#include <array>

// The keys of operators with two inputs.
namespace sluice::tools {
namespace {

using namespace std::chrono_literals;

constexpr auto kRecord = std::to_array<std::string_view>({"record"});
constexpr auto kForever = std::to_array<std::string_view>({"forever"});
constexpr auto kKinds = std::to_array<std::string_view>({"inner", "left", "right", "full"});
constexpr auto kLookupKinds = std::to_array<std::string_view>({"inner", "left", "waiting"});

constexpr std::chrono::microseconds kLongest = 24h * 3660;
constexpr std::int64_t kRowsMost = 1'000'000'000'000;
const Shape kPointer = text(check_pointer);
const Shape kId = text(check_id);
const Shape kLength = duration(1ms, kLongest);
const Shape kName = text(check_not_empty);

// ---- keys of the sides ----

const Key kFromKeys[] = {
    {.name = "from",
     .shape = one_of(kRecord),
     .need = Need::kRequired,
     .help = "The key that Kafka has of the record, as a text (UTF-8). The other side's key is "
             "compared as the text that a sink would write for it: 1 is \"1\".",
     .example = "record"},
};
const Section kFrom{.title = "key (of a record)",
                    .help = "The key is Kafka's, not a field of the document.",
                    .keys = kFromKeys};
const Shape kSideKey{.scalar = Scalar::kText,
                     .check = check_pointer,
                     .section = &kFrom,
                     .items = &kPointer,
                     .items_min = 1};

const Key kJoinKeyKeys[] = {
    {.name = "left",
     .shape = kSideKey,
     .need = Need::kRequired,
     .help = "Of the records of `input`: one JSON pointer, a list of them, or {from: record}.",
     .example = "/id"},
    {.name = "right",
     .shape = kSideKey,
     .need = Need::kRequired,
     .help = "Of the records of `with`.",
     .example = "/order"},
};
const Section kJoinKey{.title = "key (of a join)",
                       .help = "Where each side has the key.",
                       .keys = kJoinKeyKeys};

const Key kLookupKeyKeys[] = {
    {.name = "row",
     .shape = kSideKey,
     .need = Need::kRequired,
     .help = "Of the records of `input`: one JSON pointer, a list of them, or {from: record}.",
     .example = "/customer"},
    {.name = "table",
     .shape = kSideKey,
     .need = Need::kRequired,
     .help = "Of the records of `table`. With {from: record} a tombstone (a null value) takes its "
             "key out of the table, as in a compacted topic.",
     .example = "{from: record}"},
};
const Section kLookupKey{.title = "key (of a lookup)",
                         .help = "Where the rows have the key, and where the table.",
                         .keys = kLookupKeyKeys};

constexpr Shape pointers_or(const Section& section) {
  return {.scalar = Scalar::kText,
          .check = check_pointer,
          .section = &section,
          .items = &kPointer,
          .items_min = 1};
}

// ---- join ----

const Key kBetweenKeys[] = {
    {.name = "from",
     .shape = duration(-kLongest, kLongest),
     .need = Need::kRequired,
     .help = "The earliest time of a right record, from the left one's; below 0: before it.",
     .example = "-1m"},
    {.name = "to",
     .shape = duration(-kLongest, kLongest),
     .need = Need::kRequired,
     .help = "The latest time of a right record, from the left one's. Both ends are included.",
     .example = "30m"},
};
const Section kBetween{.title = "between",
                       .help = "How far the event times of a pair may be apart.",
                       .keys = kBetweenKeys};

const Key kSlidingKeys[] = {
    {.name = "size",
     .shape = kLength,
     .need = Need::kRequired,
     .help = "How long a window is.",
     .example = "10m"},
    {.name = "slide",
     .shape = kLength,
     .need = Need::kRequired,
     .help = "The time from one start to the next; not above the size.",
     .example = "5m"},
};
const Section kSliding{.title = "sliding (of a join)",
                       .help = "Windows of one length that overlap.",
                       .keys = kSlidingKeys};

const Key kJoinAsKeys[] = {
    {.name = "left",
     .shape = kName,
     .fallback = "left",
     .help = "The name of the document of `input`.",
     .example = "order"},
    {.name = "right",
     .shape = kName,
     .fallback = "right",
     .help = "The name of the document of `with`.",
     .example = "payment"},
};
const Section kJoinAs{.title = "as (of a join)",
                      .help = "What the two documents are called in the row.",
                      .keys = kJoinAsKeys};

const Key kJoinKeys[] = {
    {.name = "with",
     .shape = text_or_list(kId),
     .need = Need::kRequired,
     .help = "The source or operator whose records are the right side; those of `input` are the "
             "left. A list is a union.",
     .example = "payments"},
    {.name = "key",
     .shape = pointers_or(kJoinKey),
     .need = Need::kRequired,
     .help = "What two records have in common: JSON pointers to texts, numbers, true or false, the "
             "same for both sides or one for each.",
     .example = "{left: /id, right: /order}"},
    {.name = "between",
     .shape = map_of(kBetween),
     .need = Need::kOneOf,
     .help = "Pairs whose event times are near: left's time + from <= right's time <= left's time + "
             "to.",
     .example = "{from: -1m, to: 30m}"},
    {.name = "tumbling",
     .shape = kLength,
     .need = Need::kOneOf,
     .help = "Pairs within the same window of this length, when it is over.",
     .example = "1m"},
    {.name = "sliding",
     .shape = map_of(kSliding),
     .need = Need::kOneOf,
     .help = "Pairs within the same of overlapping windows; once for each that has both.",
     .example = "{size: 10m, slide: 5m}"},
    {.name = "kind",
     .shape = one_of(kKinds),
     .fallback = "inner",
     .help = "What is a row: pairs; also left records that no partner came for, right ones, or "
             "both.",
     .example = "left"},
    {.name = "as",
     .shape = map_of(kJoinAs),
     .help = "What the two documents are called in the row.",
     .example = "{left: order, right: payment}"},
    {.name = "buffered_rows_max",
     .shape = integer(1, kRowsMost),
     .fallback = "10000000",
     .help = "Records that a shard keeps, of both sides. At 80 % a warning says which side fills "
             "up; beyond it the job ends.",
     .example = "1000000"},
    {.name = "results_at_once_max",
     .shape = integer(1, kRowsMost),
     .fallback = "200000",
     .help = "Rows that a shard makes at once: of a key with many records on both sides each goes "
             "with each. At 80 % there is a warning; beyond it the job ends. A row holds both "
             "documents: 200,000 of two with 1 KB are 400 MB.",
     .example = "100000"},
};
const Section kJoin{
    .title = "join",
    .help =
        "Two streams into one: a row {\"key\":…,\"left\":{…},\"right\":{…}} for each pair of "
        "documents with the same key that are near in event time. Of a window the row has "
        "window_start and window_end behind the key, and comes when time has passed its end; in "
        "left, right and full a document without a partner comes with null when time has passed "
        "the last one that could. All sources need `time` and, as documents are copied whole, format: "
        "json. A record without the key is refused: on_error (where `with` names the input itself, "
        "once for each side); a key that is null equals nothing. Late records are dropped and "
        "counted. State is kept by its keys and by the first source of each side: with others the "
        "job does not start. In a test each line says which input it is of.",
    .keys = kJoinKeys,
    .example = R"(operators:
  paid:
    input: events
    join:
      with: payments
      key: {left: /id, right: /order}
      between: {from: -1m, to: 30m}
      kind: left
      as: {left: order, right: payment}
tests:
  - target: paid
    input:
      - {events: '{"id":1,"ts":0}'}
      - {events: '{"id":2,"ts":1000}'}
      - {payments: '{"order":1,"ts":60000,"amount":9.50}'}
      - {payments: '{"order":2,"ts":1801001}'}
    expect:
      - '{"key":1,"order":{"id":1,"ts":0},"payment":{"order":1,"ts":60000,"amount":9.50}}'
      - '{"key":2,"order":{"id":2,"ts":1000},"payment":null}'
)"};

// ---- lookup ----

const Key kLookupAsKeys[] = {
    {.name = "row",
     .shape = kName,
     .fallback = "row",
     .help = "The name of the document of `input`.",
     .example = "order"},
    {.name = "table",
     .shape = kName,
     .fallback = "table",
     .help = "The name of the document of `table`.",
     .example = "customer"},
};
const Section kLookupAs{.title = "as (of a lookup)",
                        .help = "What the two documents are called in the row.",
                        .keys = kLookupAsKeys};

const Key kLookupKeys[] = {
    {.name = "table",
     .shape = text_or_list(kId),
     .need = Need::kRequired,
     .help = "The source or operator whose records are the table: of each key the last that came.",
     .example = "customers"},
    {.name = "key",
     .shape = pointers_or(kLookupKey),
     .need = Need::kRequired,
     .help = "What a row and its entry have in common: JSON pointers, the same for both or one for "
             "each.",
     .example = "{row: /customer, table: /id}"},
    {.name = "kind",
     .shape = one_of(kLookupKinds),
     .fallback = "inner",
     .help = "A record whose key the table has not (yet) is left out, comes with null, or waits "
             "until the table has it.",
     .example = "left"},
    {.name = "as",
     .shape = map_of(kLookupAs),
     .help = "What the two documents are called in the row.",
     .example = "{row: order, table: customer}"},
    {.name = "time_to_live",
     .shape = {.scalar = Scalar::kDuration,
               .low = std::chrono::microseconds(1ms).count(),
               .high = kLongest.count(),
               .words = kForever},
     .fallback = "forever",
     .help = "An entry that was not written for so long of event time leaves the table. Not with "
             "waiting.",
     .example = "24h"},
    {.name = "table_rows_max",
     .shape = integer(1, kRowsMost),
     .fallback = "50000000",
     .help = "Entries that a shard keeps. At 80 % there is a warning; beyond it the job ends.",
     .example = "1000000"},
    {.name = "waiting_rows_max",
     .shape = integer(1, kRowsMost),
     .fallback = "10000000",
     .help = "Of waiting: records of a shard that wait. At 80 % there is a warning; beyond it the "
             "job ends.",
     .example = "1000000"},
};
const Section kLookup{
    .title = "lookup",
    .help =
        "Gives each record what a table has for its key: a row "
        "{\"key\":…,\"row\":{…},\"table\":{…}}, with the timestamp of the record. The table is a "
        "second input, of which the last document of each key is kept as state. Between the two "
        "inputs there is no order: a record finds what the table has said so far, or waits for it. "
        "A record without the key is refused: on_error; a key that is null equals nothing. All "
        "sources need format: json, as documents are copied whole. Behind it time is as far as in "
        "the slower of both inputs: where a window follows, give the table's source a `time` with "
        "idle_after, or a quiet table holds the window open. State is kept by the table's key and "
        "first source: with others the job does not start. In a test each line says which input it "
        "is of.",
    .keys = kLookupKeys,
    .example = R"(operators:
  named:
    input: events
    lookup:
      table: customers
      key: {row: /customer, table: {from: record}}
      kind: left
      as: {row: order, table: customer}
tests:
  - target: named
    input:
      - {customers: {key: "7", value: '{"name":"Ann"}'}}
      - {events: '{"customer":7,"amount":1}'}
      - {customers: {key: "7"}}
      - {events: '{"customer":7,"amount":2}'}
    expect:
      - '{"key":"7","order":{"customer":7,"amount":1},"customer":{"name":"Ann"}}'
      - '{"key":"7","order":{"customer":7,"amount":2},"customer":null}'
)"};

}  // namespace

const Section& join_section() { return kJoin; }
const Section& lookup_section() { return kLookup; }

}  // namespace sluice::tools
