#include "pipeline_file/keys.h"
#include "pipeline_file/shapes.h"
#include "pipeline_file/text_checks.h"

// The keys of operators.
namespace sluice::tools {
namespace {

const Shape kPointer = text(check_pointer);
const Shape kId = text(check_id);
constexpr Shape kAny{.any = true};

// ---- json_replace ----

const Key kRuleKeys[] = {
    {.name = "pattern",
     .shape = text(check_pattern),
     .need = Need::kRequired,
     .help = "An RE2 regular expression; what it finds is replaced.",
     .example = "'/\\d+$'"},
    {.name = "with",
     .shape = text(),
     .need = Need::kRequired,
     .help = "What stands there instead; \\0 to \\9 are what the groups of the pattern matched.",
     .example = "'/{}'"},
};
const Section kRule{.title = "rules", .help = "One rule.", .keys = kRuleKeys};
const Shape kRuleShape = map_of(kRule);

const Key kJsonReplaceKeys[] = {
    {.name = "path",
     .shape = kPointer,
     .need = Need::kRequired,
     .help = "A JSON pointer to the text that is rewritten.",
     .example = "/identityUri"},
    {.name = "pattern",
     .shape = text(check_pattern),
     .need = Need::kOneOf,
     .help = "An RE2 regular expression; the first place that it finds is replaced. With \"with\".",
     .example = "'/\\d+$'"},
    {.name = "with",
     .shape = text(),
     .help = "What stands there instead; \\0 to \\9 are what the groups of the pattern matched.",
     .example = "'/{}'"},
    {.name = "rules",
     .shape = list_of(kRuleShape),
     .need = Need::kOneOf,
     .help = "Several rules; the first whose pattern is found is applied, the others are not.",
     .example = "[{pattern: '/\\d+$', with: '/{}'}, {pattern: '/[0-9a-f-]{36}$', with: '/{id}'}]"},
};
const Section kJsonReplace{
    .title = "json_replace",
    .help =
        "Rewrites one text of JSON documents; all other bytes stay as they are. Documents "
        "without the field, null values and texts that no pattern finds pass unchanged.",
    .keys = kJsonReplaceKeys,
    .example = R"(operators:
  rewrite: {input: events, json_replace: {path: /identityUri, pattern: '/\d+$', with: '/{}'}}
tests:
  - target: rewrite
    input: ['{"identityUri":"user/getById/13782"}', '{"other": 1}']
    expect: ['{"identityUri":"user/getById/{}"}', '{"other": 1}']
)"};

// ---- json_select ----

const Section kJsonSelect{
    .title = "json_select",
    .help =
        "Makes a new object of some values of a document: a name for each, and a JSON pointer "
        "to where it is now. Values are copied byte for byte; what is missing is left out.",
    .keys = {},
    .example = R"(operators:
  small: {input: events, json_select: {id: /user/id, uri: /uri}}
tests:
  - target: small
    input: ['{"user":{"id":9007199254740993},"uri":"a","more":1}', '{"uri":"b"}']
    expect: ['{"id":9007199254740993,"uri":"a"}', '{"uri":"b"}']
)"};

// ---- json_set ----

const Key kJsonSetKeys[] = {
    {.name = "path",
     .shape = kPointer,
     .need = Need::kRequired,
     .help = "A JSON pointer to the value that is replaced, or put in where it is missing.",
     .example = "/checked"},
    {.name = "value",
     .shape = kAny,
     .need = Need::kRequired,
     .help = "The value, written as JSON: a number keeps its digits, a quoted value is a text.",
     .example = "true"},
};
const Section kJsonSet{
    .title = "json_set",
    .help = "Replaces or adds one value of JSON documents; all other bytes stay as they are.",
    .keys = kJsonSetKeys,
    .example = R"(operators:
  mark: {input: events, json_set: {path: /checked, value: true}}
tests:
  - target: mark
    input: ['{"a":1}', '{"checked":null}']
    expect: ['{"a":1,"checked":true}', '{"checked":true}']
)"};

// ---- filter ----

extern const Section kFilter;
const Shape kCondition = map_of(kFilter);
const Shape kCompared = map_by("JSON pointer", kAny, 1);
const Shape kPattern = text(check_pattern);
const Shape kMatches = map_by("JSON pointer", kPattern, 1);

const Key kFilterKeys[] = {
    {.name = "equals",
     .shape = kCompared,
     .need = Need::kOneOf,
     .help = "All of these fields have these values. Integers are compared digit for digit.",
     .example = "{/level: error}"},
    {.name = "not_equals",
     .shape = kCompared,
     .need = Need::kOneOf,
     .help = "All of these fields are there and have other values.",
     .example = "{/level: debug}"},
    {.name = "less",
     .shape = kCompared,
     .need = Need::kOneOf,
     .help = "All of these fields are less: numbers by value, texts by code point.",
     .example = "{/amount: 100}"},
    {.name = "at_most",
     .shape = kCompared,
     .need = Need::kOneOf,
     .help = "All of these fields are less or equal.",
     .example = "{/amount: 100}"},
    {.name = "greater",
     .shape = kCompared,
     .need = Need::kOneOf,
     .help = "All of these fields are greater.",
     .example = "{/amount: 100}"},
    {.name = "at_least",
     .shape = kCompared,
     .need = Need::kOneOf,
     .help = "All of these fields are greater or equal.",
     .example = "{/amount: 100}"},
    {.name = "matches",
     .shape = kMatches,
     .need = Need::kOneOf,
     .help = "In all of these texts the RE2 regular expression is found.",
     .example = "{/uri: '^user/'}"},
    {.name = "exists",
     .shape = text_or_list(kPointer),
     .need = Need::kOneOf,
     .help = "These fields are there; a null is there.",
     .example = "/user/id"},
    {.name = "and",
     .shape = list_of(kCondition),
     .need = Need::kOneOf,
     .help = "All of these conditions hold.",
     .example = "[{exists: /user}, {greater: {/amount: 100}}]"},
    {.name = "or",
     .shape = list_of(kCondition),
     .need = Need::kOneOf,
     .help = "One of these conditions holds.",
     .example = "[{equals: {/level: error}}, {equals: {/level: fatal}}]"},
    {.name = "not",
     .shape = kCondition,
     .need = Need::kOneOf,
     .help = "The condition does not hold.",
     .example = "{matches: {/uri: '^internal/'}}"},
};
const Section kFilter{
    .title = "filter",
    .help =
        "Lets records pass whose document fulfils a condition. A comparison with a field that "
        "is missing is false; values of different types are unequal and in no order.",
    .keys = kFilterKeys,
    .example = R"(operators:
  big:
    input: events
    filter: {and: [{greater: {/amount: 100}}, {not: {matches: {/uri: '^internal/'}}}]}
tests:
  - target: big
    input:
      - '{"amount":101,"uri":"user/1"}'
      - '{"amount":100,"uri":"user/2"}'
      - '{"amount":500,"uri":"internal/1"}'
      - '{"amount":null}'
    expect: ['{"amount":101,"uri":"user/1"}']
)"};

// ---- number, print ----

const Key kNumberKeys[] = {
    {.name = "prefix",
     .shape = text(check_id),
     .need = Need::kOneOf,
     .help = "Writes NAME=1; in front of the value.",
     .example = "c"},
    {.name = "header",
     .shape = text(check_not_empty),
     .need = Need::kOneOf,
     .help = "Writes the number into a header of this name.",
     .example = "number"},
};
const Section kNumber{
    .title = "number",
    .help =
        "Counts the records of each source partition, 1, 2, 3, …, over the whole life of the "
        "job. The counts are state: they survive a crash.",
    .keys = kNumberKeys,
    .example = R"(operators:
  count: {input: events, number: {prefix: c}}
tests:
  - {target: count, input: [a, b], expect: ['c=1;a', 'c=2;b']}
)"};

const Key kPrintKeys[] = {
    {.name = "label", .shape = text(), .help = "Stands in front of each line.", .example = "seen"},
};
const Section kPrint{
    .title = "print",
    .help =
        "Writes each value as a line to stdout and passes it on. After a crash lines may come "
        "again: stdout knows no transactions.",
    .keys = kPrintKeys,
    .example = R"(operators:
  show: {input: events, print: {label: seen}}
tests:
  - {target: show, input: ['{"a":1}'], expect: ['{"a":1}']}
)"};

const Shape kSelected = map_by("field", kPointer, 1);

const Key kOperatorKeys[] = {
    {.name = "input",
     .shape = text_or_list(kId),
     .need = Need::kRequired,
     .help = "The source or operator whose records come in. A list is a union: the records of "
             "all, in no order between them. A join or lookup names its second input itself.",
     .example = "events"},
    {.name = "json_replace",
     .shape = map_of(kJsonReplace),
     .need = Need::kOneOf,
     .help = "Rewrites one text of JSON documents.",
     .example = "{path: /identityUri, pattern: '/\\d+$', with: '/{}'}"},
    {.name = "json_select",
     .shape = kSelected,
     .need = Need::kOneOf,
     .help = "Makes a new object of some values of a document.",
     .example = "{id: /user/id, uri: /uri}"},
    {.name = "json_set",
     .shape = map_of(kJsonSet),
     .need = Need::kOneOf,
     .help = "Replaces or adds one value of JSON documents.",
     .example = "{path: /checked, value: true}"},
    {.name = "filter",
     .shape = map_of(kFilter),
     .need = Need::kOneOf,
     .help = "Lets records pass whose document fulfils a condition.",
     .example = "{greater: {/amount: 100}}"},
    {.name = "number",
     .shape = map_of(kNumber),
     .need = Need::kOneOf,
     .help = "Counts the records of each source partition.",
     .example = "{prefix: c}"},
    {.name = "print",
     .shape = map_of(kPrint),
     .need = Need::kOneOf,
     .help = "Writes each value to stdout.",
     .example = "{label: seen}"},
    {.name = "window",
     .shape = map_of(window_section()),
     .need = Need::kOneOf,
     .help = "Counts, sums and the like of each key in windows of event time.",
     .example = "{key: /user, tumbling: 1m, aggregate: {clicks: count}}"},
    {.name = "deduplicate",
     .shape = map_of(deduplicate_section()),
     .need = Need::kOneOf,
     .help = "The first record of each key passes.",
     .example = "{key: /id, within: 1h}"},
    {.name = "join",
     .shape = map_of(join_section()),
     .need = Need::kOneOf,
     .help = "Pairs with records of a second input that have the same key and are near in time.",
     .example = "{with: payments, key: {left: /id, right: /order}, between: {from: -1m, to: 30m}}"},
    {.name = "lookup",
     .shape = map_of(lookup_section()),
     .need = Need::kOneOf,
     .help = "What a second input, kept as a table, last said of the key of each record.",
     .example = "{table: customers, key: {row: /customer, table: /id}}"},
    {.name = "on_error",
     .shape = on_error_shape(),
     .fallback = "fail",
     .help = "What a record that the operator refuses leads to, as one that is not JSON: the job "
             "fails, the record is left out and counted, or it goes to a sink.",
     .example = "{send_to: dead}"},
};
const Section kOperator{.title = "operators",
                        .help =
                            "What happens to records on their way. The key is the id of the "
                            "operator and of its state.",
                        .keys = kOperatorKeys};

}  // namespace

const Section& operator_section() { return kOperator; }

std::vector<const Section*> operator_sections() {
  return {&kJsonReplace,     &kJsonSelect,           &kJsonSet,      &kFilter,         &kNumber, &kPrint,
          &window_section(), &deduplicate_section(), &join_section(), &lookup_section()};
}

}  // namespace sluice::tools
